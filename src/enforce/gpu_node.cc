#include "enforce/gpu_node.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gs::enforce {
namespace {

constexpr std::int64_t kMostNvidiaMinor = 253;
constexpr std::int64_t kFirstRender = 128;
constexpr std::int64_t kMostDrmMinor = 255;
constexpr std::int64_t kMemoryMajor = 1;  // null, zero, full; its minor 0 is nothing
constexpr std::uint32_t kOwnerOnly = 0600;
constexpr std::size_t kMostDigits = 6;

struct Stem {
  std::string_view begins;
  NodeKind kind;
};
constexpr std::array kStems{Stem{"/dev/nvidia", NodeKind::Gpu}, Stem{"/dev/dri/renderD", NodeKind::Render},
                            Stem{"/dev/dri/card", NodeKind::Card},
                            Stem{"/dev/nvidia-caps/nvidia-cap", NodeKind::Cap}};

std::optional<int> wholeNumber(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > kMostDigits || !digits) { return std::nullopt; }
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::optional<GpuNode> byNumbers(const rpc::nri::LinuxDevice& device) {
  if (device.type != "c" || device.minor < 0) { return std::nullopt; }
  if (device.major == kNvidiaMajor && device.minor <= kMostNvidiaMinor) {
    return GpuNode{NodeKind::Gpu, static_cast<int>(device.minor)};
  }
  if (device.major != kDrmMajor || device.minor > kMostDrmMinor) { return std::nullopt; }
  return GpuNode{device.minor >= kFirstRender ? NodeKind::Render : NodeKind::Card,
                 static_cast<int>(device.minor)};
}

bool isDead(const rpc::nri::LinuxDevice& device) {
  return device.type == "c" && device.major == kMemoryMajor && device.minor == 0;
}

}  // namespace

std::optional<GpuNode> gpuNodeAt(std::string_view path) {
  for (const Stem& stem : kStems) {
    if (!path.starts_with(stem.begins)) { continue; }
    if (const auto number = wholeNumber(path.substr(stem.begins.size()))) {
      return GpuNode{stem.kind, *number};
    }
  }
  return std::nullopt;
}

std::optional<GpuNode> gpuNodeOf(const rpc::nri::LinuxDevice& device) {
  if (isDead(device)) { return std::nullopt; }
  const auto known = byNumbers(device);
  return known ? known : gpuNodeAt(device.path);
}

bool isOfDriver(const rpc::nri::LinuxDevice& device) {
  if (byNumbers(device)) { return true; }
  const auto node = gpuNodeAt(device.path);  // the major of caps is given out when the driver is loaded
  return node && node->kind == NodeKind::Cap && device.type == "c" && device.major > kMemoryMajor;
}

rpc::nri::LinuxDevice deadNode(const std::string& path) {
  rpc::nri::LinuxDevice out;
  out.path = path;
  out.type = "c";
  out.major = kMemoryMajor;
  out.minor = 0;
  out.file_mode = kOwnerOnly;
  return out;
}

std::optional<GpuNode> renderNode(const NodeDevice& device) {
  const auto node = gpuNodeAt(device.render_node);
  return node && node->kind == NodeKind::Render ? node : std::nullopt;
}

std::optional<GpuNode> ownNode(const NodeDevice& device) {
  if (device.vendor == model::Vendor::Amd) { return renderNode(device); }
  if (device.minor < 0) { return std::nullopt; }
  return GpuNode{NodeKind::Gpu, device.minor};
}

}  // namespace gs::enforce
