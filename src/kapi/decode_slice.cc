// What DRA drivers publish (resource.k8s.io/v1): slices of their pools; and taints that administrators lay on
// devices.
#include <fmt/core.h>

#include <algorithm>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/named.h"
#include "kapi/quantity.h"

namespace gs::kapi {
namespace {

using json::View;

// The API server takes 128 devices in a slice, and 32 attributes and capacities of a device.
constexpr std::size_t kMostDevices = 128;
constexpr std::size_t kMostAttributes = 64;

/// "domain/name", or "name" of the driver's own domain.
model::QualifiedName qualified(std::string_view text, const std::string& driver) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) { return {driver, std::string{text}}; }
  return {std::string{text.substr(0, slash)}, std::string{text.substr(slash + 1)}};
}

model::Attribute attributeOf(const View& v) {
  if (const auto number = v["int"].integer()) { return *number; }
  if (v["string"].isString()) { return std::string{v["string"].str()}; }
  if (v["version"].isString()) {
    auto version = model::parseSemVer(v["version"].str());
    return version ? model::Attribute{*std::move(version)} : model::Attribute{};
  }
  const bool yes = v["bool"].boolOr(false);
  return yes == v["bool"].boolOr(true) ? model::Attribute{yes} : model::Attribute{};
}

std::vector<model::Taint> taintsOf(const View& v) {
  std::vector<model::Taint> out;
  for (const View t : v.items()) { out.push_back({text(t["key"]), text(t["value"]), text(t["effect"])}); }
  return out;
}

/// Why it cannot be given as a whole to one pod.
std::string unsupportedOf(const View& v) {
  if (!v["consumesCounters"].items().empty()) {
    return "consumesCounters: it is a part of a device that is divided";
  }
  if (v["allowMultipleAllocations"].boolOr(false)) {
    return "allowMultipleAllocations: several pods may have it";
  }
  if (!v["bindingConditions"].items().empty()) {
    return "bindingConditions: it is made ready after the choice";
  }
  if (!v["nodeAllocatableResources"].members().empty()) { return "nodeAllocatableResources"; }
  return "";
}

model::SliceDevice deviceOf(const View& v, const std::string& driver) {
  model::SliceDevice d;
  d.name = text(v["name"]);
  d.unsupported = unsupportedOf(v);
  d.node = model::NodeName{v["nodeName"].str()};
  d.taints = taintsOf(v["taints"]);
  const auto attributes = v["attributes"].members();
  const auto capacity = v["capacity"].members();
  if (attributes.size() + capacity.size() > kMostAttributes) {
    d.unsupported = fmt::format("{} attributes and capacities, more than {}",
                                attributes.size() + capacity.size(), kMostAttributes);
    return d;
  }
  for (const auto [name, value] : attributes) { d.attributes[qualified(name, driver)] = attributeOf(value); }
  for (const auto [name, value] : capacity) {
    if (auto amount = exactQuantity(value["value"].str())) { d.capacity[qualified(name, driver)] = *amount; }
  }
  return d;
}

constexpr KindInfo kResourceSliceInfo{
    "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false, decodedBy<decodeResourceSlice>, true};
constexpr KindInfo kDeviceTaintRuleInfo{"resource.k8s.io",
                                        "v1",
                                        "devicetaintrules",
                                        "DeviceTaintRule",
                                        false,
                                        decodedBy<decodeDeviceTaintRule>,
                                        true};

}  // namespace

constinit const Kind kResourceSlice{kResourceSliceInfo};
constinit const Kind kDeviceTaintRule{kDeviceTaintRuleInfo};

model::ResourceSlice decodeResourceSlice(const View& v) {
  auto out = namedOf<model::ResourceSlice>(v);
  const View spec = v["spec"];
  out.driver = text(spec["driver"]);
  out.pool = text(spec["pool"]["name"]);
  out.generation = spec["pool"]["generation"].intOr(0);
  out.slices = spec["pool"]["resourceSliceCount"].intOr(0);
  out.node = model::NodeName{spec["nodeName"].str()};
  const auto devices = spec["devices"].items();
  if (devices.size() > kMostDevices) {
    out.slices = 0;  // such a pool is never complete, so nothing of it is given
    return out;
  }
  for (const View device : devices) {
    if (!device["name"].str().empty()) { out.devices.push_back(deviceOf(device, out.driver)); }
  }
  return out;
}

model::DeviceTaintRule decodeDeviceTaintRule(const View& v) {
  auto out = namedOf<model::DeviceTaintRule>(v);
  const View spec = v["spec"];
  const View selector = spec["deviceSelector"];
  out.driver = text(selector["driver"]);
  out.pool = text(selector["pool"]);
  out.device = text(selector["device"]);
  out.taint = {text(spec["taint"]["key"]), text(spec["taint"]["value"]), text(spec["taint"]["effect"])};
  return out;
}

}  // namespace gs::kapi
