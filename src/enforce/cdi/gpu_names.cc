#include "enforce/cdi/gpu_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace gs::enforce::cdi {
namespace {

constexpr std::int64_t kNvidiaMajor = 195;      // of its GPUs, /dev/nvidiactl and /dev/nvidia-modeset
constexpr std::int64_t kMostNvidiaMinor = 253;  // those two are 255 and 254
constexpr std::size_t kMostDigits = 5;
constexpr const char* kMakeAnew = "let the vendor's tool write the file anew (nvidia-ctk cdi generate)";

/// The kinds whose devices are single GPUs, in the order in which they are preferred.
std::vector<std::string> kindsOf(GpuVendor vendor) {
  if (vendor == GpuVendor::Amd) { return {"amd.com/gpu"}; }
  return {"k8s.device-plugin.nvidia.com/gpu", "nvidia.com/gpu"};
}

/// 3 of "/dev/nvidia3" and "nvidia".
std::optional<int> numberIn(std::string_view path, std::string_view stem) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with(stem)) { return std::nullopt; }
  file.remove_prefix(stem.size());
  int out = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), out);
  const bool is_number = error == std::errc{} && end == file.data() + file.size() && file.front() != '-';
  return is_number && file.size() <= kMostDigits ? std::optional{out} : std::nullopt;
}

/// Which GPU's it is: by what it is on the host, and where that does not tell, by what it is called inside.
std::optional<int> gpuOf(const DeviceNode& node, std::string_view stem) {
  const auto on_host = numberIn(node.onHost(), stem);
  return on_host ? on_host : numberIn(node.path, stem);
}

/// The GPUs whose device nodes a container gets.
struct NodeNumbers {
  std::set<int> nvidia;
  std::set<int> render;
};

void note(const Edits& edits, NodeNumbers& into) {
  for (const DeviceNode& node : edits.device_nodes) {
    if (node.major == kNvidiaMajor && node.minor <= kMostNvidiaMinor) {
      into.nvidia.insert(static_cast<int>(node.minor));
    }
    if (const auto minor = gpuOf(node, "nvidia")) { into.nvidia.insert(*minor); }
    if (const auto render = gpuOf(node, "renderD")) { into.render.insert(*render); }
  }
}

/// The first that is not `own`.
std::optional<int> otherThan(const std::set<int>& numbers, int own) {
  const auto it = std::find_if(numbers.begin(), numbers.end(), [&](int one) { return one != own; });
  return it == numbers.end() ? std::nullopt : std::optional{*it};
}

enum class NamedBy : std::uint8_t { Identity, Index };

struct Candidate {
  std::string device;
  NamedBy by{};
};

std::vector<Candidate> candidatesOf(const Gpu& gpu) {
  std::vector<Candidate> out;
  if (!gpu.uuid.empty()) { out.push_back({gpu.uuid, NamedBy::Identity}); }
  const std::string& pci = gpu.pci_bus_id;
  if (!pci.empty()) {
    constexpr std::string_view kLongDomain = "0000";  // drivers write eight digits, the kernel four
    const std::string brief =
        pci.starts_with(kLongDomain) && pci.find(':') == 8 ? pci.substr(kLongDomain.size()) : pci;
    for (const std::string& one : {brief, inLowerCase(brief), pci, inLowerCase(pci)}) {
      const auto is_it = [&](const Candidate& known) { return known.device == one; };
      if (std::none_of(out.begin(), out.end(), is_it)) { out.push_back({one, NamedBy::Identity}); }
    }
  }
  if (gpu.index) {
    out.push_back({fmt::format("{}", *gpu.index), NamedBy::Index});
    out.push_back({fmt::format("gpu{}", *gpu.index), NamedBy::Index});
  }
  return out;
}

/// Why that device is not this GPU, or not surely; "": it is.
std::string against(const Entry& entry, const Gpu& gpu, NamedBy by) {
  NodeNumbers nodes;
  note(entry.spec->edits, nodes);
  note(entry.device->edits, nodes);
  const bool is_amd = gpu.vendor == GpuVendor::Amd;
  if (is_amd && !nodes.nvidia.empty()) { return "it has device nodes of NVIDIA's"; }
  if (!is_amd && gpu.minor) {
    const auto other = otherThan(nodes.nvidia, *gpu.minor);
    if (other) { return fmt::format("it has /dev/nvidia{} of another GPU", *other); }
  }
  if (gpu.render) {
    const auto other = otherThan(nodes.render, *gpu.render);
    if (other) { return fmt::format("it has /dev/dri/renderD{} of another GPU", *other); }
  }
  const auto& telling = is_amd ? nodes.render : nodes.nvidia;
  const bool is_known = is_amd ? gpu.render.has_value() : gpu.minor.has_value();
  if (telling.size() > 1) { return fmt::format("it has the device nodes of {} GPUs", telling.size()); }
  if (by == NamedBy::Index && (telling.empty() || !is_known)) {
    return "nothing shows that this index is that GPU's";
  }
  return "";
}

std::string labelOf(const Gpu& gpu) {
  if (!gpu.uuid.empty()) { return gpu.uuid; }
  if (!gpu.pci_bus_id.empty()) { return gpu.pci_bus_id; }
  return gpu.index ? fmt::format("{}", *gpu.index) : "without a name";
}

}  // namespace

GpuNames devicesOf(const Index& index, const Gpu& gpu) {
  GpuNames out;
  const auto kinds = kindsOf(gpu.vendor);
  std::vector<std::string> by_index;
  for (const std::string& kind : kinds) {
    for (const Candidate& candidate : candidatesOf(gpu)) {
      const std::string name = fmt::format("{}={}", kind, candidate.device);
      const auto entry = index.find(name);
      if (!entry) {
        if (entry.error().code == Code::Conflict) { out.refused.push_back(entry.error().message); }
        continue;
      }
      const std::string why = against(*entry, gpu, candidate.by);
      if (why.empty()) {
        (candidate.by == NamedBy::Index ? by_index : out.names).push_back(name);
      } else {
        out.refused.push_back(fmt::format("CDI device {} of {} is not used for GPU {}: {}; {}", name,
                                          entry->spec->file, labelOf(gpu), why, kMakeAnew));
      }
    }
  }
  out.names.insert(out.names.end(), by_index.begin(), by_index.end());
  if (out.names.empty() && out.refused.empty()) {
    out.refused.push_back(fmt::format("no CDI device of {} is named after GPU {}; {}",
                                      fmt::join(kinds, " or "), labelOf(gpu), kMakeAnew));
  }
  return out;
}

}  // namespace gs::enforce::cdi
