// One GPU as NVML tells of it: its values, its health, and what its links are. Only nvml*.cc include this.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/hardware.h"
#include "agent/health.h"
#include "noderim/nvml_calls.h"

namespace gs::noderim {

/// What one NVLink leads to.
struct NvmlLink {
  bool to_switch = false;
  std::string peer;       // bus id of the GPU at its other end
  std::int64_t mbps = 0;  // one direction; 0: the driver does not say
};

struct NvmlGpu {
  NvmlDevice handle = nullptr;  // nullptr: the driver does not give it
  agent::Gpu gpu;               // but for its health
  agent::Facts facts;
  std::vector<NvmlLink> links;  // those that are up
  /// Of the NVSwitch fabric, once it is set up: GPUs of another cluster or clique are not reached by it.
  std::array<std::uint8_t, 16> cluster{};
  std::uint32_t clique = 0;
  bool in_fabric = false;
  unsigned pcie_generation = 0;  // 0: not known
  unsigned pcie_width = 0;
  // What was not told, so that what was known of it goes on to count.
  bool fabric_unread = false;
  bool links_unread = false;
  bool is_split = false;    // MIG is on, as far as is known
  bool is_off_bus = false;  // it has no address: a Jetson's GPU is on no bus
};

/// Never fails: what cannot be asked is noted in the facts. `sysfs`: /sys.
[[nodiscard]] NvmlGpu readGpu(const NvmlCalls& nvml, NvmlDevice handle, const std::string& sysfs);

/// What this look could not tell is as it was; `before` is the same GPU. Health is what this look says.
void fillIn(NvmlGpu& gpu, const NvmlGpu& before);

/// Between all pairs of them, by their places.
[[nodiscard]] std::vector<agent::PairLink> linksOf(const NvmlCalls& nvml, const std::vector<NvmlGpu>& gpus);

}  // namespace gs::noderim
