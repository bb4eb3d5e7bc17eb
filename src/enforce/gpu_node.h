// Which GPU a device node of a container belongs to: by its numbers where these are a GPU driver's, else by
// its path (drivers of which we know no number, and stand-ins). What all GPUs share is nobody's: nvidiactl,
// nvidia-uvm, nvidia-uvm-tools, nvidia-modeset, kfd.
// Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "enforce/node_record.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

inline constexpr std::int64_t kNvidiaMajor = 195;  // minors to 253; 254 and 255 are modeset and ctl
inline constexpr std::int64_t kDrmMajor = 226;     // minors from 0 are cards, from 128 render nodes
inline constexpr const char* kKfdPath = "/dev/kfd";

enum class NodeKind : std::uint8_t {
  Gpu,     // /dev/nvidia<minor>
  Render,  // /dev/dri/renderD<n>
  Card,    // /dev/dri/card<n>: which GPU's nobody can say, cards and render nodes are counted apart
  Cap,     // /dev/nvidia-caps/nvidia-cap<n>: the right to a MIG partition
};

struct GpuNode {
  NodeKind kind{};
  int number = 0;
  friend auto operator<=>(const GpuNode&, const GpuNode&) = default;
};

/// By its path: "/dev/nvidia3", "/dev/dri/renderD128".
[[nodiscard]] std::optional<GpuNode> gpuNodeAt(std::string_view path);
/// None: it is no GPU's, or a dead one.
[[nodiscard]] std::optional<GpuNode> gpuNodeOf(const rpc::nri::LinuxDevice& device);
/// Its numbers are those of a GPU driver, so that the right to them can be taken back without harm to
/// others.
[[nodiscard]] bool isOfDriver(const rpc::nri::LinuxDevice& device);

/// What stands in the place of a node that is to go: NRI cannot remove one, and puts another at its path.
/// No driver has these numbers, so whoever opens it is told that there is no such device. (Where runc binds
/// the host's nodes instead of making them, for pods with user namespaces, the cgroup's rule alone holds:
/// DeniedDevice.)
[[nodiscard]] rpc::nri::LinuxDevice deadNode(const std::string& path);

/// The node by which a container reaches that device: of NVIDIA's by minor, of AMD's the render node. None
/// where it is not known.
[[nodiscard]] std::optional<GpuNode> ownNode(const NodeDevice& device);
/// And its render node, of either vendor.
[[nodiscard]] std::optional<GpuNode> renderNode(const NodeDevice& device);

}  // namespace gs::enforce
