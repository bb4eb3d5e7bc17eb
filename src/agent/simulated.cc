#include "agent/simulated.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::agent {
namespace {

std::int64_t gbpsBetween(const model::Device& a, const model::Device& b) {
  const auto link =
      std::find_if(a.links.begin(), a.links.end(), [&](const model::Link& l) { return l.to == b.id; });
  if (link != a.links.end()) { return link->gbps; }
  return a.island == b.island ? a.bandwidth_gbps : 0;
}

}  // namespace

Hardware hardwareOf(const kapi::SimNode& node) {
  Hardware out;
  out.driver_version = "simulated";
  for (const model::Device& d : node.devices) {
    Gpu gpu;
    gpu.uuid = d.uuid;
    gpu.model = d.model;
    gpu.memory_mib = d.memory_mib;
    gpu.pci_bus_id = fmt::format("{:08X}:{:02X}:00.0", d.id / 256, d.id % 256);
    gpu.health = d.health;
    gpu.reason = d.health_reason;
    gpu.minor = d.id;
    out.gpus.push_back(std::move(gpu));
  }
  for (std::size_t a = 0; a < node.devices.size(); ++a) {
    for (std::size_t b = a + 1; b < node.devices.size(); ++b) {
      const bool together = node.devices[a].island == node.devices[b].island;
      const std::int64_t gbps = gbpsBetween(node.devices[a], node.devices[b]);
      if (together || gbps > 0) {
        out.links.push_back({a, b, together ? LinkType::NvLink : LinkType::Pcie, gbps});
      }
    }
  }
  return out;
}

}  // namespace gs::agent
