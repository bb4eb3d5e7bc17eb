// For which code AMD's GPUs are, as the kernel's driver of their compute units (KFD) says it of each node of
// its topology (/sys/class/kfd/kfd/topology/nodes/*/properties, a line "key value" for each number). rocm_smi
// takes it from there too, and older versions of it do not tell, or tell other digits.
// In a container without the GPU's device file the kernel lets nobody read that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gs::noderim {

struct KfdGpu {
  std::uint64_t domain = 0;    // of PCI
  std::uint64_t location = 0;  // bus, device and function, as PCI packs them: 8, 5 and 3 bits
  std::string arch;            // gfx90a
  friend bool operator==(const KfdGpu&, const KfdGpu&) = default;
};

/// "gfx90a" of 90010: major, minor and step of two decimal digits each, of which the last two become one
/// hexadecimal digit; nullopt: no GPU has that.
[[nodiscard]] std::optional<std::string> gfxNameOf(std::uint64_t version);
/// nullopt: it is of a processor, or of a kernel that does not say the version.
[[nodiscard]] std::optional<KfdGpu> kfdGpuIn(std::string_view properties);
/// In no order; those that may not be read are left out. `sysfs`: /sys.
[[nodiscard]] std::vector<KfdGpu> kfdGpus(const std::string& sysfs);

}  // namespace gs::noderim
