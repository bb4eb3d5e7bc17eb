// What a ResourceClaim asks for; a ResourceClaimTemplate says the same.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/device_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostConstraints = 32;
constexpr std::size_t kMostSubrequests = 8;
constexpr const char* kReferenceRule =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
constexpr const char* kOneKind = "exactly one of `exactly` or `firstAvailable` is required";

void checkHowMany(const Value& request, const std::string& field, FieldErrors& errors) {
  const auto mode = request["allocationMode"].str();
  const auto count = request["count"].intOr(0);
  if (mode == "All") {
    if (count == 0) { return; }
    errors.push_back(
        fieldInvalid(field + ".count", Value{count}, "must not be specified when allocationMode is 'All'"));
  } else if (mode == "ExactCount") {
    if (count > 0) { return; }
    errors.push_back(fieldInvalid(field + ".count", Value{count}, "must be greater than zero"));
  } else {
    checkKnown(errors, field + ".allocationMode", request["allocationMode"], {"All", "ExactCount"});
  }
}

/// Of a request, or of one of its alternatives.
void checkWanted(const Value& request, const std::string& field, FieldErrors& errors) {
  const auto name = request["deviceClassName"].str();
  if (name.empty()) {
    errors.push_back(fieldRequired(field + ".deviceClassName"));
  } else {
    refuseFor(errors, field + ".deviceClassName", request["deviceClassName"], dnsSubdomainErrors(name));
  }
  checkDeviceSelectors(request["selectors"], field + ".selectors", errors);
  checkHowMany(request, field, errors);
  checkDeviceTolerations(request["tolerations"], field + ".tolerations", errors);
}

void checkAlternatives(const Value& list, const std::string& field, FieldErrors& errors) {
  if (hasTooMany(errors, field, list, kMostSubrequests)) { return; }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    checkDeviceLabel(list.items()[i]["name"], at + ".name", errors);
    checkWanted(list.items()[i], at, errors);
  }
  refuseRepeated(list, field, nameKey, errors);
}

void checkDeviceRequest(const Value& request, const std::string& field, FieldErrors& errors) {
  checkDeviceLabel(request["name"], field + ".name", errors);
  const bool exactly = request["exactly"].isObject();
  const bool first = !request["firstAvailable"].items().empty();
  if (exactly && first) {
    errors.push_back(fieldInvalid(field, Value{}, fmt::format("{}, but multiple fields are set", kOneKind)));
  } else if (exactly) {
    checkWanted(request["exactly"], field + ".exactly", errors);
  } else if (first) {
    checkAlternatives(request["firstAvailable"], field + ".firstAvailable", errors);
  } else {
    errors.push_back(fieldRequired(field, kOneKind));
  }
}

void checkDeviceConstraint(const Value& constraint, const RequestNames& names, const std::string& field,
                           FieldErrors& errors) {
  checkRequestReferences(constraint["requests"], names, field + ".requests", errors);
  const Value& match = constraint["matchAttribute"];
  const Value& distinct = constraint["distinctAttribute"];
  if (!match.isNull()) { checkAttributeNameTagged(match, field + ".matchAttribute", errors); }
  if (!distinct.isNull()) { checkAttributeNameTagged(distinct, field + ".distinctAttribute", errors); }
  if (match.isNull() && distinct.isNull()) {  // in these words
    errors.push_back(fieldRequired(field,
                                   R"(exactly one of "matchAttribute" or "distinctAttribute" is required, )"
                                   "but multiple fields are set"));
  }
}

}  // namespace

RequestNames requestNames(const json::Value& claim_spec) {
  RequestNames out;
  for (const Value& request : claim_spec["devices"]["requests"].items()) {
    auto& subrequests = out[std::string{request["name"].str()}];
    for (const Value& one : request["firstAvailable"].items()) { subrequests.emplace(one["name"].str()); }
  }
  return out;
}

void checkRequestReference(const json::Value& name, const RequestNames& names, const std::string& field,
                           FieldErrors& errors) {
  const auto text = name.str();
  const auto slash = text.find('/');
  const auto request = text.substr(0, slash);
  const bool has_sub = slash != std::string_view::npos;
  const auto sub = has_sub ? text.substr(slash + 1) : std::string_view{};
  if (sub.find('/') == std::string_view::npos) {
    checkDeviceLabel(Value{request}, field, errors);
    if (has_sub) { checkDeviceLabel(Value{sub}, field, errors); }
    const auto known = names.find(request);
    if (known != names.end() && (!has_sub || known->second.contains(sub))) { return; }
  }
  errors.push_back(fieldInvalid(field, Value{text}, kReferenceRule));
}

void checkRequestReferences(const json::Value& list, const RequestNames& names, const std::string& field,
                            FieldErrors& errors) {
  if (hasTooMany(errors, field, list, kMostRequests)) { return; }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    checkRequestReference(list.items()[i], names, fmt::format("{}[{}]", field, i), errors);
  }
  refuseRepeated(
      list, field, [](const Value& one) { return std::string{one.str()}; }, errors);
}

void checkClaimSpec(const json::Value& spec, const std::string& field, FieldErrors& errors) {
  const Value& devices = spec["devices"];
  const std::string here = field + ".devices";
  const RequestNames names = requestNames(spec);
  const auto each = [&](const char* list, std::size_t most, auto check) {
    const std::string at = fmt::format("{}.{}", here, list);
    if (hasTooMany(errors, at, devices[list], most)) { return; }
    for (std::size_t i = 0; i < devices[list].items().size(); ++i) {
      check(devices[list].items()[i], fmt::format("{}[{}]", at, i));
    }
  };
  each("requests", kMostRequests,
       [&](const Value& request, const std::string& at) { checkDeviceRequest(request, at, errors); });
  if (devices["requests"].items().size() <= kMostRequests) {
    refuseRepeated(devices["requests"], here + ".requests", nameKey, errors);
  }
  each("constraints", kMostConstraints, [&](const Value& constraint, const std::string& at) {
    checkDeviceConstraint(constraint, names, at, errors);
  });
  each("config", kMostConfigs, [&](const Value& config, const std::string& at) {
    checkRequestReferences(config["requests"], names, at + ".requests", errors);
    checkOpaqueConfig(config["opaque"], at + ".opaque", errors);
  });
}

}  // namespace gs::apiserver
