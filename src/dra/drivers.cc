#include "dra/drivers.h"

#include <algorithm>

namespace gs::dra {
namespace {

Driver nvidia() {
  const std::string name = "gpu.nvidia.com";
  return {.name = name,
          .resource = model::kNvidiaGpu,
          .device_class = name,
          .uuid = {name, "uuid"},
          .kind = {name, "type"},
          .whole = "gpu",
          .product = {name, "productName"},
          .memory = {name, "memory"}};
}

Driver amd() {
  const std::string name = "gpu.amd.com";
  return {.name = name,
          .resource = "amd.com/gpu",
          .device_class = name,
          .uuid = {},
          .kind = {name, "type"},
          .whole = "amdgpu",
          .product = {name, "productName"},
          .memory = {name, "memory"}};
}

}  // namespace

const Drivers& knownDrivers() {
  static const Drivers kKnown{nvidia(), amd()};
  return kKnown;
}

const Driver* findDriver(const Drivers& drivers, std::string_view name) {
  const auto it =
      std::find_if(drivers.begin(), drivers.end(), [&](const Driver& d) { return d.name == name; });
  return it == drivers.end() ? nullptr : &*it;
}

const model::QualifiedName& pciBusIdAttribute() {
  static const model::QualifiedName kName{"resource.kubernetes.io", "pciBusID"};
  return kName;
}

std::string textOf(const model::SliceDevice& device, const model::QualifiedName& name) {
  const auto it = device.attributes.find(name);
  const auto* text = it == device.attributes.end() ? nullptr : std::get_if<std::string>(&it->second);
  return text == nullptr ? "" : *text;
}

bool isWholeGpu(const Driver& driver, const model::SliceDevice& device) {
  return driver.whole.empty() || textOf(device, driver.kind) == driver.whole;
}

}  // namespace gs::dra
