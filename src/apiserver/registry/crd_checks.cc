// Custom resource definitions: what is required of one, and its life.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/schema/crd_schema.h"
#include "base/ascii.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kApproval = "api-approved.kubernetes.io";

void checkGroup(std::string_view group, FieldErrors& errors) {
  if (group.empty()) {
    errors.push_back(fieldRequired("spec.group"));
  } else if (group.find('.') == std::string_view::npos) {
    errors.push_back(fieldInvalid("spec.group", Value{group}, "should be a domain with at least one dot"));
  }
}

void checkNames(const Value& spec, FieldErrors& errors) {
  checkGroup(spec["group"].str(), errors);
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

/// Kubernetes' own groups, built-in ones among them.
bool isProtected(std::string_view group) {
  return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" ||
         group.ends_with(".kubernetes.io");
}

enum class Approval : std::uint8_t { Given, Missing, Invalid };

Approval approvalOf(const Value& crd) {
  const auto text = crd["metadata"]["annotations"][kApproval].str();
  if (text.empty()) { return Approval::Missing; }
  const auto colon = text.find("://");
  const bool url = colon != std::string_view::npos && colon > 0 && colon + 3 < text.size();
  return url || text.starts_with("unapproved") ? Approval::Given : Approval::Invalid;
}

void checkApproval(const Value& crd, const Value& old, FieldErrors& errors) {
  const Approval state = approvalOf(crd);
  if (state == Approval::Given || !isProtected(crd["spec"]["group"].str())) { return; }
  if (!old.isNull() && approvalOf(old) == state) { return; }  // no write of something else fails for it
  const std::string field = fmt::format("metadata.annotations[{}]", kApproval);
  const bool missing = state == Approval::Missing;
  const std::string why = fmt::format(
      "protected groups must have approval annotation \"{}\"{}, see "
      "https://github.com/kubernetes/enhancements/pull/1111",
      kApproval, missing ? "" : " with either a URL or a reason starting with \"unapproved\"");
  errors.push_back(missing ? fieldRequired(field, why)
                           : fieldInvalid(field, crd["metadata"]["annotations"][kApproval], why));
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
  checkApproval(crd, old, errors);
  return errors;
}

void defaultCrd(json::Value& crd) {
  if (!crd["spec"].isObject() || !crd["spec"]["names"].isObject()) { return; }  // refused when it is decoded
  Value& spec = crd.child("spec");
  if (spec["conversion"].isNull()) { spec.set("conversion", Object{{"strategy", "None"}}); }
  Value& names = spec.child("names");
  const std::string kind{names["kind"].str()};
  if (names["listKind"].str().empty() && !kind.empty()) { names.set("listKind", kind + "List"); }
  if (names["singular"].str().empty() && !kind.empty()) { names.set("singular", inLowerCase(kind)); }
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

}  // namespace gs::apiserver
