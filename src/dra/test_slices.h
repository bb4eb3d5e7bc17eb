// Slices as a test writes them down. Included by tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dra/drivers.h"
#include "model/dra.h"
#include "model/object.h"

namespace gs::dra {

/// "gpu-3" with UUID "GPU-3", at PCI address 0000:13:00.0.
[[nodiscard]] inline model::SliceDevice gpu(int i) {
  const Driver& driver = knownDrivers().front();
  const std::string number = std::to_string(i);
  model::SliceDevice d;
  d.name = "gpu-" + number;
  d.attributes[driver.kind] = driver.whole;
  d.attributes[driver.uuid] = "GPU-" + number;
  d.attributes[driver.product] = std::string{"NVIDIA H100"};
  d.attributes[pciBusIdAttribute()] = "0000:1" + number + ":00.0";
  d.capacity[driver.memory] = {std::int64_t{80} << 30, 0};
  return d;
}

/// Of gpu.nvidia.com, of pool and node "a", generation 1, the only one of its pool.
[[nodiscard]] inline model::ResourceSlice slice(std::string name, std::vector<model::SliceDevice> devices) {
  model::ResourceSlice s;
  s.key = {"", name};
  s.uid = model::Uid{"uid-" + name};
  s.revision = 1;
  s.driver = knownDrivers().front().name;
  s.pool = "a";
  s.generation = 1;
  s.slices = 1;
  s.node = model::NodeName{"a"};
  s.devices = std::move(devices);
  return s;
}

[[nodiscard]] inline model::Ptr<model::ResourceSlice> shared(model::ResourceSlice s) {
  return std::make_shared<const model::ResourceSlice>(std::move(s));
}

}  // namespace gs::dra
