// Server-side apply: merging a manager's configuration into an object, and who owns which field.
//
// A manager's set of fields is what its last configuration named (apply) or what it changed (update).
// Applying takes away the fields that this manager's last configuration named and this one does not, unless
// somebody else owns them.
// A field that another manager owns and that would change is a conflict, unless forced:
// then it changes hands.
// Fields that every object has (apiVersion, kind, metadata.name, uid ...) belong to nobody.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>

#include "apiserver/meta/answer.h"
#include "apiserver/schema/field_set.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

struct Manager {
  std::string name;
  bool applies = false;  // operation Apply, else Update
  std::string subresource;
  std::string api_version;
  friend auto operator<=>(const Manager&, const Manager&) = default;
};
using Owners = std::map<Manager, FieldSet>;
using OwnersPtr = std::shared_ptr<const Owners>;  // null: nobody

struct Applied {
  json::Value object;  // merged, not yet decoded or validated
  Owners owners;
};

/// `live` is {} with apiVersion, kind and metadata for an object that does not exist yet. Error 409 names the
/// managers and fields in conflict, 500 a configuration that does not fit the schema.
[[nodiscard]] Answer<Applied> serverSideApply(const json::Value& live, const json::Value& config,
                                              const Schema& schema, const Owners& owners,
                                              const Manager& manager, bool force);

/// Ownership after `manager` changed `old` into `now` by a create, update or patch. True:
/// something changed hands.
bool trackUpdate(Owners& owners, const Manager& manager, const json::Value& old, const json::Value& now,
                 const Schema& schema);

}  // namespace gs::apiserver
