// GpuSource: where looks at the GPUs of this machine come from: NVML (nvml.h), or a node file
// (simulated_gpus.h).
#pragma once

#include "agent/hardware.h"

namespace gs::noderim {

class GpuSource {
 public:
  virtual ~GpuSource() = default;
  /// May take as long as it likes, for ever too. From one thread at a time.
  [[nodiscard]] virtual agent::Look look() = 0;
};

}  // namespace gs::noderim
