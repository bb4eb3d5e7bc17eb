// ResourceSlices: the devices that a driver publishes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostDevices = 128;
constexpr std::size_t kMostSpecialDevices = 64;  // with taints or counters
constexpr std::size_t kMostAttributes = 32;      // and capacities
constexpr std::size_t kLongestAttribute = 64;
constexpr std::size_t kMostTaints = 16;
constexpr std::size_t kMostCounterSets = 8;
constexpr std::size_t kMostCounterUses = 2;
constexpr std::size_t kMostCounters = 32;
constexpr std::array kAttributeKinds{"int", "bool", "string", "version"};
constexpr const char* kSomeKind =
    "one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
constexpr const char* kDeviceNodes =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is "
    "set to true in the ResourceSlice spec";
constexpr const char* kSliceNodes =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// `a`, `b`
std::string inBackticks(const std::vector<const char*>& names) {
  std::string out;
  for (const char* name : names) { out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name); }
  return out;
}

// ---- on which nodes

void checkNodeNameOf(const Value& owner, const std::string& field, const char* if_empty,
                     std::vector<const char*>& ways, FieldErrors& errors) {
  const Value& name = owner["nodeName"];
  if (name.isNull()) { return; }
  if (name.str().empty()) {
    errors.push_back(fieldInvalid(field + ".nodeName", name, if_empty));
    return;
  }
  ways.push_back("nodeName");
  refuseFor(errors, field + ".nodeName", name, dnsSubdomainErrors(name.str()));
}

void checkOnlyTrue(const Value& owner, const char* flag, const std::string& field,
                   std::vector<const char*>& ways, FieldErrors& errors) {
  if (owner[flag].isNull()) { return; }
  if (owner[flag].boolOr(false)) {
    ways.push_back(flag);
  } else {
    errors.push_back(
        fieldInvalid(fmt::format("{}.{}", field, flag), owner[flag], "must be either unset or set to true"));
  }
}

void checkOneWay(const std::vector<const char*>& ways, const std::string& field, const std::string& if_none,
                 const std::string& if_many, FieldErrors& errors) {
  if (ways.empty()) { errors.push_back(fieldRequired(field, if_none)); }
  if (ways.size() > 1) {
    errors.push_back(fieldInvalid(field, Value{fmt::format("{{{}}}", inBackticks(ways))}, if_many));
  }
}

void checkSliceNodes(const Value& spec, FieldErrors& errors) {
  std::vector<const char*> ways;
  checkNodeNameOf(spec, "spec", "must be either unset or set to a non-empty string", ways, errors);
  const Value& selector = spec["nodeSelector"];
  if (selector.isObject()) {
    ways.push_back("nodeSelector");
    checkNodeSelector(selector, "spec.nodeSelector", errors);
    if (selector["nodeSelectorTerms"].items().size() != 1) {
      errors.push_back(fieldInvalid("spec.nodeSelector.nodeSelectorTerms",
                                    json::print(selector["nodeSelectorTerms"]),
                                    "must have exactly one node selector term"));
    }
  }
  checkOnlyTrue(spec, "allNodes", "spec", ways, errors);
  checkOnlyTrue(spec, "perDeviceNodeSelection", "spec", ways, errors);
  checkOneWay(ways, "spec", kSliceNodes, fmt::format("{}, but multiple fields are set", kSliceNodes), errors);
}

void checkDeviceNodes(const Value& device, bool each, const std::string& field, FieldErrors& errors) {
  const Value& selector = device["nodeSelector"];
  if (!each) {
    if (device["nodeName"].isNull() && selector.isNull() && device["allNodes"].isNull()) { return; }
    errors.push_back(fieldInvalid(field, Value{},
                                  "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                                  "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"));
    return;
  }
  std::vector<const char*> ways;
  checkNodeNameOf(device, field, "must not be empty", ways, errors);
  if (selector.isObject()) {
    ways.push_back("nodeSelector");
    checkNodeSelector(selector, field + ".nodeSelector", errors);
  }
  checkOnlyTrue(device, "allNodes", field, ways, errors);
  checkOneWay(ways, field, kDeviceNodes, kDeviceNodes, errors);
}

// ---- what a device is

/// Letters, digits and dashes; a number has no zero before it, where `strict`.
bool isVersionPart(std::string_view part, bool strict) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool fine = std::all_of(part.begin(), part.end(), [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  const bool number = std::all_of(part.begin(), part.end(), is_digit);
  return fine && !part.empty() && !(strict && number && part.size() > 1 && part.front() == '0');
}

/// How many parts there are between dots; 0: one of them is wrong.
int versionParts(std::string_view text, bool strict) {
  int count = 0;
  for (std::size_t at = 0; at <= text.size(); ++count) {
    const auto end = std::min(text.find('.', at), text.size());
    if (!isVersionPart(text.substr(at, end - at), strict)) { return 0; }
    at = end + 1;
  }
  return count;
}

/// As semver.org has it: 1.2.3-rc.1+build
bool isSemanticVersion(std::string_view text) {
  const auto plus = std::min(text.find('+'), text.size());
  const auto dash = std::min(text.find('-'), plus);
  const auto numbers = text.substr(0, dash);
  return numbers.find_first_not_of("0123456789.") == std::string_view::npos &&
         versionParts(numbers, true) == 3 &&
         (dash == plus || versionParts(text.substr(dash + 1, plus - dash - 1), true) > 0) &&
         (plus == text.size() || versionParts(text.substr(plus + 1), false) > 0);
}

void checkAttribute(const Value& attribute, const std::string& field, FieldErrors& errors) {
  std::vector<const char*> kinds;
  for (const char* kind : kAttributeKinds) {
    if (!attribute[kind].isNull()) { kinds.push_back(kind); }
  }
  if (kinds.empty()) {
    errors.push_back(fieldInvalid(field, Value{""}, fmt::format("must specify {}", kSomeKind)));
  } else if (kinds.size() > 1) {
    errors.push_back(fieldInvalid(field, Value{fmt::format("{{{}}}", inBackticks(kinds))},
                                  fmt::format("must specify exactly {}", kSomeKind)));
  }
  const Value& version = attribute["version"];
  if (!version.isNull() && !isSemanticVersion(version.str())) {
    errors.push_back(
        fieldInvalid(field + ".version", version, "must be a string compatible with semver.org spec 2.0.0"));
  }
  for (const char* kind : {"string", "version"}) {
    if (attribute[kind].str().size() <= kLongestAttribute) { continue; }
    errors.push_back(fieldTooLong(fmt::format("{}.{}", field, kind), kLongestAttribute));
  }
}

void checkAttributes(const Value& device, const std::string& field, FieldErrors& errors) {
  const auto& attributes = device["attributes"].members();
  const std::size_t count = attributes.size() + device["capacity"].members().size();
  if (count > kMostAttributes) {
    errors.push_back(fieldInvalid(
        field, Value{count},
        fmt::format("the total number of attributes and capacities must not exceed {}", kMostAttributes)));
  }
  for (const auto& [name, attribute] : attributes) {
    checkAttributeName(name, field + ".attributes", errors);
    checkAttribute(attribute, fmt::format("{}.attributes[{}]", field, name), errors);
  }
}

// ---- what devices share

void checkCounters(const Value& owner, const char* name, const std::string& field, FieldErrors& errors) {
  const std::string at = fmt::format("{}.{}", field, name);
  const std::string counters = field + ".counters";
  if (owner[name].str().empty()) {
    errors.push_back(fieldRequired(at));
  } else {
    checkDeviceLabel(owner[name], at, errors);
  }
  const auto& all = owner["counters"].members();
  if (all.empty()) { errors.push_back(fieldRequired(counters)); }
  if (all.size() > kMostCounters) {
    errors.push_back({counters, "TooMany",
                      fmt::format("Too many: {}: must have at most {} items", all.size(), kMostCounters)});
  }
  for (const auto& [counter, value] : all) { checkDeviceLabel(Value{counter}, counters, errors); }
}

void checkCounterList(const Value& list, const char* name, std::size_t most, const std::string& field,
                      FieldErrors& errors) {
  if (hasTooMany(errors, field, list, most)) { return; }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    checkCounters(list.items()[i], name, fmt::format("{}[{}]", field, i), errors);
  }
  const bool of_set = name[0] == 'n';
  refuseRepeated(
      list, field, of_set ? nameKey : [](const Value& one) { return std::string{one["counterSet"].str()}; },
      errors);
}

// ---- the devices

void checkSliceTaints(const Value& taints, const std::string& field, FieldErrors& errors) {
  if (hasTooMany(errors, field, taints, kMostTaints)) { return; }
  for (std::size_t i = 0; i < taints.items().size(); ++i) {
    checkDeviceTaint(taints.items()[i], {}, fmt::format("{}[{}]", field, i), errors);
  }
}

void checkSliceDevice(const Value& device, bool each_its_nodes, const std::string& field,
                      FieldErrors& errors) {
  checkDeviceLabel(device["name"], field + ".name", errors);
  checkAttributes(device, field, errors);
  checkDeviceCapacity(device["capacity"], device["allowMultipleAllocations"].boolOr(false),
                      field + ".capacity", errors);
  checkSliceTaints(device["taints"], field + ".taints", errors);
  checkCounterList(device["consumesCounters"], "counterSet", kMostCounterUses, field + ".consumesCounters",
                   errors);
  checkDeviceNodes(device, each_its_nodes, field, errors);
  checkBindingConditions(device, field, errors);
}

void checkSliceDevices(const Value& spec, FieldErrors& errors) {
  const std::string field = "spec.devices";
  const auto& devices = spec["devices"].items();
  const bool special = std::any_of(devices.begin(), devices.end(), [](const Value& device) {
    return !device["taints"].items().empty() || !device["consumesCounters"].items().empty();
  });
  if (hasTooMany(errors, field, spec["devices"], special ? kMostSpecialDevices : kMostDevices)) { return; }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    checkSliceDevice(devices[i], spec["perDeviceNodeSelection"].boolOr(false), at, errors);
    const auto name = devices[i]["name"].str();
    if (!names.insert(name).second) { errors.push_back(fieldDuplicate(at, goQuote(name))); }
  }
}

void checkPool(const Value& pool, FieldErrors& errors) {
  checkPoolName(pool["name"], "spec.pool.name", errors);
  if (pool["resourceSliceCount"].intOr(0) <= 0) {
    errors.push_back(fieldInvalid("spec.pool.resourceSliceCount", Value{pool["resourceSliceCount"].intOr(0)},
                                  "must be greater than zero"));
  }
  if (pool["generation"].intOr(0) < 0) {
    errors.push_back(
        fieldInvalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero"));
  }
}

void checkSameSlice(const Value& spec, const Value& old, FieldErrors& errors) {
  const auto same = [&](const Value& now, const Value& had, const char* field) {
    if (now != had) { errors.push_back(fieldInvalid(field, now, "field is immutable")); }
  };
  same(spec["pool"]["name"], old["pool"]["name"], "spec.pool.name");
  same(spec["driver"], old["driver"], "spec.driver");
  same(spec["nodeName"], old["nodeName"], "spec.nodeName");
}

}  // namespace

void checkResourceSlice(const json::Value& spec, const json::Value& old, FieldErrors& errors) {
  checkDriverName(spec["driver"], "spec.driver", errors);
  checkPool(spec["pool"], errors);
  if (!old.isNull()) { checkSameSlice(spec, old, errors); }
  checkSliceNodes(spec, errors);
  if (!spec["sharedCounters"].isNull() && !spec["devices"].isNull()) {
    errors.push_back(fieldInvalid("spec", Value{""}, "only one of `sharedCounters` or `devices` is allowed"));
  }
  checkSliceDevices(spec, errors);
  checkCounterList(spec["sharedCounters"], "name", kMostCounterSets, "spec.sharedCounters", errors);
}

}  // namespace gs::apiserver
