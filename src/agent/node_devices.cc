#include "agent/node_devices.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gs::agent {
namespace {

constexpr std::size_t kMostParts = model::DeviceId::kMostPartition + 1;

}  // namespace

std::vector<enforce::NodeDevice> nodeDevicesOf(const std::vector<Device>& devices) {
  std::vector<enforce::NodeDevice> out;
  for (const Device& device : devices) {
    enforce::NodeDevice gpu;
    gpu.id = {device.id, model::DeviceId::kWhole};
    gpu.uuid = device.gpu.uuid;
    gpu.minor = device.gpu.minor;
    gpu.render_node = device.gpu.render_node;
    gpu.pci_bus_id = device.gpu.pci_bus_id;
    gpu.vendor = device.gpu.vendor;
    out.push_back(gpu);
    const auto& partitions = device.gpu.partitions;
    for (std::size_t i = 0; i < std::min(partitions.size(), kMostParts); ++i) {
      if (partitions[i].uuid.empty()) { continue; }
      enforce::NodeDevice part = gpu;
      part.id.partition = static_cast<int>(i);
      part.uuid = partitions[i].uuid;
      out.push_back(std::move(part));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return out;
}

}  // namespace gs::agent
