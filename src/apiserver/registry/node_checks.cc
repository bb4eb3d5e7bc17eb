// Nodes: what the API server adds, and requires.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

void checkTaints(const Value& taints, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < taints.items().size(); ++i) {
    const Value& taint = taints.items()[i];
    const std::string field = fmt::format("metadata.taints[{}]", i);
    const auto key = taint["key"].str();
    refuseFor(errors, field + ".key", taint["key"], qualifiedNameErrors(key));
    if (const Texts wrong = labelValueErrors(taint["value"].str()); !wrong.empty()) {
      errors.push_back(
          fieldInvalid(field + ".value", taint["value"], fmt::format("{}", fmt::join(wrong, ";"))));
    }
    checkTaintEffect(taint["effect"], true, field + ".effect", errors);
    if (!seen.emplace(taint["effect"].str(), key).second) {
      FieldError twice = fieldDuplicate(field, json::print(taint));
      twice.message += ": taints must be unique by key and effect pair";
      errors.push_back(std::move(twice));
    }
  }
}

/// Of two, one is IPv4 and the other IPv6.
void checkPodCidrs(const Value& cidrs, FieldErrors& errors) {
  const auto& all = cidrs.items();
  const std::string field = "spec.podCIDRs";
  std::string invalid;  // the first one
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Texts wrong = cidrErrors(all[i].str());
    if (!wrong.empty() && invalid.empty()) {
      invalid = fmt::format("CIDR[{}]: <nil> (invalid CIDR address: {})", i, all[i].str());
    }
    refuseFor(errors, fmt::format("{}[{}]", field, i), all[i], wrong);
  }
  if (all.size() > 1 && !invalid.empty()) {
    errors.push_back({field, "InternalError",
                      fmt::format("Internal error: invalid PodCIDRs. failed to check with dual stack with "
                                  "error:invalid {}",
                                  invalid)});
  }
  const bool pair = all.size() == 2 && invalid.empty() && familyOf(all[0].str()) != familyOf(all[1].str());
  if (all.size() > 1 && !pair) {
    errors.push_back(
        fieldInvalid(field, goTexts(cidrs), "may specify no more than one CIDR for each IP family"));
  }
}

void checkNodeUpdate(const Value& node, const Value& old, FieldErrors& errors) {
  const auto& addresses = node["status"]["addresses"].items();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto before = addresses.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(addresses.begin(), before, addresses[i]) == before) { continue; }
    errors.push_back(fieldDuplicate(fmt::format("status.addresses[{}]", i), json::print(addresses[i])));
  }
  const Value& had = old["spec"]["podCIDRs"];
  if (!had.items().empty() && node["spec"]["podCIDRs"] != had) {
    errors.push_back(
        fieldForbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
  }
  const auto provider = old["spec"]["providerID"].str();
  if (!provider.empty() && provider != node["spec"]["providerID"].str()) {
    errors.push_back(fieldForbidden("spec.providerID",
                                    "node updates may not change providerID except from \"\" to valid"));
  }
  if (node["spec"]["externalID"].str() != old["spec"]["externalID"].str()) {
    errors.push_back(fieldForbidden("spec.externalID", "may not be updated"));
  }
}

}  // namespace

FieldErrors checkNode(const json::Value& node, const json::Value& old) {
  FieldErrors errors;
  checkTaints(node["spec"]["taints"], errors);
  for (const char* part : {"capacity", "allocatable"}) {
    checkAmounts(node["status"][part], fmt::format("status.{}", part), errors);
  }
  if (old.isNull()) {
    checkPodCidrs(node["spec"]["podCIDRs"], errors);
  } else {
    checkNodeUpdate(node, old, errors);
  }
  return errors;
}

void defaultNode(json::Value& node) {
  const auto one = node["spec"]["podCIDR"].str();
  const Value& all = node["spec"]["podCIDRs"];
  const bool other = all.isNull() || (all.isArray() && (all.items().empty() || all.at(0).str() != one));
  if (!one.empty() && other) {  // older clients know the one only
    Value cidr = node["spec"]["podCIDR"];
    node.child("spec").set("podCIDRs", json::Array{std::move(cidr)});
  } else if (one.empty() && !all.at(0).str().empty()) {
    Value first = all.at(0);
    node.child("spec").set("podCIDR", std::move(first));
  }
  ifObject(node, "status", [](Value& status) {
    defaultAmounts(status, "capacity");
    defaultAmounts(status, "allocatable");
    if (!status["capacity"].isObject() || !status["allocatable"].isNull()) { return; }
    Value capacity = status["capacity"];
    status.set("allocatable", std::move(capacity));
  });
}

}  // namespace gs::apiserver
