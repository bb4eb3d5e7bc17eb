#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apiserver/patch/patch.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

constexpr const char* kPatch = "$patch";
constexpr const char* kRetain = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

bool isDirective(std::string_view name) {
  return name == kPatch || name == kRetain || name.starts_with(kDeleteFrom) || name.starts_with(kOrder);
}

/// A value that had nothing to merge with: without nulls and directives.
Value plain(const Value& v) {
  if (!v.isObject()) { return v; }
  Value out = json::Object{};
  if (v.find(kPatch) != nullptr) { return out; }
  for (const auto& [name, member] : v.members()) {
    if (!member.isNull() && !isDirective(name)) { out.object().append(name, plain(member)); }
  }
  return out;
}

Refused badDirective(const Value& v) {
  return plainError(fmt::format("Unknown patch type found: {}", json::print(v)));
}

/// A decoded value as Go's %v shows it: map[a:1 b:[x y]].
std::string goPrint(const Value& v) {
  std::string out;
  if (v.isArray()) {
    for (const Value& item : v.items()) { out += (out.empty() ? "" : " ") + goPrint(item); }
    return "[" + out + "]";
  }
  if (!v.isObject()) { return v.isString() ? std::string{v.str()} : v.isNull() ? "<nil>" : json::print(v); }
  std::map<std::string, const Value*> sorted;
  for (const auto& [name, member] : v.members()) { sorted.emplace(name, &member); }
  for (const auto& [name, member] : sorted) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : " ", name, goPrint(*member));
  }
  return "map[" + out + "]";
}

/// Merges one list: by key (`key` not empty) or, for primitives, by value.
class ListMerge {
 public:
  ListMerge(Array& live, const Array& patch, std::string key, const Schema* item)
      : live_{live}, patch_{patch}, key_{std::move(key)}, item_{item} {}

  /// `order` null: the patch's own order.
  Done run(const Array* order) {
    if (!key_.empty()) {
      if (auto done = directives(); !done || replaced_) { return done; }
    }
    if (order != nullptr && !orderMatches(*order)) {
      return plainError(
          fmt::format("The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                      goPrint(Value{patch_}), goPrint(Value{*order})));
    }
    const Array before = live_;
    if (auto done = mergeItems(); !done) { return done; }
    arrange(before, order != nullptr ? *order : patch_);
    return {};
  }

 private:
  [[nodiscard]] const Value& identity(const Value& v) const { return key_.empty() ? v : v[key_]; }
  [[nodiscard]] Value* find(Array& in, const Value& like) const {
    const auto at =
        std::find_if(in.begin(), in.end(), [&](const Value& v) { return identity(v) == identity(like); });
    return at == in.end() ? nullptr : &*at;
  }
  [[nodiscard]] long place(const Array& in, const Value& like) const {
    const auto at =
        std::find_if(in.begin(), in.end(), [&](const Value& v) { return identity(v) == identity(like); });
    return at == in.end() ? -1 : at - in.begin();
  }

  /// $patch inside items: "replace" takes the rest of the patch as the list, "delete" removes by key.
  Done directives() {
    bool replace = false;
    for (const Value& p : patch_) {
      const Value* directive = p.find(kPatch);
      if (directive == nullptr) { continue; }
      if (directive->str() == "replace") {
        replace = true;
      } else if (directive->str() == "delete") {
        if (p.find(key_) == nullptr) { return missingKey(p); }
        std::erase_if(live_, [&](const Value& v) { return v[key_] == p[key_]; });
      } else if (directive->str() != "merge") {
        return badDirective(*directive);
      }
    }
    if (replace) {
      live_.clear();
      for (const Value& p : patch_) {
        if (p.find(kPatch) == nullptr) { live_.push_back(plain(p)); }
      }
      replaced_ = true;
    }
    return {};
  }

  Refused missingKey(const Value& p) const {
    return plainError(fmt::format("map: {} does not contain declared merge key: {}", json::print(p), key_));
  }

  [[nodiscard]] bool orderMatches(const Array& order) const {
    long last = -1;
    for (const Value& p : patch_) {
      if (p.find(kPatch) != nullptr) { continue; }
      const long at = place(order, p);
      if (at <= last) { return false; }
      last = at;
    }
    return true;
  }

  Done mergeItems() {
    for (const Value& p : patch_) {
      if (!key_.empty() && p.find(kPatch) != nullptr && p[kPatch].str() != "merge") { continue; }
      if (!key_.empty() && p.find(key_) == nullptr) { return missingKey(p); }
      Value* known = find(live_, p);
      if (known == nullptr) {
        live_.push_back(plain(p));
      } else if (!key_.empty()) {
        if (auto done = applyStrategicPatch(*known, p, item_); !done) { return done; }
      }
    }
    return {};
  }

  /// Items of `order` in that order; the others are put between them where the list before had them.
  void arrange(const Array& before, const Array& order) {
    Array ordered;
    Array others;
    std::vector<std::pair<long, std::size_t>> wanted;
    for (std::size_t i = 0; i < live_.size(); ++i) {
      const long at = place(order, live_[i]);
      if (at < 0) {
        others.push_back(live_[i]);
      } else {
        wanted.emplace_back(at, i);
      }
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& w : wanted) { ordered.push_back(live_[w.second]); }
    live_.clear();
    std::size_t l = 0;
    std::size_t r = 0;
    while (l < others.size() || r < ordered.size()) {
      bool left = r >= ordered.size();
      if (!left && l < others.size()) {
        const long pl = place(before, others[l]);
        const long pr = place(before, ordered[r]);
        left = pl >= 0 && pr >= 0 && pl < pr;
      }
      live_.push_back(left ? others[l++] : ordered[r++]);
    }
  }

  Array& live_;
  const Array& patch_;
  std::string key_;
  const Schema* item_;
  bool replaced_ = false;
};

const Array* orderFor(const Value& patch, const std::string& name) {
  const Value* order = patch.find(std::string{kOrder} + name);
  return order != nullptr && order->isArray() ? &order->items() : nullptr;
}

Done mergeList(Value& live, const Value& patch, const Schema* schema, const Array* order) {
  if (listKindOf(schema) == ListKind::Atomic) {
    live = patch;
    return {};
  }
  const bool by_key = schema->list == ListKind::Map;
  return ListMerge{live.array(), patch.items(), by_key ? schema->keys.front() : "", elementOf(schema)}.run(
      order);
}

void deleteFromPrimitives(Value& target, const std::string& name, const Value& gone) {
  Value* list = target.isObject() ? target.object().find(name) : nullptr;
  if (list == nullptr || !list->isArray()) { return; }
  std::erase_if(list->array(), [&](const Value& v) {
    return std::find(gone.items().begin(), gone.items().end(), v) != gone.items().end();
  });
}

void retainKeys(Value& target, const Value& keep) {
  std::vector<std::string> gone;
  for (const auto& member : target.members()) {
    const bool kept = std::any_of(keep.items().begin(), keep.items().end(),
                                  [&](const Value& k) { return k.str() == member.first; });
    if (!kept) { gone.push_back(member.first); }
  }
  for (const std::string& name : gone) { target.erase(name); }
}

/// Directives that stand beside the lists they speak of.
Done besideDirectives(Value& target, const Value& patch, const Schema* schema) {
  if (const Value* keep = patch.find(kRetain)) { retainKeys(target, *keep); }
  for (const auto& [name, value] : patch.members()) {
    if (name.starts_with(kDeleteFrom)) {
      deleteFromPrimitives(target, name.substr(kDeleteFrom.size()), value);
    }
    if (!name.starts_with(kOrder)) { continue; }
    const std::string field = name.substr(kOrder.size());
    Value* live = target.object().find(field);
    const Schema* list = childOf(schema, field);
    if (live == nullptr || !live->isArray() || patch.find(field) != nullptr || !value.isArray()) { continue; }
    if (listKindOf(list) == ListKind::Atomic) { continue; }
    if (auto done = mergeList(*live, Value{Array{}}, list, &value.items()); !done) { return done; }
  }
  return {};
}

Done mergeMember(Value& target, const std::string& name, const Value& value, const Value& patch,
                 const Schema* schema) {
  Value* live = target.object().find(name);
  if (value.isNull()) {
    target.erase(name);
    return {};
  }
  const Schema* type = childOf(schema, name);
  if (live == nullptr && value.isArray() && listKindOf(type) != ListKind::Atomic) {
    live = &target.child(name);
    *live = Array{};
  }
  if (live == nullptr) {
    target.set(name, plain(value));
  } else if (live->isObject() && value.isObject()) {
    return applyStrategicPatch(*live, value, type);
  } else if (live->isArray() && value.isArray()) {
    return mergeList(*live, value, type, orderFor(patch, name));
  } else {
    *live = plain(value);
  }
  return {};
}

}  // namespace

Done applyStrategicPatch(json::Value& target, const json::Value& patch, const Schema* schema) {
  if (!target.isObject()) { target = json::Object{}; }
  if (const Value* directive = patch.find(kPatch); directive != nullptr) {
    if (directive->str() == "delete") {
      target = json::Object{};
      return {};
    }
    if (directive->str() == "replace") {
      Value rest = patch;
      rest.erase(kPatch);
      target = std::move(rest);
      return {};
    }
    if (directive->str() != "merge") { return badDirective(*directive); }
  }
  for (const auto& [name, value] : patch.members()) {
    if (isDirective(name)) { continue; }
    if (auto done = mergeMember(target, name, value, patch, schema); !done) { return done; }
  }
  return besideDirectives(target, patch, schema);
}

}  // namespace gs::apiserver
