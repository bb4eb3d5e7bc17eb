// Custom resource definitions: what is required of one, and its life.
#include <fmt/format.h>

#include <algorithm>

#include "kapi/time.h"
#include "sandbox/crd_schema.h"
#include "sandbox/kind_checks.h"
#include "sandbox/meta_check.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

void checkNames(const Value& spec, FieldErrors& errors) {
  if (spec["group"].str().empty()) { errors.push_back(fieldRequired("spec.group")); }
  for (const char* field : {"plural", "kind"}) {
    if (spec["names"][field].str().empty()) {
      errors.push_back(fieldRequired(fmt::format("spec.names.{}", field)));
    }
  }
  const auto plural = spec["names"]["plural"].str();
  if (plural.empty()) { return; }
  for (const std::string& why : dnsLabelErrors(plural)) {
    errors.push_back(fieldInvalid("spec.names.plural", Value{plural}, why));
  }
}

void checkVersions(const Value& spec, FieldErrors& errors) {
  const auto& versions = spec["versions"].items();
  const auto storing = std::count_if(versions.begin(), versions.end(),
                                     [](const Value& v) { return v["storage"].boolOr(false); });
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value& openapi = versions[i]["schema"]["openAPIV3Schema"];
    if (!openapi.isObject()) {
      errors.push_back(
          fieldRequired(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "schemas are required"));
      continue;
    }
    // one schema only: the server speaks of it as of the whole definition's
    const std::string field = versions.size() == 1
                                  ? "spec.validation.openAPIV3Schema"
                                  : fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    for (auto& error : checkStructural(openapi, field)) { errors.push_back(std::move(error)); }
  }
  if (storing == 1) { return; }
  errors.push_back(fieldInvalid("spec.versions", json::print(spec["versions"]),
                                "must have exactly one version marked as storage version"));
  errors.push_back(fieldInvalid("status.storedVersions", std::string{"[]string(nil)"},
                                "must have at least one stored version"));
}

}  // namespace

FieldErrors checkCrd(const json::Value& crd, const json::Value& old) {
  FieldErrors errors;
  const Value& spec = crd["spec"];
  checkNames(spec, errors);
  const auto name = crd["metadata"]["name"].str();
  if (name != fmt::format("{}.{}", spec["names"]["plural"].str(), spec["group"].str())) {
    errors.push_back(
        fieldInvalid("metadata.name", Value{name}, "must be spec.names.plural+\".\"+spec.group"));
  }
  const auto scope = spec["scope"].str();
  if (scope != "Cluster" && scope != "Namespaced") {
    errors.push_back(fieldNotSupported("spec.scope", Value{scope}, {"Cluster", "Namespaced"}));
  }
  if (!old.isNull() && scope != old["spec"]["scope"].str()) {
    errors.push_back(fieldInvalid("spec.scope", Value{scope}, "field is immutable"));
  }
  checkVersions(spec, errors);
  return errors;
}

void defaultCrd(json::Value& crd) {
  if (!crd["spec"].isObject() || !crd["spec"]["names"].isObject()) { return; }  // refused when it is decoded
  Value& spec = crd.child("spec");
  if (spec["conversion"].isNull()) { spec.set("conversion", Object{{"strategy", "None"}}); }
  Value& names = spec.child("names");
  const auto kind = names["kind"].str();
  if (names["listKind"].str().empty() && !kind.empty()) { names.set("listKind", std::string{kind} + "List"); }
  if (names["singular"].str().empty() && !kind.empty()) { names.set("singular", lower(names["kind"].str())); }
}

void beginCrd(json::Value& crd) {
  Array stored;
  for (const Value& version : crd["spec"]["versions"].items()) {
    if (version["storage"].boolOr(false)) { stored.push_back(version["name"]); }
  }
  crd.set("status", Object{{"conditions", nullptr},
                           {"acceptedNames", Object{{"plural", ""}, {"kind", ""}}},
                           {"storedVersions", std::move(stored)}});
}

json::Value establishedStatus(const json::Value& crd, Now now) {
  Value status = crd["status"];
  status.set("acceptedNames", crd["spec"]["names"]);
  if (!status["conditions"].items().empty()) { return status; }
  const auto condition = [&](const char* type, const char* reason, const char* message) {
    return Value{Object{{"type", type},
                        {"status", "True"},
                        {"lastTransitionTime", kapi::timeText(now.wall)},
                        {"reason", reason},
                        {"message", message}}};
  };
  status.set("conditions",
             Array{condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                   condition("Established", "InitialNamesAccepted", "the initial names have been accepted")});
  return status;
}

}  // namespace gs::sandbox
