#include "enforce/given.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/clean_path.h"
#include "base/utf8.h"
#include "enforce/cdi/gpu_names.h"
#include "enforce/cdi_gpu.h"
#include "enforce/variables.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kMostNames = 2048;  // of one list; nobody has so many devices
constexpr std::size_t kShownName = 80;
constexpr std::size_t kMostOfAList = 128 * kMostNames;                    // bytes
constexpr const char* kDeviceListName = "nvidia-container-devices";       // of kDeviceListFolder
constexpr const char* kTooMany = "(more names than a node has devices)";  // an unknown one
constexpr const char* kCdiMounts = "cdi/";  // below kDeviceListFolder: vendor/class/device

void addUnknown(std::string_view name, Given& given) {
  if (given.unknown.size() < kMostUnknown) { given.unknown.emplace_back(utf8Prefix(name, kShownName)); }
}

bool isSet(const std::vector<std::string>& env, std::string_view key) {
  const auto value = lastOf(env, key);
  return value && !value->empty();
}

/// A list of `text` without those past the most; the rest is one unknown name. Of a text of any length no
/// more than that is taken apart.
std::vector<std::string> namesIn(std::string_view text, Given& given) {
  std::vector<std::string> out = commaList(text.substr(0, kMostOfAList));
  if (out.size() > kMostNames || text.size() > kMostOfAList) {
    out.resize(std::min(out.size(), kMostNames));
    addUnknown(kTooMany, given);
  }
  return out;
}

void readVariable(const Reading& reading, Given& given) {
  const auto value = lastOf(reading.container.env, kNvidiaVariable);
  if (!value) {
    const bool is_old_image =
        isSet(reading.container.env, "CUDA_VERSION") && !isSet(reading.container.env, "NVIDIA_REQUIRE_CUDA");
    given.wants_all = given.wants_all || is_old_image;
    return;
  }
  const std::vector<std::string> names = namesIn(*value, given);
  if (std::find(names.begin(), names.end(), kVoid) != names.end()) { return; }
  const std::size_t before = given.devices.size() + given.unknown.size();
  for (const std::string& name : names) {
    if (name == "none" || name == kDeviceListFolder) { continue; }
    if (name.find('=') == std::string::npos) {
      readName(name, reading.table, given);
    } else {
      readCdiName(name, reading.table, given);
    }
  }
  given.by_variable = given.by_variable || given.devices.size() + given.unknown.size() > before;
}

/// What a mount below the folder names: "GPU-x", or "nvidia.com/gpu=0" of "cdi/nvidia.com/gpu/0".
std::string namedByMount(std::string_view below) {
  if (!below.starts_with(kCdiMounts)) { return std::string{below}; }
  below.remove_prefix(std::string_view{kCdiMounts}.size());
  std::string out{below};
  if (const auto slash = out.rfind('/'); slash != std::string::npos) { out[slash] = '='; }
  return out;
}

void readMounts(const Reading& reading, Given& given) {
  for (const auto& mount : reading.container.mounts) {
    const auto below = listedByMount(mount.destination);
    if (!below) { continue; }
    const std::string name = namedByMount(*below);
    if (name.find('=') == std::string::npos) {
      readName(name, reading.table, given);
    } else {
      readCdiName(name, reading.table, given);
    }
    given.by_mounts = true;
  }
}

void takeOutMounts(const rpc::nri::Container& container, const Kept& kept, rpc::nri::Adjustment& adjustment) {
  const auto is_kept = [&](std::string_view below) {
    return std::find(kept.listed_uuids.begin(), kept.listed_uuids.end(), below) != kept.listed_uuids.end();
  };
  bool had_any = false;
  for (const auto& mount : container.mounts) {
    const auto below = listedByMount(mount.destination);
    if (!below) { continue; }
    had_any = true;
    if (!is_kept(*below)) { adjustment.remove_mounts.push_back(mount.destination); }
  }
  if (!had_any) { return; }
  for (const std::string& uuid : kept.listed_uuids) {
    adjustment.mounts.push_back(
        {std::string{kDeviceListFolder} + "/" + uuid, "bind", "/dev/null", {"rbind", "ro"}});
  }
}

void readAnnotations(const Reading& reading, Given& given) {
  for (const auto& [key, value] : reading.container.annotations) {
    if (!key.starts_with(kCdiAnnotations)) { continue; }
    for (const std::string& name : namesIn(value, given)) {
      given.by_cdi = readCdiName(name, reading.table, given) || given.by_cdi;
    }
  }
}

/// nvidia-container-runtime reads it too, before the variable.
void takeOutAnnotations(const rpc::nri::Container& container, const Kept& /*kept*/,
                        rpc::nri::Adjustment& adjustment) {
  for (const auto& [key, value] : container.annotations) {
    if (key.starts_with(kCdiAnnotations)) { adjustment.remove_annotations.push_back(key); }
  }
}

void readCdiRequest(const Reading& reading, Given& given) {
  for (const std::string& name : reading.container.cdi_devices) {
    given.by_cdi = readCdiName(name, reading.table, given) || given.by_cdi;
  }
}

void leaveAlone(const rpc::nri::Container& /*container*/, const Kept& /*kept*/,
                rpc::nri::Adjustment& /*adjustment*/) {}

/// The nodes that only that partition has, as its CDI device says them.
std::set<GpuNode> capsOf(const NodeDevice& partition, const cdi::Index& index) {
  std::set<GpuNode> out;
  for (const std::string& name : cdi::devicesOf(index, cdiGpu(partition)).names) {
    const auto entry = index.find(name);
    if (!entry) { continue; }
    for (const auto& node : entry->device->edits.device_nodes) {
      const auto cap = gpuNodeAt(node.path);
      if (cap && cap->kind == NodeKind::Cap) { out.insert(*cap); }
    }
    break;
  }
  return out;
}

/// All partitions of a GPU share its node. Which of them a container has is told by the nodes of their
/// rights; where no CDI file says which nodes these are, by what was named.
void readPartitions(const std::vector<const NodeDevice*>& partitions, const std::set<GpuNode>& nodes,
                    const cdi::Index& index, Given& given) {
  bool has_one = std::any_of(partitions.begin(), partitions.end(),
                             [&](const NodeDevice* one) { return given.devices.contains(one->id); });
  for (const NodeDevice* partition : partitions) {
    const std::set<GpuNode> caps = capsOf(*partition, index);
    if (caps.empty() || !std::includes(nodes.begin(), nodes.end(), caps.begin(), caps.end())) { continue; }
    given.devices.insert(partition->id);
    has_one = true;
  }
  if (!has_one) { addUnknown("a partition of GPU " + std::to_string(partitions.front()->id.gpu), given); }
}

/// A dri node that is no device's is another vendor's; a card goes where its render node goes.
bool isSurelyOurs(GpuNode node) { return node.kind == NodeKind::Gpu; }

/// `node` is to go: nothing that stays is reached by it, and CDI puts nothing else in its place.
void takeOutNode(const rpc::nri::LinuxDevice& device, GpuNode node, const Kept& kept,
                 rpc::nri::Adjustment& adjustment) {
  if (kept.nodes.contains(node)) { return; }
  if (!kept.paths.contains(device.path)) { adjustment.devices.push_back(deadNode(device.path)); }
  if (isOfDriver(device)) { adjustment.denied_devices.push_back({device.type, device.major, device.minor}); }
}

void takeOutNodes(const rpc::nri::Container& container, const Kept& kept, rpc::nri::Adjustment& adjustment) {
  if (kept.is_privileged) { return; }
  for (const auto& device : container.devices) {
    if (const auto node = gpuNodeOf(device)) { takeOutNode(device, *node, kept, adjustment); }
  }
}

constexpr std::array<Strategy, 5> kStrategies{{
    {"envvar", true, readVariable, leaveAlone},
    {"volume-mounts", true, readMounts, takeOutMounts},
    {"cdi-annotations", false, readAnnotations, takeOutAnnotations},
    {"cdi-cri", false, readCdiRequest, leaveAlone},
    {"device nodes", true, readNodes, takeOutNodes},  // the last: it asks which partitions the others named
}};

}  // namespace

std::optional<std::string> listedByMount(const std::string& destination) {
  if (destination.find(kDeviceListName) == std::string::npos) { return std::nullopt; }  // nearly all
  std::string path = cleanedPath(destination);
  if (!path.starts_with(kDeviceListFolder)) { return std::nullopt; }
  path.erase(0, std::string_view{kDeviceListFolder}.size());
  if (path.starts_with('/')) { path.erase(0, 1); }  // it reads one without that, too
  return path.empty() ? std::nullopt : std::optional{std::move(path)};
}

void readNodes(const Reading& reading, Given& given) {
  if (reading.is_privileged) { return; }
  std::set<GpuNode> nodes;
  for (const auto& device : reading.container.devices) {
    if (const auto node = gpuNodeOf(device)) { nodes.insert(*node); }
  }
  for (const GpuNode node : nodes) {
    const auto& devices = reading.table.byNode(node);
    if (devices.empty()) {
      if (isSurelyOurs(node)) { addUnknown("/dev/nvidia" + std::to_string(node.number), given); }
      continue;
    }
    given.by_nodes = true;
    if (devices.front()->id.isWhole()) {
      given.devices.insert(devices.front()->id);
    } else {
      readPartitions(devices, nodes, reading.index, given);
    }
  }
}

void readName(std::string_view name, const DeviceTable& table, Given& given) {
  if (name == "all") {
    given.wants_all = true;
  } else if (const NodeDevice* device = table.byName(name)) {
    given.devices.insert(device->id);
  } else {
    addUnknown(name, given);
  }
}

bool readCdiName(std::string_view name, const DeviceTable& table, Given& given) {
  const auto parsed = cdi::parseQualifiedName(name);
  if (!parsed) { return false; }
  const auto& [vendor, device_class] = parsed->kind;
  const bool is_gpu = (vendor.ends_with("nvidia.com") || vendor == "amd.com") &&
                      (device_class == "gpu" || device_class == "mig");
  if (is_gpu) { readName(parsed->device, table, given); }
  return is_gpu;
}

const std::array<Strategy, 5>& strategies() { return kStrategies; }

Given given(const Reading& reading) {
  Given out;
  for (const Strategy& strategy : kStrategies) { strategy.read(reading, out); }
  return out;
}

Given givenInTheEnd(const Reading& reading) {
  Given out;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.is_final) { strategy.read(reading, out); }
  }
  return out;
}

bool isPrivileged(const rpc::nri::Container& container) {
  return std::any_of(container.mounts.begin(), container.mounts.end(), [](const auto& mount) {
    const auto has = [&](const char* option) {
      return std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
    };
    return mount.destination == "/sys" && mount.type == "sysfs" && has("rw") && !has("ro");
  });
}

}  // namespace gs::enforce
