// Sets of fields of an object, as server-side apply remembers who owns what (structured-merge-diff's
// fieldpath.Set).
//
// A set is a tree: steps are "f:name" (member), "k:{"name":"x"}" (list item by keys), "v:x" (set element);
// `member` says that the path up to here is itself in the set. Empty subtrees are never stored, so equality
// is by content.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

struct FieldSet {
  bool member = false;
  std::map<std::string, FieldSet, std::less<>> children;

  [[nodiscard]] bool empty() const { return !member && children.empty(); }
  void unite(const FieldSet& other);
  void subtract(const FieldSet& other);
  [[nodiscard]] FieldSet intersect(const FieldSet& other) const;
  /// ".spec.containers[name="c"].image", in the order of the tree.
  [[nodiscard]] std::vector<std::string> paths() const;
  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

/// As managedFields writes a set (FieldsV1): {"f:spec":{"f:size":{}}}, "." for a member that has members.
[[nodiscard]] json::Value toJson(const FieldSet& set);
[[nodiscard]] FieldSet fieldSetFrom(const json::Value& fields);

/// The step that names `item` in a list of `schema`.
[[nodiscard]] std::string itemStep(const Schema& schema, const json::Value& item);
/// The step of member `name`.
[[nodiscard]] std::string fieldStep(std::string_view name);

/// All leaves (and list items) of an applied configuration.
[[nodiscard]] FieldSet fieldsOf(const json::Value& v, const Schema* schema);
/// Fields whose value is new or other than in `old`, and fields that went.
struct FieldChanges {
  FieldSet changed;
  FieldSet removed;
};
[[nodiscard]] FieldChanges compareFields(const json::Value& old, const json::Value& now,
                                         const Schema* schema);

}  // namespace gs::apiserver
