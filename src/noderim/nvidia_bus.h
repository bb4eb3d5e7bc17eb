// Where NVIDIA's GPUs are on the bus, as the kernel has it: of one that its driver cannot name any more, the
// kernel still knows the place.
#pragma once

#include <string>
#include <vector>

namespace gs::noderim {

/// Addresses ("00000000:1B:00.0") of those that the driver `nvidia` has, ascending. None: the kernel does not
/// say. `sysfs`: /sys.
[[nodiscard]] std::vector<std::string> nvidiaGpusOnBus(const std::string& sysfs);

}  // namespace gs::noderim
