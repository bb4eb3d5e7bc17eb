// Which GPU a program gets that was told a number.
//
// The list numbers GPUs in the order of their addresses (status.h). CUDA, with CUDA_DEVICE_ORDER=PCI_BUS_ID,
// numbers those that are there for a program that starts now. One that the driver lists no more is not among
// them; of one that it lists and calls lost nobody can say whether it is. So a number above such a GPU may
// reach another GPU than the list means. One that nobody can place may lie below any other.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/status.h"

namespace gs::agent {

/// The numbers by which it may be reached, all from first to last; none where last < first.
struct Numbers {
  int first = 0;
  int last = -1;
  friend bool operator==(const Numbers&, const Numbers&) = default;
};

/// Of each device; they are in the order of their ids, as devicesOf() gives them.
[[nodiscard]] std::vector<Numbers> numbersOf(const std::vector<Device>& devices);
/// Whether that number reaches it, and nothing else, however programs count.
[[nodiscard]] inline bool isSure(const Device& device, const Numbers& numbers) {
  return device.gpu.counted == Counted::Yes && numbers == Numbers{device.id, device.id};
}

}  // namespace gs::agent
