// AllGpus: the GPUs of several drivers as those of one machine, in the order of the drivers.
//
// A driver that is not there has no GPUs. One that fails has those that it had when it answered last, which
// is logged once: its trouble takes no GPU of another one away. Where that leaves none at all the look is
// that fault.
// One that hangs holds up all of them, for as long as it does (poller.h says so meanwhile).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noderim/gpu_source.h"

namespace gs::noderim {

class AllGpus final : public GpuSource {
 public:
  explicit AllGpus(std::vector<std::unique_ptr<GpuSource>> drivers);

  [[nodiscard]] agent::Look look() override;

 private:
  struct Driver {
    std::unique_ptr<GpuSource> source;
    std::optional<agent::Hardware> known{};  // as it answered last; nullopt: it is not there, or never did
  };
  std::vector<Driver> drivers_;
  std::string said_;  // of one that fails; "" none does
};

/// NVIDIA's by NVML, then AMD's by rocm_smi; each by the name or path of its library, "" of AMD's tries those
/// that it has in ROCm's releases. `sysfs`: by tests another one.
[[nodiscard]] std::unique_ptr<GpuSource> gpusOfBothVendors(const std::string& nvml_library,
                                                           const std::string& rocm_library,
                                                           const std::string& sysfs = "/sys");

}  // namespace gs::noderim
