// A node for the tests of this folder: GPUs and partitions, their CDI file, what a device plugin does to a
// container in each of its strategies; and a slow model of what makes a container of an adjustment: NRI, CDI,
// and nvidia-container-runtime after them. The model shares nothing with what it judges but the values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "enforce/cdi/index.h"
#include "enforce/node_record.h"
#include "enforce/plan.h"
#include "enforce/told_file.h"
#include "model/annotations.h"

namespace gs::enforce::fixture {

using Ids = std::vector<model::DeviceId>;
using Numbers = std::pair<std::int64_t, std::int64_t>;  // major, minor

inline constexpr std::int64_t kCapMajor = 240;
inline constexpr const char* kNode = "node-a";

inline model::DeviceId gpu(int id) { return {id, model::DeviceId::kWhole}; }

/// GPU 0 .. `gpus`-1 of NVIDIA, whose minors are not their ids; the last one has partitions 0 and 1.
inline std::vector<NodeDevice> devicesOfNode(int gpus, bool is_last_split) {
  std::vector<NodeDevice> out;
  for (int id = 0; id < gpus; ++id) {
    NodeDevice device;
    device.id = gpu(id);
    device.uuid = "GPU-" + std::to_string(id);
    device.minor = gpus - 1 - id;
    device.render_node = "/dev/dri/renderD" + std::to_string(128 + id);
    out.push_back(device);
    if (!is_last_split || id != gpus - 1) { continue; }
    for (int partition = 0; partition < 2; ++partition) {
      NodeDevice part = device;
      part.id = {id, partition};
      part.uuid = "MIG-" + std::to_string(id) + "-" + std::to_string(partition);
      out.push_back(part);
    }
  }
  return out;
}

inline cdi::DeviceNode nodeOf(const std::string& path, std::int64_t major, std::int64_t minor) {
  cdi::DeviceNode out;
  out.path = path;
  out.type = "c";
  out.major = major;
  out.minor = minor;
  return out;
}

/// As nvidia-ctk writes them: what a container gets with one device.
inline std::vector<cdi::DeviceNode> nodesOf(const NodeDevice& device) {
  std::vector<cdi::DeviceNode> out{nodeOf("/dev/nvidia" + std::to_string(device.minor), 195, device.minor)};
  if (device.id.isWhole()) {
    const int render = std::stoi(device.render_node.substr(std::string{"/dev/dri/renderD"}.size()));
    out.push_back(nodeOf(device.render_node, 226, render));
  } else {
    const int cap = 10 * device.id.gpu + device.id.partition;
    out.push_back(nodeOf("/dev/nvidia-caps/nvidia-cap" + std::to_string(cap), kCapMajor, cap));
  }
  return out;
}

inline cdi::SpecPtr vendorSpec(const std::vector<NodeDevice>& devices, bool says_void) {
  auto spec = std::make_shared<cdi::Spec>();
  spec->file = "/var/run/cdi/nvidia.json";
  spec->version = "0.6.0";
  spec->kind = {"nvidia.com", "gpu"};
  if (says_void) { spec->edits.env = {"NVIDIA_VISIBLE_DEVICES=void"}; }
  spec->edits.device_nodes = {nodeOf("/dev/nvidiactl", 195, 255)};
  for (const NodeDevice& device : devices) {
    cdi::Device named;
    named.name = device.uuid;
    named.edits.device_nodes = nodesOf(device);
    spec->devices.push_back(named);
  }
  return spec;
}

struct HasFiles {
  bool vendor = true;
  bool told = true;
  bool says_void = true;
};
/// Ours, read once.
inline const cdi::SpecPtr& toldSpec() {
  static const cdi::SpecPtr spec = [] {
    const auto read = cdi::readSpec("/var/run/cdi/told.json", toldFile());
    EXPECT_TRUE(read) << read.error().message;
    return std::make_shared<const cdi::Spec>(*read);
  }();
  return spec;
}
inline cdi::Index indexOf(const std::vector<NodeDevice>& devices, HasFiles has) {
  std::vector<cdi::SpecFile> files;
  if (has.vendor) { files.push_back({0, vendorSpec(devices, has.says_void)}); }
  if (has.told) { files.push_back({0, toldSpec()}); }
  return cdi::Index{files};
}

inline RuntimeFacts newRuntime() {
  RuntimeFacts out;
  out.injects_cdi = true;
  return out;
}

/// A node in which everything is known.
struct Node {
  NodeRecord record;
  cdi::Index index;
  RuntimeFacts facts = newRuntime();
  Containers containers;

  explicit Node(int gpus = 4, bool is_last_split = false) {
    record.node = kNode;
    record.devices = devicesOfNode(gpus, is_last_split);
    record.knows_pods = true;
    record.version = 1;
    index = indexOf(record.devices, {});
  }

  void holds(const std::string& pod, Ids devices, bool is_shared = false) {
    Holding holding;
    holding.hold = Hold::Verified;
    holding.is_shared = is_shared;
    for (const model::DeviceId id : devices) { record.held.emplace(id, model::Uid{pod}); }
    holding.devices = std::move(devices);
    record.holdings[model::Uid{pod}] = std::move(holding);
  }
  [[nodiscard]] Planned planOf(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) const {
    return plan({pod, container}, {record, index, facts, containers});
  }
  [[nodiscard]] const NodeDevice& device(model::DeviceId id) const {
    return *std::find_if(record.devices.begin(), record.devices.end(),
                         [&](const NodeDevice& one) { return one.id == id; });
  }
};

/// Its uid is its name. `said`: its annotation, "" none.
inline rpc::nri::PodSandbox podOf(const std::string& name, const std::string& said = "") {
  rpc::nri::PodSandbox out;
  out.id = "sandbox-" + name;
  out.name = name;
  out.uid = name;
  out.ns = "ns";
  if (!said.empty()) { out.annotations[model::kAllocatedKey] = said; }
  return out;
}

inline rpc::nri::Container containerOf(const std::string& id, std::vector<std::string> env = {}) {
  rpc::nri::Container out;
  out.id = id;
  out.name = "main";
  out.env = std::move(env);
  out.mounts = {{"/sys", "sysfs", "sysfs", {"nosuid", "ro"}}};
  return out;
}
inline void makePrivileged(rpc::nri::Container& container) {
  container.mounts.front().options = {"nosuid", "rw"};
}

inline void putNode(const cdi::DeviceNode& node, rpc::nri::Container& container) {
  rpc::nri::LinuxDevice device;
  device.path = node.path;
  device.type = node.type;
  device.major = node.major;
  device.minor = node.minor;
  std::erase_if(container.devices, [&](const auto& there) { return there.path == node.path; });
  container.devices.push_back(device);
}

// ---- What a device plugin does, and containerd with its answer before NRI is asked.
enum class Plugin { None, Envvar, VolumeMounts, CdiAnnotations, CdiCri, DeviceSpecs };
inline constexpr Plugin kPlugins[] = {Plugin::Envvar, Plugin::VolumeMounts, Plugin::CdiAnnotations,
                                      Plugin::CdiCri, Plugin::DeviceSpecs};
inline const char* nameOf(Plugin plugin) {
  constexpr const char* kNames[] = {"None",           "Envvar", "VolumeMounts",
                                    "CdiAnnotations", "CdiCri", "DeviceSpecs"};
  return kNames[static_cast<int>(plugin)];
}

inline void pluginGives(Plugin plugin, const std::vector<NodeDevice>& devices,
                        rpc::nri::Container& container) {
  std::string uuids;
  std::string cdi_names;
  for (const NodeDevice& device : devices) {
    uuids += (uuids.empty() ? "" : ",") + device.uuid;
    cdi_names += (cdi_names.empty() ? "nvidia.com/gpu=" : ",nvidia.com/gpu=") + device.uuid;
  }
  const bool is_cdi = plugin == Plugin::CdiAnnotations || plugin == Plugin::CdiCri;
  if (plugin == Plugin::Envvar || plugin == Plugin::DeviceSpecs) {
    container.env.push_back("NVIDIA_VISIBLE_DEVICES=" + uuids);
  }
  if (plugin == Plugin::VolumeMounts) {
    container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices");
    for (const NodeDevice& device : devices) {
      container.mounts.push_back(
          {"/var/run/nvidia-container-devices/" + device.uuid, "bind", "/dev/null", {"rbind"}});
    }
  }
  if (plugin == Plugin::CdiAnnotations) {
    container.annotations["cdi.k8s.io/nvidia-device-plugin_1"] = cdi_names;
  }
  if (is_cdi || plugin == Plugin::DeviceSpecs) {
    for (const NodeDevice& device : devices) {
      for (const auto& node : nodesOf(device)) { putNode(node, container); }
    }
    putNode(nodeOf("/dev/nvidiactl", 195, 255), container);
  }
  if (!is_cdi) { return; }
  std::erase_if(container.env, [](const auto& line) { return line.starts_with("NVIDIA_VISIBLE_DEVICES="); });
  container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
}

// ---- What comes of it.
struct Made {
  std::map<std::string, std::string> env;
  std::map<std::string, Numbers> nodes;  // by path
  std::set<Numbers> rights;              // what it may open, if it makes the node
  std::map<std::string, std::string> mounts;
  std::map<std::string, std::string> annotations;
  std::set<std::string> told_by_runtime;  // what nvidia-container-runtime injects: UUIDs, or "all"
};

inline void applyEdits(const cdi::Edits& edits, Made& made) {
  for (const std::string& line : edits.env) {
    const auto equals = line.find('=');
    made.env[line.substr(0, equals)] = line.substr(equals + 1);
  }
  for (const auto& node : edits.device_nodes) {
    made.nodes[node.path] = {node.major, node.minor};
    made.rights.insert({node.major, node.minor});
  }
}

/// NRI 0.11: the first of a name is replaced, and then the last one counts; what is not there is added.
inline void applyEnv(const std::vector<std::string>& env, const rpc::nri::Adjustment& adjustment,
                     Made& made) {
  std::map<std::string, std::string> changes;
  for (const auto& [key, value] : adjustment.env) {
    EXPECT_TRUE(changes.emplace(key, value).second) << "NRI refuses a variable that is set twice: " << key;
  }
  for (const std::string& line : env) {
    const auto equals = line.find('=');
    const std::string key = line.substr(0, equals);
    const auto change = changes.find(key);
    made.env[key] = change == changes.end() ? line.substr(equals + 1) : change->second;
    if (change != changes.end()) { changes.erase(change); }
  }
  for (const auto& [key, value] : changes) { made.env[key] = value; }
}

inline void applyCdi(const rpc::nri::Adjustment& adjustment, const cdi::Index& index, bool injects,
                     Made& made) {
  EXPECT_TRUE(injects || adjustment.cdi_devices.empty()) << "this runtime drops CDI devices";
  std::set<std::string> files;
  std::set<std::string> names;
  for (const std::string& name : adjustment.cdi_devices) {
    EXPECT_TRUE(names.insert(name).second) << "NRI refuses a CDI device that comes twice: " << name;
    const auto entry = index.find(name);
    ASSERT_TRUE(entry) << entry.error().message;
    if (files.insert(entry->spec->file).second) { applyEdits(entry->spec->edits, made); }
    applyEdits(entry->device->edits, made);
  }
}

inline void applyNodes(const rpc::nri::Adjustment& adjustment, Made& made) {
  EXPECT_TRUE(adjustment.remove_devices.empty()) << "NRI forgets it";
  std::set<std::string> paths;
  for (const auto& device : adjustment.devices) {
    EXPECT_TRUE(paths.insert(device.path).second) << "NRI refuses a path that comes twice: " << device.path;
    made.nodes[device.path] = {device.major, device.minor};
    made.rights.insert({device.major, device.minor});
  }
  for (const auto& denied : adjustment.denied_devices) {
    EXPECT_GT(denied.major, 5) << "null, zero and terminals stay";
    EXPECT_NE((Numbers{denied.major, denied.minor}), (Numbers{195, 255})) << "nvidiactl stays";
    made.rights.erase({denied.major, denied.minor});
  }
}

inline void applyMounts(const rpc::nri::Adjustment& adjustment, Made& made) {
  for (const auto& gone : adjustment.remove_mounts) { made.mounts.erase(gone); }
  for (const auto& mount : adjustment.mounts) { made.mounts[mount.destination] = mount.source; }
}

/// Mode "cdi": annotations, then mounts, then the variable.
inline void runNvidiaRuntime(Made& made) {
  const auto add = [&](std::string names) {
    for (std::size_t at = 0; at <= names.size();) {
      const auto end = std::min(names.find(',', at), names.size());
      const std::string name = names.substr(at, end - at);
      const auto equals = name.find('=');
      made.told_by_runtime.insert(equals == std::string::npos ? name : name.substr(equals + 1));
      at = end + 1;
    }
  };
  for (const auto& [key, value] : made.annotations) {
    if (key.starts_with("cdi.k8s.io/")) { add(value); }
  }
  if (!made.told_by_runtime.empty()) { return; }
  const std::string folder = "/var/run/nvidia-container-devices/";
  for (const auto& [destination, source] : made.mounts) {
    const std::string clean = std::filesystem::path{destination}.lexically_normal().string();
    if (clean.starts_with(folder)) { add(clean.substr(folder.size())); }
  }
  if (!made.told_by_runtime.empty()) { return; }
  const auto it = made.env.find("NVIDIA_VISIBLE_DEVICES");
  if (it != made.env.end()) {
    add(it->second);
  } else if (made.env.contains("CUDA_VERSION")) {
    add("all");
  }
}

struct Runtime {
  bool injects_cdi = true;
  bool is_nvidia = false;
};
inline Made madeOf(const rpc::nri::Container& container, const rpc::nri::Adjustment& adjustment,
                   const cdi::Index& index, Runtime runtime) {
  Made out;
  out.annotations = container.annotations;
  for (const auto& key : adjustment.remove_annotations) { out.annotations.erase(key); }
  for (const auto& [key, value] : adjustment.annotations) { out.annotations[key] = value; }
  for (const auto& mount : container.mounts) { out.mounts[mount.destination] = mount.source; }
  for (const auto& device : container.devices) {
    out.nodes[device.path] = {device.major, device.minor};
    out.rights.insert({device.major, device.minor});
  }
  applyEnv(container.env, adjustment, out);
  applyCdi(adjustment, index, runtime.injects_cdi, out);
  applyNodes(adjustment, out);
  applyMounts(adjustment, out);
  if (runtime.is_nvidia) { runNvidiaRuntime(out); }
  return out;
}

/// The devices that its processes can open: by the rights of its cgroup, or by what the runtime brings in.
inline std::set<model::DeviceId> visible(const Made& made, const std::vector<NodeDevice>& devices) {
  std::set<model::DeviceId> out;
  const bool all = made.told_by_runtime.contains("all");
  std::set<int> split;
  for (const NodeDevice& device : devices) {
    if (!device.id.isWhole()) { split.insert(device.id.gpu); }
  }
  for (const NodeDevice& device : devices) {
    const bool is_parent = device.id.isWhole() && split.contains(device.id.gpu);
    const auto nodes = nodesOf(device);
    const auto can_open = [&](const cdi::DeviceNode& node) {
      return made.rights.contains({node.major, node.minor});
    };
    // A partition needs its GPU's node and its own right; of a GPU any node is enough.
    const bool opens = device.id.isWhole() ? std::any_of(nodes.begin(), nodes.end(), can_open)
                                           : std::all_of(nodes.begin(), nodes.end(), can_open);
    const bool is_told = made.told_by_runtime.contains(device.uuid) ||
                         made.told_by_runtime.contains(std::to_string(device.id.gpu));
    if ((opens || is_told || all) && !is_parent) { out.insert(device.id); }
  }
  return out;
}

}  // namespace gs::enforce::fixture
