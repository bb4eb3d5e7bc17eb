// AMD's GPUs by rocm_smi, a library of ROCm, which is loaded by name when the process runs: a machine without
// it has none of them. One whose kernel lists none (kfd.h) does not load it.
//
// What is called are functions that rocm_smi of ROCm 5 to 7 has
// (https://rocm.docs.amd.com/projects/rocm_smi_lib); for which code a GPU is says the kernel.
// Each look begins and leaves rocm_smi, which lists GPUs when it begins only. What it cannot tell of a GPU is
// left unsaid; one that cannot say where it is on the bus is Unknown, and takes no other one away.
// A GPU that is split into partitions is as many GPUs, at addresses that differ in their last digit.
// Health, memory errors and links are not asked for: no GPU of AMD's is given to pods here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "noderim/gpu_source.h"
#include "noderim/kfd.h"

namespace gs::noderim {

struct RocmCalls;

class Rocm final : public GpuSource {
 public:
  struct Options {
    std::string library{};  // "": the names that it has in ROCm's releases, the newest first
    std::string sysfs = "/sys";
  };
  explicit Rocm(Options options);
  ~Rocm() override;

  [[nodiscard]] agent::Look look() override;

 private:
  [[nodiscard]] tl::expected<void, agent::Fault> load();
  [[nodiscard]] agent::Look readAll(const std::vector<KfdGpu>& known);
  [[nodiscard]] agent::Gpu read(std::uint32_t index, const std::vector<KfdGpu>& known);
  [[nodiscard]] std::string driverVersion() const;

  const Options options_;
  std::string loaded_;                // its name
  std::unique_ptr<RocmCalls> calls_;  // nullptr: not loaded
};

}  // namespace gs::noderim
