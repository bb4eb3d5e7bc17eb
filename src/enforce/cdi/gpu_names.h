// Which CDI devices mean one GPU.
//
// By name: the vendor's kinds of devices that are single GPUs, and in them the GPU's UUID, its address on the
// bus or its index. Never by what means several (`all`), nor by management.nvidia.com, nor by kinds that
// others make for containers of their own.
// The names are then checked against the device nodes that the device and its file give a container: GPUs are
// /dev/nvidia<minor> of NVIDIA and /dev/dri/renderD<n> of AMD. A name with another GPU's nodes is refused. An
// index is a name only where its nodes are known to be this GPU's: drivers count anew when a GPU comes or
// goes, and files stay. (A UUID means one GPU for ever, so it may have no nodes that tell.)
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "enforce/cdi/index.h"

namespace gs::enforce::cdi {

enum class GpuVendor : std::uint8_t { Nvidia, Amd };

/// A GPU (or, by its UUID alone, a MIG partition) as its driver has it.
struct Gpu {
  GpuVendor vendor = GpuVendor::Nvidia;
  std::string uuid;           // GPU-..., MIG-...; "": not known
  std::string pci_bus_id;     // 00000000:1B:00.0; "": not known
  std::optional<int> index;   // as the driver counts
  std::optional<int> minor;   // of /dev/nvidia<minor>; of a partition, its GPU's
  std::optional<int> render;  // of /dev/dri/renderD<n>
};

struct GpuNames {
  std::vector<std::string> names;    // qualified, the surest first
  std::vector<std::string> refused;  // sentences: names that would be its own; when there are none, why
};

[[nodiscard]] GpuNames devicesOf(const Index& index, const Gpu& gpu);

}  // namespace gs::enforce::cdi
