#include "agent/hardware.h"

namespace gs::agent {

bool isSame(const Gpu& a, const Gpu& b) {
  if (!a.uuid.empty() && !b.uuid.empty()) { return a.uuid == b.uuid; }
  return !a.pci_bus_id.empty() && a.pci_bus_id == b.pci_bus_id;
}

void fillInWhatItIs(Gpu& gpu, const Gpu& before) {
  const auto text = [](std::string& to, const std::string& from) {
    if (to.empty()) { to = from; }
  };
  // Without an address nobody could have asked for the place of it.
  if (gpu.pci_bus_id.empty() || gpu.numa_node < 0) { gpu.numa_node = before.numa_node; }
  text(gpu.uuid, before.uuid);
  text(gpu.model, before.model);
  text(gpu.pci_bus_id, before.pci_bus_id);
  text(gpu.compute, before.compute);
  text(gpu.render_node, before.render_node);
  if (gpu.memory_mib == 0) { gpu.memory_mib = before.memory_mib; }
  if (gpu.minor < 0) { gpu.minor = before.minor; }
}

}  // namespace gs::agent
