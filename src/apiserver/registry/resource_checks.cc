// Names and amounts of resources: of containers and of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "kapi/quantity.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::string_view kHugePages = "hugepages-";

template <std::size_t N>
bool isOneOf(std::string_view name, const std::array<std::string_view, N>& all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Of quotas, too.
bool isStandardResource(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kStandard{"cpu",
                                                              "memory",
                                                              "ephemeral-storage",
                                                              "requests.cpu",
                                                              "requests.memory",
                                                              "requests.ephemeral-storage",
                                                              "limits.cpu",
                                                              "limits.memory",
                                                              "limits.ephemeral-storage",
                                                              "pods",
                                                              "resourcequotas",
                                                              "services",
                                                              "replicationcontrollers",
                                                              "secrets",
                                                              "configmaps",
                                                              "persistentvolumeclaims",
                                                              "storage",
                                                              "requests.storage",
                                                              "services.nodeports",
                                                              "services.loadbalancers"};
  return isOneOf(name, kStandard) || name.starts_with(kHugePages) || name.starts_with("requests.hugepages-");
}

bool isOfContainers(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kOfContainers{"cpu", "memory", "ephemeral-storage"};
  return isOneOf(name, kOfContainers) || name.starts_with(kHugePages);
}

bool isCounted(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kCounted{
      "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
      "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
  return isOneOf(name, kCounted);
}

bool isNative(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

bool isExtended(std::string_view name) {
  return !isNative(name) && !name.starts_with("requests.") &&
         qualifiedNameErrors(fmt::format("requests.{}", name)).empty();
}

bool mayOvercommit(std::string_view name) { return isNative(name) && !name.starts_with(kHugePages); }

void checkResourceName(std::string_view name, const std::string& field, FieldErrors& errors) {
  const std::string shown{name};  // without quotes
  const auto found = qualifiedNameErrors(name);
  for (const std::string& why : found) { errors.push_back(fieldInvalid(field, shown, why)); }
  const bool plain = name.find('/') == std::string_view::npos;
  if (found.empty() && plain && !isStandardResource(name)) {
    errors.push_back(fieldInvalid(field, shown, "must be a standard resource type or fully qualified"));
  }
  if (plain && !isOfContainers(name)) {
    errors.push_back(fieldInvalid(field, shown, "must be a standard resource for containers"));
  } else if (!plain && !isNative(name) && !isExtended(name)) {
    errors.push_back(fieldInvalid(field, shown, "doesn't follow extended resource name standard"));
  }
}

std::string goAmount(std::int64_t milli, const Value& amount) {
  return fmt::format(
      "resource.Quantity{{i:resource.int64Amount{{value:{}, scale:-3}}, "
      "d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:{}, Format:\"DecimalSI\"}}",
      milli, goQuote(amount.str()));
}

void checkAmountOf(std::string_view name, const Value& amount, const std::string& field,
                   FieldErrors& errors) {
  const auto milli = kapi::milliOf(amount);
  const bool negative = amount.str().starts_with('-');
  if (negative) { errors.push_back(fieldInvalid(field, amount, "must be greater than or equal to 0")); }
  if (milli && *milli % 1000 != 0 && (isCounted(name) || isExtended(name))) {
    errors.push_back(fieldInvalid(field, goAmount(*milli, amount), "must be an integer"));
  }
}

/// Pages are given out whole.
void checkPages(std::string_view name, const Value& amount, const std::string& field, FieldErrors& errors) {
  const auto size = kapi::quantityMilli(name.substr(kHugePages.size()));
  const auto units = kapi::unitsOf(amount);
  const bool fine = size && *size > 0 && *size % 1000 == 0 && units && *units % (*size / 1000) == 0;
  if (fine) { return; }
  errors.push_back(fieldInvalid(
      field, amount, fmt::format("{} is not positive integer multiple of {}", amount.str(), name)));
}

void checkAgainstLimit(std::string_view name, const Value& request, const Value& limits,
                       const std::string& field, FieldErrors& errors) {
  const Value* limit = limits.find(name);
  if (limit == nullptr) {
    if (mayOvercommit(name)) { return; }
    errors.push_back(fieldRequired(field + ".limits", "Limit must be set for non overcommitable resources"));
    return;
  }
  const int compared = compareAmounts(request, *limit);
  if (compared != 0 && !mayOvercommit(name)) {
    errors.push_back(fieldInvalid(field + ".requests", request,
                                  fmt::format("must be equal to {} limit of {}", name, limit->str())));
  } else if (compared > 0) {
    errors.push_back(
        fieldInvalid(field + ".requests", request,
                     fmt::format("must be less than or equal to {} limit of {}", name, limit->str())));
  }
}

}  // namespace

int compareAmounts(const json::Value& a, const json::Value& b) {
  if (a == b) { return 0; }
  const auto left = kapi::milliOf(a);
  const auto right = kapi::milliOf(b);
  if (left && right) { return *left < *right ? -1 : *left > *right ? 1 : 0; }
  const auto whole_left = kapi::unitsOf(a).value_or(0);  // more than fit in thousandths
  const auto whole_right = kapi::unitsOf(b).value_or(0);
  return whole_left < whole_right ? -1 : whole_left > whole_right ? 1 : 0;
}

void checkAmounts(const json::Value& amounts, const std::string& field, FieldErrors& errors) {
  for (const auto& [name, amount] : amounts.members()) {
    // As Go prints a path whose last name is empty.
    checkAmountOf(name, amount, name.empty() ? field + "[]" : fmt::format("{}.{}", field, name), errors);
  }
}

void checkContainerResources(const json::Value& resources, const std::string& field, FieldErrors& errors) {
  bool pages = false;
  bool computes = false;
  for (const char* part : {"limits", "requests"}) {
    for (const auto& [name, amount] : resources[part].members()) {
      const std::string here = fmt::format("{}.{}[{}]", field, part, name);
      checkResourceName(name, here, errors);
      checkAmountOf(name, amount, here, errors);
      if (part[0] == 'r') { checkAgainstLimit(name, amount, resources["limits"], field, errors); }
      computes = computes || name == "cpu" || name == "memory";
      if (!std::string_view{name}.starts_with(kHugePages)) { continue; }
      pages = true;
      checkPages(name, amount, here, errors);
    }
  }
  if (pages && !computes) { errors.push_back(fieldForbidden(field, "HugePages require cpu or memory")); }
}

}  // namespace gs::apiserver
