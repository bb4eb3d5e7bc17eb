#include "apiserver/patch/last_applied.h"

#include <algorithm>
#include <map>
#include <string>

#include "apiserver/schema/field_set.h"

namespace gs::apiserver {
namespace {

constexpr const char* kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/// Members in alphabetical order, as Go prints maps.
json::Value sorted(const json::Value& v) {
  if (v.isArray()) {
    json::Array out;
    for (const json::Value& item : v.items()) { out.push_back(sorted(item)); }
    return out;
  }
  if (!v.isObject()) { return v; }
  std::map<std::string, const json::Value*> members;
  for (const auto& [name, member] : v.members()) { members.emplace(name, &member); }
  json::Object out;
  for (const auto& [name, member] : members) { out.append(name, sorted(*member)); }
  return out;
}

}  // namespace

bool mayTakeOver(const json::Value& live, const Schema& schema, const ApiError& conflict) {
  const auto text = live["metadata"]["annotations"][kAnnotation].str();
  const auto last = json::parse(text);
  if (text.empty() || !last || !last->isObject()) { return false; }
  FieldSet theirs = fieldsOf(*last, &schema);
  const FieldChanges since = compareFields(*last, live, &schema);
  theirs.subtract(since.changed);
  theirs.subtract(since.removed);
  const auto allowed = theirs.paths();
  const auto& causes = conflict.details["causes"].items();
  return !causes.empty() && std::all_of(causes.begin(), causes.end(), [&](const json::Value& cause) {
    return std::find(allowed.begin(), allowed.end(), cause["field"].str()) != allowed.end();
  });
}

void refreshLastApplied(json::Value& object, const json::Value& config) {
  if (object["metadata"]["annotations"].find(kAnnotation) == nullptr) { return; }
  json::Value applied = config;
  json::Value& meta = applied.child("metadata");
  if (meta["annotations"].isObject()) {
    meta.child("annotations").erase(kAnnotation);
    if (meta["annotations"].members().empty()) { meta.erase("annotations"); }
  }
  object.child("metadata").child("annotations").set(kAnnotation, json::print(sorted(applied)) + "\n");
}

}  // namespace gs::apiserver
