#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/sort_unique.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/quantity.h"
#include "kapi/time.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr std::size_t kMostUsers = 256;  // of one device; of all of a node 1,024: 64 of each of 16 GPUs
constexpr std::size_t kMostUsersOfNode = 1024;
constexpr std::int64_t kMost =
    std::numeric_limits<std::int64_t>::max() / 4096;  // sums of these do not overflow

model::Health healthOf(std::string_view text) {
  if (text == "Healthy") { return model::Health::Healthy; }
  return text == "Unhealthy" ? model::Health::Unhealthy : model::Health::Unknown;
}

model::Device deviceOf(const View& v) {
  model::Device d;
  d.id = static_cast<int>(bounded(v["id"], model::kMaxDeviceId, -1));
  d.uuid = text(v["uuid"]);
  d.model = text(v["model"]);
  d.pci_bus_id = text(v["pciBusId"]);
  d.memory_mib = bounded(v["memoryMiB"], kMost);
  d.health = healthOf(v["health"].str());
  d.health_reason = text(v["healthReason"]);
  d.island = text(v["island"]);
  d.bandwidth_gbps = bounded(v["bandwidthGBps"], kMost);
  for (const View link : v["links"].items()) {
    const auto to = bounded(link["to"], model::kMaxDeviceId, -1);
    if (to >= 0) { d.links.push_back({static_cast<int>(to), bounded(link["gbps"], kMost)}); }
  }
  d.partitioned = !v["partitions"].items().empty();
  d.id_moved = v["idMoved"].boolOr(false);
  for (const View uid : v["inUseBy"].items()) {
    if (!uid.str().empty()) { d.in_use_by.emplace_back(uid.str()); }
  }
  sortUnique(d.in_use_by);
  return d;
}

constexpr KindInfo kNodeInfo{"", "v1", "nodes", "Node", false, decodedBy<decodeNode>};

}  // namespace

constinit const Kind kNode{kNodeInfo};

model::Node decodeNode(const View& v) {
  model::Node node;
  node.name = model::NodeName{objectKey(v).name};
  node.uid = uidField(v);
  node.revision = objectRevision(v);
  node.created = parseTime(v["metadata"]["creationTimestamp"].str()).value_or(Wall{});
  node.labels = stringMap(v["metadata"]["labels"]);
  for (const View t : v["spec"]["taints"].items()) {
    node.taints.push_back({text(t["key"]), text(t["value"]), text(t["effect"])});
  }
  node.unschedulable = v["spec"]["unschedulable"].boolOr(false);
  const View status = v["status"];
  for (const View c : status["conditions"].items()) {
    if (c["type"].str() == "Ready") { node.ready = c["status"].str() == "True"; }
  }
  // The API server's default: what there is can be given.
  const View allocatable = status[status["allocatable"].isObject() ? "allocatable" : "capacity"];
  for (const auto [name, quantity] : allocatable.members()) {
    (void)addAmount(node.allocatable, name, quantity);
  }
  for (const View feature : status["declaredFeatures"].items()) { node.features.push_back(text(feature)); }
  sortUnique(node.features);
  node.kubelet = text(status["nodeInfo"]["kubeletVersion"]);
  node.allocatable_pods = std::max<std::int64_t>(0, unitsOf(allocatable["pods"]).value_or(0));
  for (std::size_t i = 0; i < node.share_capacity.size(); ++i) {
    const auto units = unitsOf(status["capacity"][model::kShareResources[i]]);
    node.share_capacity[i] = std::max<std::int64_t>(0, units.value_or(0));
  }
  return node;
}

namespace {

/// Keeps a bounded number of users. A device with more is given to nobody, for those that are left out may
/// still use it.
void boundUsers(std::vector<model::Device>& devices) {
  std::size_t users = 0;
  for (auto& d : devices) {
    const std::size_t most = std::min(kMostUsers, kMostUsersOfNode - users);
    if (d.in_use_by.size() > most) {
      d.health = model::Health::Unhealthy;
      d.health_reason = fmt::format("inUseBy has {} entries, more than {}", d.in_use_by.size(), most);
      d.in_use_by.resize(most);
    }
    users += d.in_use_by.size();
  }
}

constexpr KindInfo kGpuNodeStatusInfo{
    "gpu.scheduling", "v1", "gpunodestatuses", "GpuNodeStatus", false, decodedBy<decodeGpuNodeStatus>, true};

}  // namespace

constinit const Kind kGpuNodeStatus{kGpuNodeStatusInfo};

model::GpuNodeStatus decodeGpuNodeStatus(const View& v) {
  model::GpuNodeStatus out;
  out.node = model::NodeName{objectKey(v).name};
  out.uid = uidField(v);
  for (const View owner : v["metadata"]["ownerReferences"].items()) {
    if (owner["kind"].str() == "Node") { out.node_uid = model::Uid{owner["uid"].str()}; }
  }
  out.revision = objectRevision(v);
  for (const View device : v["status"]["devices"].items()) {
    if (auto d = deviceOf(device); d.id >= 0) { out.devices.push_back(std::move(d)); }
  }
  const auto by_id = [](const model::Device& a, const model::Device& b) { return a.id < b.id; };
  const auto same_id = [](const model::Device& a, const model::Device& b) { return a.id == b.id; };
  std::stable_sort(out.devices.begin(), out.devices.end(), by_id);
  out.devices.erase(std::unique(out.devices.begin(), out.devices.end(), same_id), out.devices.end());
  boundUsers(out.devices);
  out.observed_time = text(v["status"]["observedTime"]);
  const auto enforcement = v["status"]["enforcement"].str();
  out.enforcement = enforcement == "devices" ? model::Enforcement::Devices
                    : enforcement == "env"   ? model::Enforcement::Env
                                             : model::Enforcement::Off;
  out.says_dra = enforcement == model::enforcementName(model::Enforcement::Dra);
  out.writer = writerField(v);
  return out;
}

}  // namespace gs::kapi
