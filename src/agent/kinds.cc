#include "agent/kinds.h"

#include <algorithm>
#include <limits>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/time.h"

namespace gs::agent {
namespace {

using json::View;
using kapi::bounded;
using kapi::text;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4096;
constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMostConditions = 32;

model::Health healthOf(std::string_view name) {
  if (name == "Healthy") { return model::Health::Healthy; }
  return name == "Unhealthy" ? model::Health::Unhealthy : model::Health::Unknown;
}

Gpu gpuOf(const View& v) {
  Gpu out;
  out.uuid = text(v["uuid"]);
  out.model = text(v["model"]);
  out.memory_mib = bounded(v["memoryMiB"], kMost);
  out.pci_bus_id = text(v["pciBusId"]);
  out.numa_node = static_cast<int>(bounded(v["numaNode"], kMostInt, -1));
  out.health = healthOf(v["health"].str());
  out.reason = text(v["healthReason"]);
  out.id_moved = v["idMoved"].boolOr(false);
  for (const View p : v["partitions"].items()) {
    out.partitions.push_back({text(p["uuid"]), text(p["profile"]), bounded(p["memoryMiB"], kMost),
                              static_cast<int>(bounded(p["milli"], 1000))});
  }
  return out;
}

Device deviceOf(const View& v) {
  Device out;
  out.id = static_cast<int>(bounded(v["id"], model::kMaxDeviceId, -1));
  out.gpu = gpuOf(v);
  out.island = text(v["island"]);
  out.bandwidth_gbps = bounded(v["bandwidthGBps"], kMostInt);
  for (const View uid : v["inUseBy"].items()) {
    if (out.in_use_by.size() == kMostUsers) { break; }
    if (!uid.str().empty()) { out.in_use_by.emplace_back(uid.str()); }
  }
  for (const View link : v["links"].items()) {
    const auto to = bounded(link["to"], model::kMaxDeviceId, -1);
    const auto type = link["type"].str() == linkName(LinkType::NvLink) ? LinkType::NvLink : LinkType::Pcie;
    if (to >= 0) { out.links.push_back({static_cast<int>(to), type, bounded(link["gbps"], kMostInt)}); }
  }
  return out;
}

OwnStatus decodeOwnStatus(const View& v) {
  OwnStatus out;
  out.node = model::NodeName{kapi::objectKey(v).name};
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  for (const View owner : v["metadata"]["ownerReferences"].items()) {
    if (owner["kind"].str() == "Node") { out.owner = model::Uid{owner["uid"].str()}; }
  }
  out.boot_id = text(v["metadata"]["annotations"][kBootIdKey]);
  const View status = v["status"];
  for (const View one : status["devices"].items()) {
    if (Device device = deviceOf(one); device.id >= 0) { out.view.devices.push_back(std::move(device)); }
  }
  auto& devices = out.view.devices;
  std::stable_sort(devices.begin(), devices.end(), [](auto& a, auto& b) { return a.id < b.id; });
  devices.erase(std::unique(devices.begin(), devices.end(), [](auto& a, auto& b) { return a.id == b.id; }),
                devices.end());
  out.view.driver_version = text(status["driverVersion"]);
  for (const View c : status["conditions"].items()) {
    if (out.view.conditions.size() == kMostConditions) { break; }
    out.view.conditions.push_back({text(c["type"]), c["status"].str() == "True", text(c["reason"]),
                                   text(c["message"]),
                                   kapi::parseTime(c["lastTransitionTime"].str()).value_or(Wall{})});
  }
  out.observed_time = text(status["observedTime"]);
  out.says_dra = status["enforcement"].str() == model::enforcementName(model::Enforcement::Dra);
  out.writer = kapi::writerField(v);
  out.repeats_driver = out.writer != model::Writer::Unsaid && out.observed_time.empty() && !devices.empty();
  if (out.repeats_driver) { out.view = {}; }
  return out;
}

constexpr kapi::KindInfo kOwnStatusInfo{"gpu.scheduling",
                                        "v1",
                                        "gpunodestatuses",
                                        "GpuNodeStatus",
                                        false,
                                        kapi::decodedBy<decodeOwnStatus>,
                                        true};

}  // namespace

constinit const kapi::Kind kOwnStatus{kOwnStatusInfo};

}  // namespace gs::agent
