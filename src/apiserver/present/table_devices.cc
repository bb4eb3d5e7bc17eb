#include <string>

#include "apiserver/present/age.h"
#include "apiserver/present/table.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

/// "deleted,allocated,reserved"
std::string stateOfClaim(const Value& claim) {
  const bool deleted = !claim["metadata"]["deletionTimestamp"].isNull();
  const Value& status = claim["status"];
  if (status["allocation"].isNull()) { return deleted ? "deleted" : "pending"; }
  std::string out = deleted ? "deleted,allocated" : "allocated";
  if (!status["reservedFor"].items().empty()) { out += ",reserved"; }
  return out;
}

/// Between name and age.
std::vector<const char*> namesOf(const Resource& r) {
  if (r.plural == "resourceclaims") { return {"State"}; }
  if (r.plural == "resourceslices") { return {"Node", "Driver", "Pool"}; }
  if (r.plural == "devicetaintrules") { return {"Key", "Value", "Effect", "TimeAdded"}; }
  return {};
}

}  // namespace

json::Array deviceColumns(const Resource& r) {
  Array out{column("Name", 0, "string", "name")};
  for (const char* name : namesOf(r)) { out.push_back(column(name)); }
  out.push_back(column("Age"));
  return out;
}

json::Array deviceCells(const Resource& r, const json::Value& object, Wall now) {
  const Value& meta = object["metadata"];
  const Value& spec = object["spec"];
  Array out{meta["name"]};
  if (r.plural == "resourceclaims") { out.emplace_back(stateOfClaim(object)); }
  if (r.plural == "resourceslices") {
    for (const Value& cell : {spec["nodeName"], spec["driver"], spec["pool"]["name"]}) {
      out.emplace_back(cell.str());
    }
  }
  if (r.plural == "devicetaintrules") {
    const Value& taint = spec["taint"];
    for (const char* cell : {"key", "value", "effect"}) { out.emplace_back(taint[cell].str()); }
    const auto added = taint["timeAdded"].str();
    out.emplace_back(added.empty() ? "" : ageSince(added, now));
  }
  out.emplace_back(ageSince(meta["creationTimestamp"].str(), now));
  return out;
}

}  // namespace gs::apiserver
