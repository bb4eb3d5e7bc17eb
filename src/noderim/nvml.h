// NVIDIA's GPUs by NVML, the library of the driver, which is loaded by name when the process runs: a machine
// without it has no driver, and nothing of ours is linked with it.
//
// What is called, and the layout of what it fills, are those of NVML 13's header on x86-64
// (https://docs.nvidia.com/deploy/nvml-api). A function that an older driver lacks, or a GPU does not
// support, leaves what it would have said unsaid. What a look cannot tell of a GPU is as it was at the last
// one that could, and the GPU is Unknown meanwhile. One that cannot say where it is on the bus, and never
// could, is where the kernel knows of one that none of the others is; else, as far as the others come in the
// order of the bus, above the one before it (agent::Gpu::above). No GPU takes another one away. When the
// driver fails as a whole it is loaded into anew at the next look.
// Bandwidth: NVLink by the speed that the driver gives per link, PCIe by generation and width; both
// directions together, so that 18 links of 26.562 GB/s are 956.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "noderim/gpu_source.h"

namespace gs::noderim {

struct NvmlCalls;
struct NvmlGpu;

class Nvml final : public GpuSource {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    std::string sysfs = "/sys";
  };
  explicit Nvml(Options options);
  ~Nvml() override;

  [[nodiscard]] agent::Look look() override;

 private:
  [[nodiscard]] tl::expected<void, agent::Fault> open();
  void close();
  /// Of the driver as a whole: it is loaded into anew at the next look.
  [[nodiscard]] tl::unexpected<agent::Fault> failed(const char* what, int code);
  [[nodiscard]] NvmlGpu read(unsigned index);
  /// Adds to what was read of it what it was before, and keeps both for the next look.
  void remember(unsigned index, std::vector<NvmlGpu>& now);
  /// Finds places for those that should have one and cannot say which.
  void place(std::vector<NvmlGpu>& gpus) const;
  /// Who it was at the looks before; nullptr: nobody knows.
  [[nodiscard]] const NvmlGpu* knownAs(unsigned index, const std::vector<NvmlGpu>& now) const;
  void watch(void* handle, const std::string& uuid);
  void takeErrors();
  [[nodiscard]] agent::Hardware hardwareOf(std::vector<NvmlGpu> gpus) const;

  const Options options_;
  std::unique_ptr<NvmlCalls> calls_;                     // nullptr: not loaded
  void* events_ = nullptr;                               // the set by which GPUs report errors; nullptr: none
  std::map<void*, std::string> watched_;                 // UUIDs by handle
  std::map<unsigned, NvmlGpu> seen_;                     // by the driver's index, when it answered last
  std::map<std::string, std::set<std::uint64_t>> xids_;  // by UUID, since the process began
};

}  // namespace gs::noderim
