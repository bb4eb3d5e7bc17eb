// Amounts of a node's or a pod's ordinary resources, in whole units that never lose a digit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gs::model {

/// cpu in milli, memory and ephemeral storage in bytes, everything else in whole units by its full name
/// (`nvidia.com/gpu`, `hugepages-2Mi` in bytes). A zero in `extended` is never stored.
struct Resources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral = 0;
  std::map<std::string, std::int64_t> extended;

  Resources& operator+=(const Resources& o);
  Resources& operator-=(const Resources& o);
  /// The larger of each.
  void raiseTo(const Resources& o);
  [[nodiscard]] std::int64_t get(const std::string& extended_name) const;
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Whole GPUs, as NVIDIA's device plugin offers them.
inline constexpr const char* kNvidiaGpu = "nvidia.com/gpu";
/// Shares of GPUs, as gpu-manager offers them: 100 are one GPU.
inline constexpr const char* kVcudaCore = "tencent.com/vcuda-core";
/// And their memory: 1 is 256 MiB.
inline constexpr const char* kVcudaMemory = "tencent.com/vcuda-memory";

/// Resources by which conventions give GPUs by shares: a node's capacity of them is read, which its
/// allocatable may hide. A convention finds its own by shareResource().
inline constexpr std::array<const char*, 2> kShareResources{kVcudaCore, kVcudaMemory};
using ShareAmounts = std::array<std::int64_t, kShareResources.size()>;
[[nodiscard]] consteval std::size_t shareResource(std::string_view name) {
  std::size_t i = 0;
  while (kShareResources[i] != name) { ++i; }
  return i;
}
/// Resources by which pods ask for GPUs in any way.
inline constexpr std::array<const char*, 3> kGpuResources{kNvidiaGpu, kVcudaCore, kVcudaMemory};

}  // namespace gs::model
