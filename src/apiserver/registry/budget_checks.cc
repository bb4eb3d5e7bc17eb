// What says which pods may be sent away, and for whom: PodDisruptionBudgets and PriorityClasses.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::int64_t kHighestOfUsers = 1'000'000'000;

struct SystemClass {
  std::string_view name;
  std::int64_t value;
};
constexpr std::array<SystemClass, 2> kSystemClasses{
    {{"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}}};

/// Why a class with a name of the system's is not the system's; "": it is.
std::string notOfTheSystem(const Value& priority_class) {
  const auto name = priority_class["metadata"]["name"].str();
  const auto* known = std::find_if(kSystemClasses.begin(), kSystemClasses.end(),
                                   [&](const SystemClass& one) { return one.name == name; });
  if (known == kSystemClasses.end()) { return fmt::format("{} is not a known system priority class", name); }
  if (priority_class["value"].intOr(0) != known->value) {
    return fmt::format("value of {} PriorityClass must be {}", name, known->value);
  }
  return priority_class["globalDefault"].boolOr(false)
             ? fmt::format("globalDefault of {} PriorityClass must be false", name)
             : "";
}

FieldErrors checkClassUpdate(const Value& next, const Value& old) {
  FieldErrors errors;
  if (next["value"] != old["value"]) {
    errors.push_back(fieldForbidden("value", "may not be changed in an update."));
  }
  if (next["preemptionPolicy"] != old["preemptionPolicy"]) {
    errors.push_back(fieldInvalid("preemptionPolicy", next["preemptionPolicy"], "field is immutable"));
  }
  return errors;
}

}  // namespace

FieldErrors checkBudget(const json::Value& budget) {
  FieldErrors errors;
  const Value& spec = budget["spec"];
  if (!spec["minAvailable"].isNull() && !spec["maxUnavailable"].isNull()) {
    errors.push_back(
        fieldInvalid("spec", json::print(spec), "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const char* name : {"minAvailable", "maxUnavailable"}) {
    const std::string field = fmt::format("spec.{}", name);
    checkShare(errors, field, spec[name]);
    checkNotAboveAll(errors, field, spec[name]);
  }
  append(errors, checkRequirements(spec["selector"], "spec.selector"));
  checkKnownIfThere(errors, "spec.unhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"],
                    {"AlwaysAllow", "IfHealthyBudget"});
  for (const char* count : {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
    checkNotNegative(errors, fmt::format("status.{}", count), budget["status"][count]);
  }
  return errors;
}

FieldErrors checkPriorityClass(const json::Value& priority_class, const json::Value& old) {
  if (!old.isNull()) { return checkClassUpdate(priority_class, old); }
  FieldErrors errors;
  if (priority_class["metadata"]["name"].str().starts_with("system-")) {
    if (const std::string why = notOfTheSystem(priority_class); !why.empty()) {
      errors.push_back(fieldForbidden("metadata.name",
                                      "priority class names with 'system-' prefix are reserved for system "
                                      "use only. error: " +
                                          why));
    }
  } else if (priority_class["value"].intOr(0) > kHighestOfUsers) {
    errors.push_back(fieldForbidden(
        "value", fmt::format("maximum allowed value of a user defined priority is {}", kHighestOfUsers)));
  }
  checkKnownOrMissing(errors, "preemptionPolicy", priority_class["preemptionPolicy"],
                      {"PreemptLowerPriority", "Never"});
  return errors;
}

void defaultPriorityClass(json::Value& priority_class) {
  fillInMissing(priority_class, "preemptionPolicy", "PreemptLowerPriority");
}

}  // namespace gs::apiserver
