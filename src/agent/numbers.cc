#include "agent/numbers.h"

#include <algorithm>

namespace gs::agent {
namespace {

/// Where none has an address (a Jetson's are on no bus), the order of the list is all that there is.
bool isOnBus(const std::vector<Device>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& d) { return !d.gpu.pci_bus_id.empty(); });
}

enum class Below : std::uint8_t { No, Maybe, Yes };

/// Where `other` is, seen from `device`.
Below isBelow(const Device& other, const Device& device, bool on_bus) {
  const Gpu& a = other.gpu;
  const Gpu& b = device.gpu;
  const bool both_placed = !a.pci_bus_id.empty() && !b.pci_bus_id.empty();
  if (!on_bus || both_placed) { return other.id < device.id ? Below::Yes : Below::No; }
  if (a.pci_bus_id.empty() && b.pci_bus_id.empty()) { return Below::Maybe; }
  if (a.pci_bus_id.empty()) { return !a.above.empty() && a.above >= b.pci_bus_id ? Below::No : Below::Maybe; }
  return !b.above.empty() && b.above >= a.pci_bus_id ? Below::Yes : Below::Maybe;
}

}  // namespace

std::vector<Numbers> numbersOf(const std::vector<Device>& devices) {
  const bool on_bus = isOnBus(devices);
  std::vector<Numbers> out(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].gpu.counted == Counted::No) { continue; }
    Numbers numbers{0, 0};
    for (std::size_t k = 0; k < devices.size(); ++k) {
      const Counted how = devices[k].gpu.counted;
      const Below where = k == i || how == Counted::No ? Below::No : isBelow(devices[k], devices[i], on_bus);
      if (where == Below::No) { continue; }
      ++numbers.last;
      if (where == Below::Yes && how == Counted::Yes) { ++numbers.first; }
    }
    out[i] = numbers;
  }
  return out;
}

}  // namespace gs::agent
