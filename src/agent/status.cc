#include "agent/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "agent/topology.h"
#include "kapi/kinds.h"
#include "kapi/time.h"

namespace gs::agent {
namespace {

using json::Array;
using json::Object;
using json::Value;

// As in the CRD.
constexpr std::size_t kMostDevices = model::kMaxDeviceId + 1;
constexpr std::size_t kMostPartitions = 64;
constexpr std::int64_t kMostGbps = 2'147'483'647;

/// Places of the GPUs, by their address on the bus; those without one come last, as they are.
std::vector<std::size_t> inPciOrder(const std::vector<Gpu>& gpus) {
  const auto place = [](const Gpu& gpu) { return std::pair{gpu.pci_bus_id.empty(), gpu.pci_bus_id}; };
  std::vector<std::size_t> order(gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(gpus[a]) < place(gpus[b]); });
  if (order.size() > kMostDevices) { order.resize(kMostDevices); }
  return order;
}

/// The same links, by the new places; those of GPUs that were cut are left out.
std::vector<PairLink> renumbered(const Hardware& hardware, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> place(hardware.gpus.size(), kMostDevices);
  for (std::size_t id = 0; id < order.size(); ++id) { place[order[id]] = id; }
  std::vector<PairLink> out;
  for (const PairLink& link : hardware.links) {
    if (link.a >= place.size() || link.b >= place.size() || link.a == link.b) { continue; }
    const PairLink moved{place[link.a], place[link.b], link.type,
                         std::clamp<std::int64_t>(link.gbps, 0, kMostGbps)};
    if (moved.a < order.size() && moved.b < order.size()) { out.push_back(moved); }
  }
  return out;
}

void addLink(Device& device, std::size_t to, const PairLink& link) {
  const auto at = std::find_if(device.links.begin(), device.links.end(),
                               [&](const DeviceLink& known) { return known.to == static_cast<int>(to); });
  const DeviceLink other{static_cast<int>(to), link.type, link.gbps};
  if (at == device.links.end()) {
    device.links.push_back(other);
  } else if (other.type == at->type ? other.gbps > at->gbps : other.type == LinkType::NvLink) {
    *at = other;
  }
}

Value linksValue(const std::vector<DeviceLink>& links) {
  Array out;
  for (const DeviceLink& link : links) {
    out.emplace_back(Object{{"to", link.to}, {"gbps", link.gbps}, {"type", linkName(link.type)}});
  }
  return out;
}

Value partitionsValue(const std::vector<Partition>& partitions) {
  Array out;
  for (const Partition& p : partitions) {
    if (out.size() == kMostPartitions) { break; }
    out.emplace_back(Object{{"uuid", p.uuid},
                            {"profile", p.profile},
                            {"memoryMiB", std::max<std::int64_t>(0, p.memory_mib)},
                            {"milli", std::clamp(p.milli, 0, 1000)}});
  }
  return out;
}

Value deviceValue(const Device& d) {
  const bool cut = d.in_use_by.size() > kMostUsers;
  Value out = Object{{"id", d.id}};
  const auto set_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) { out.set(name, text); }
  };
  set_text("uuid", d.gpu.uuid);
  set_text("model", d.gpu.model);
  out.set("memoryMiB", std::max<std::int64_t>(0, d.gpu.memory_mib));
  set_text("pciBusId", d.gpu.pci_bus_id);
  out.set("numaNode", std::max(-1, d.gpu.numa_node));
  out.set("health", model::healthName(cut ? model::Health::Unhealthy : d.gpu.health));
  set_text("healthReason", cut ? fmt::format("{} pods use it, more than {}{}{}", d.in_use_by.size(),
                                             kMostUsers, d.gpu.reason.empty() ? "" : "; ", d.gpu.reason)
                               : d.gpu.reason);
  if (d.gpu.id_moved) { out.set("idMoved", true); }
  out.set("island", d.island);
  out.set("bandwidthGBps", d.bandwidth_gbps);
  if (!d.links.empty()) { out.set("links", linksValue(d.links)); }
  if (!d.gpu.partitions.empty()) { out.set("partitions", partitionsValue(d.gpu.partitions)); }
  Array users;
  for (const auto& uid : d.in_use_by) {
    if (users.size() < kMostUsers) { users.emplace_back(uid.text); }
  }
  out.set("inUseBy", std::move(users));
  return out;
}

/// What `kubectl get gns` shows and no column can count. Nothing decides by it.
void setCounts(Value& status, const std::vector<Device>& devices) {
  std::size_t healthy = 0;
  std::size_t free = 0;
  std::set<std::string> islands;
  for (const Device& d : devices) {
    const bool well = d.gpu.health == model::Health::Healthy;
    healthy += well ? 1 : 0;
    free += well && d.in_use_by.empty() ? 1 : 0;
    islands.insert(d.island);
  }
  status.set("total", devices.size());
  status.set("healthy", healthy);
  status.set("free", free);
  status.set("islands", islands.size());
}

Array devicesValue(const std::vector<Device>& devices) {
  Array out;
  for (const Device& device : devices) { out.push_back(deviceValue(device)); }
  return out;
}

Value conditionsValue(const std::vector<Condition>& conditions) {
  Array out;
  for (const Condition& c : conditions) {
    out.emplace_back(Object{{"type", c.type},
                            {"status", c.holds ? "True" : "False"},
                            {"reason", c.reason},
                            {"message", c.message},
                            {"lastTransitionTime", kapi::timeText(c.since)}});
  }
  return out;
}

Value objectOf(const model::NodeName& node) {
  Value out =
      Object{{"apiVersion", kapi::apiVersion(kapi::kGpuNodeStatus)}, {"kind", kapi::kGpuNodeStatus->name}};
  out.child("metadata").set("name", node.text);
  return out;
}

}  // namespace

std::string nameOf(const Device& device) {
  return device.gpu.uuid.empty() ? std::to_string(device.id) : device.gpu.uuid;
}

std::vector<Device> devicesOf(const Hardware& hardware) {
  const auto order = inPciOrder(hardware.gpus);
  const auto links = renumbered(hardware, order);
  const auto places = islandsOf(order.size(), links);
  std::vector<Device> out(order.size());
  for (std::size_t id = 0; id < order.size(); ++id) {
    out[id].id = static_cast<int>(id);
    out[id].gpu = hardware.gpus[order[id]];
    out[id].island = places[id].island;
    out[id].bandwidth_gbps = places[id].gbps;
  }
  for (const PairLink& link : links) {
    addLink(out[link.a], link.b, link);
    addLink(out[link.b], link.a, link);
  }
  for (Device& device : out) {
    std::sort(device.links.begin(), device.links.end(),
              [](const DeviceLink& a, const DeviceLink& b) { return a.to < b.to; });
  }
  return out;
}

Value statusBody(const model::NodeName& node, const NodeView& view, const std::string& observed,
                 model::Revision revision, bool says_dra) {
  Value out = objectOf(node);
  if (revision != 0) { out.child("metadata").set("resourceVersion", std::to_string(revision)); }
  Value& status = out.child("status");
  setCounts(status, view.devices);
  status.set("devices", devicesValue(view.devices));
  if (!view.driver_version.empty()) { status.set("driverVersion", view.driver_version); }
  if (!says_dra) { status.set("enforcement", model::enforcementName(view.enforcement)); }
  status.set("conditions", conditionsValue(view.conditions));
  if (!observed.empty()) { status.set("observedTime", observed); }
  return out;
}

Value devicesBody(const NodeView& view, model::Revision revision) {
  Value out = Object{};
  out.child("metadata").set("resourceVersion", std::to_string(revision));
  out.child("status").set("devices", devicesValue(view.devices));
  return out;
}

Value specBody(const model::NodeName& node, const model::Uid& node_uid, const std::string& boot_id) {
  Value out = objectOf(node);
  Array owners;
  owners.emplace_back(
      Object{{"apiVersion", "v1"}, {"kind", kapi::kNode->name}, {"name", node.text}, {"uid", node_uid.text}});
  out.child("metadata").set("ownerReferences", std::move(owners));
  if (!boot_id.empty()) { out.child("metadata").set("annotations", Object{{kBootIdKey, boot_id}}); }
  out.child("spec").set("nodeName", node.text);
  return out;
}

}  // namespace gs::agent
