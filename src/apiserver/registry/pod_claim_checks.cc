// Claims of devices that a pod names: in its spec, in its containers, and in its status.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;
using ClaimNames = std::set<std::string, std::less<>>;

constexpr const char* kNoContainer =
    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
constexpr const char* kNoResource =
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests";

/// As Go prints it.
std::string goPodClaim(const Value& claim) {
  return fmt::format(R"({{"Name":{},"ResourceClaimName":{},"ResourceClaimTemplateName":{}}})",
                     json::print(Value{claim["name"].str()}), json::print(claim["resourceClaimName"]),
                     json::print(claim["resourceClaimTemplateName"]));
}

void checkPodClaim(const Value& claim, ClaimNames& names, const std::string& field, FieldErrors& errors) {
  const auto name = claim["name"].str();
  if (name.empty()) {
    errors.push_back(fieldRequired(field + ".name"));
  } else if (!names.emplace(name).second) {
    errors.push_back(fieldDuplicate(field + ".name", goQuote(name)));
  } else {
    refuseFor(errors, field + ".name", claim["name"], dnsLabelErrors(name));
  }
  const Value& there = claim["resourceClaimName"];
  const Value& made = claim["resourceClaimTemplateName"];
  if (there.isNull() == made.isNull()) {
    errors.push_back(fieldInvalid(
        field, goPodClaim(claim),
        made.isNull() ? "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
                      : "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                        "specified"));
  }
  for (const char* source : {"resourceClaimName", "resourceClaimTemplateName"}) {
    if (claim[source].isNull()) { continue; }
    refuseFor(errors, fmt::format("{}.{}", field, source), claim[source],
              dnsSubdomainErrors(claim[source].str()));
  }
}

ClaimNames claimNamesOf(const Value& spec) {
  ClaimNames names;
  for (const Value& claim : spec["resourceClaims"].items()) { names.emplace(claim["name"].str()); }
  names.erase("");
  return names;
}

/// A claim as a whole, and parts of it, are not used at once.
bool overlaps(const std::string& name, const ClaimNames& used) {
  const std::string parts = name + "/";
  const auto at = used.lower_bound(parts);
  return at != used.end() && at->starts_with(parts);
}

void checkContainerClaim(const Value& claim, const ClaimNames& known, ClaimNames& used,
                         const std::string& field, FieldErrors& errors) {
  const std::string name{claim["name"].str()};
  const auto request = claim["request"].str();
  if (name.empty()) {
    errors.push_back(fieldRequired(field));
    return;
  }
  const std::string key = request.empty() ? name : fmt::format("{}/{}", name, request);
  if (used.contains(name)) {
    errors.push_back(fieldDuplicate(field, goQuote(name)));
  } else {
    if (!request.empty()) {
      refuseFor(errors, field + ".request", claim["request"], dnsLabelErrors(request));
    }
    const bool again = used.contains(key) || (request.empty() && overlaps(name, used));
    if (again) { errors.push_back(fieldDuplicate(field, goQuote(key))); }
    used.insert(key);
  }
  if (known.contains(name)) { return; }
  std::string all;
  for (const std::string& one : known) { all += (all.empty() ? "" : ", ") + one; }
  FieldError error = fieldNotFound(field, claim["name"]);
  error.message += known.empty() ? ": must be one of the names in pod.spec.resourceClaims which is empty"
                                 : ": must be one of the names in pod.spec.resourceClaims: " + all;
  errors.push_back(std::move(error));
}

/// The container of this name; where two have it, the later one, as in a real server.
const Value* containerOf(const Value& spec, std::string_view name) {
  for (const char* list : {"containers", "initContainers"}) {
    const auto& all = spec[list].items();
    const auto at =
        std::find_if(all.rbegin(), all.rend(), [&](const Value& c) { return c["name"].str() == name; });
    if (at != all.rend()) { return &*at; }
  }
  return nullptr;
}

void checkMappings(const Value& mappings, const Value& spec, const std::string& field, FieldErrors& errors) {
  const std::string here = field + ".requestMappings";
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < mappings.items().size(); ++i) {
    const Value& one = mappings.items()[i];
    const std::string at = fmt::format("{}[{}]", here, i);
    const Value* container = containerOf(spec, one["containerName"].str());
    if (container == nullptr) {
      errors.push_back(fieldInvalid(at + ".containerName", one["containerName"], kNoContainer));
    } else if ((*container)["resources"]["requests"].find(one["resourceName"].str()) == nullptr) {
      errors.push_back(fieldInvalid(at + ".resourceName", one["resourceName"], kNoResource));
    }
    // There, and not at the mapping: as the real server says it.
    refuseFor(errors, field + ".requestName", one["requestName"], dnsLabelErrors(one["requestName"].str()));
    if (seen.emplace(one["containerName"].str(), one["resourceName"].str(), one["requestName"].str())
            .second) {
      continue;
    }
    for (const char* part : {"containerName", "resourceName", "requestName"}) {
      errors.push_back(fieldDuplicate(fmt::format("{}.{}", at, part), goQuote(one[part].str())));
    }
  }
}

void checkExtendedClaim(const Value& status, const Value& spec, FieldErrors& errors) {
  if (!status.isObject()) { return; }
  const std::string field = "status.extendedResourceClaimStatus";
  if (status["requestMappings"].items().empty()) {
    errors.push_back(fieldRequired(field + ".requestMappings", "at least one request mapping is required"));
  }
  checkMappings(status["requestMappings"], spec, field, errors);
  const auto claim = status["resourceClaimName"].str();
  if (claim.empty()) {
    errors.push_back(fieldRequired(field + ".resourceClaimName"));
  } else {
    refuseFor(errors, field + ".resourceClaimName", status["resourceClaimName"], dnsSubdomainErrors(claim));
  }
}

}  // namespace

void checkPodClaims(const json::Value& claims, const std::string& field, FieldErrors& errors) {
  ClaimNames names;
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    checkPodClaim(claims.items()[i], names, fmt::format("{}[{}]", field, i), errors);
  }
}

void checkContainerClaims(const PodAround& pod, const json::Value& claims, const std::string& field,
                          FieldErrors& errors) {
  if (claims.items().empty()) { return; }
  const ClaimNames known = claimNamesOf(pod.spec);
  ClaimNames used;
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    checkContainerClaim(claims.items()[i], known, used, fmt::format("{}[{}]", field, i), errors);
  }
}

FieldErrors checkPodClaimStatus(const json::Value& pod) {
  FieldErrors errors;
  const Value& statuses = pod["status"]["resourceClaimStatuses"];
  const ClaimNames known = claimNamesOf(pod["spec"]);
  ClaimNames names;
  for (std::size_t i = 0; i < statuses.items().size(); ++i) {
    const Value& one = statuses.items()[i];
    const std::string at = fmt::format("status.resourceClaimStatuses[{}]", i);
    if (!known.contains(one["name"].str())) {
      errors.push_back(fieldInvalid(at + ".name", one["name"],
                                    "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!names.emplace(one["name"].str()).second) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(one["name"].str())));
    }
    const Value& claim = one["resourceClaimName"];
    if (!claim.isNull()) {
      refuseFor(errors, at + ".resourceClaimName", claim, dnsSubdomainErrors(claim.str()));
    }
  }
  checkExtendedClaim(pod["status"]["extendedResourceClaimStatus"], pod["spec"], errors);
  return errors;
}

void keepPodClaimStatus(const json::Value& old, json::Value& next) {
  for (const char* field : {"resourceClaimStatuses", "extendedResourceClaimStatus"}) {
    const Value& had = old["status"][field];
    if (next["status"][field].isNull() && !had.isNull()) { next.child("status").set(field, had); }
  }
  const Value& statuses = next["status"]["resourceClaimStatuses"];
  if (statuses.isArray() && statuses.items().empty()) {  // a list that is there, and empty, clears them
    next.child("status").erase("resourceClaimStatuses");
  }
}

}  // namespace gs::apiserver
