#include "apiserver/schema/schema.h"

#include <algorithm>

namespace gs::apiserver {

const Field* Schema::field(std::string_view name) const {
  const auto at = std::lower_bound(fields.begin(), fields.end(), name,
                                   [](const Field& f, std::string_view n) { return f.name < n; });
  return at != fields.end() && at->name == name ? &*at : nullptr;
}

const Schema* Schema::child(std::string_view name) const {
  if (const Field* f = field(name)) { return f->schema.get(); }
  return type == Type::Map ? element.get() : nullptr;
}

ListKind listKindOf(const Schema* schema) { return schema == nullptr ? ListKind::Atomic : schema->list; }

const Schema* childOf(const Schema* schema, std::string_view name) {
  return schema == nullptr ? nullptr : schema->child(name);
}

const Schema* elementOf(const Schema* schema) { return schema == nullptr ? nullptr : schema->element.get(); }

}  // namespace gs::apiserver
