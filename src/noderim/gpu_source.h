// GpuSource: where looks at the GPUs of this machine come from: NVML (nvml.h), rocm_smi (rocm.h), both
// (all_gpus.h), or a node file (simulated_gpus.h).
#pragma once

#include "agent/hardware.h"

namespace gs::noderim {

/// A driver that counts more of them is not believed.
inline constexpr unsigned kMostGpus = 1024;

class GpuSource {
 public:
  virtual ~GpuSource() = default;
  /// May take as long as it likes, for ever too. From one thread at a time.
  [[nodiscard]] virtual agent::Look look() = 0;
};

}  // namespace gs::noderim
