// Nodes and requests for the tests of this folder, in one line each. Included by tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {

/// testNode("a").gpus(4, "x", 600).gpus(4, "y", 300): ids 0-3 and 4-7. Ready, with plenty of cpu, memory and
/// pods.
struct TestNode {
  model::Node node;
  model::GpuNodeStatus status;
  bool has_status = true;

  TestNode& gpus(int count, const std::string& island = "x", std::int64_t gbps = 600) {
    for (int i = 0; i < count; ++i) {
      model::Device d;
      d.id = static_cast<int>(status.devices.size());
      d.uuid = "GPU-" + node.name.text + "-" + std::to_string(d.id);
      d.memory_mib = 81'920;
      d.health = model::Health::Healthy;
      d.island = island;
      d.bandwidth_gbps = gbps;
      status.devices.push_back(std::move(d));
    }
    return *this;
  }
  TestNode& health(int id, model::Health h) {
    return status.devices.at(static_cast<std::size_t>(id)).health = h, *this;
  }
  TestNode& idMoved(int id) { return status.devices.at(static_cast<std::size_t>(id)).id_moved = true, *this; }
  TestNode& partitioned(int id) {
    return status.devices.at(static_cast<std::size_t>(id)).partitioned = true, *this;
  }
  TestNode& link(int a, int b, std::int64_t gbps) {
    status.devices.at(static_cast<std::size_t>(a)).links.push_back({b, gbps});
    status.devices.at(static_cast<std::size_t>(b)).links.push_back({a, gbps});
    return *this;
  }
  TestNode& label(const std::string& key, const std::string& value) {
    return node.labels[key] = value, *this;
  }
  TestNode& taint(const std::string& key, const std::string& value, const std::string& effect) {
    return node.taints.push_back({key, value, effect}), *this;
  }
  TestNode& cpu(std::int64_t milli) { return node.allocatable.cpu_milli = milli, *this; }
  TestNode& memory(std::int64_t bytes) { return node.allocatable.memory = bytes, *this; }
  TestNode& resource(const std::string& name, std::int64_t amount) {
    return node.allocatable.extended[name] = amount, *this;
  }
  TestNode& pods(std::int64_t most) { return node.allocatable_pods = most, *this; }
  TestNode& notReady() { return node.ready = false, *this; }
  TestNode& unschedulable() { return node.unschedulable = true, *this; }
  TestNode& enforcement(model::Enforcement e) { return status.enforcement = e, *this; }
  /// Its GPUs are prepared by a DRA driver.
  TestNode& dra(const std::string& kubelet = "v1.36.3") {
    node.kubelet = kubelet;
    status.enforcement = model::Enforcement::Dra;
    status.dra_resource = model::kNvidiaGpu;
    return *this;
  }
  TestNode& withoutStatus() { return has_status = false, *this; }

  void addTo(Ledger& ledger) const {
    ledger.upsertNode(node);
    if (has_status) { ledger.upsertStatus(status); }
  }
};

inline TestNode testNode(const std::string& name) {
  TestNode t;
  t.node.name = model::NodeName{name};
  t.node.ready = true;
  t.node.allocatable = {64'000, std::int64_t{1} << 40, std::int64_t{1} << 40, {}};
  t.node.allocatable_pods = 110;
  t.status.node = t.node.name;
  t.status.enforcement = model::Enforcement::Devices;
  return t;
}

inline DeviceRequest testDevices(std::int64_t count, model::Policy policy = model::Policy::Contiguous) {
  DeviceRequest r;
  r.count = count;
  r.policy = policy;
  return r;
}

inline PodRequest testClaim(const DeviceRequest& devices) {
  PodRequest r;
  r.door = &kClaimDoor;
  r.devices = devices;
  return r;
}
inline PodRequest testClaim(std::int64_t count) { return testClaim(testDevices(count)); }

inline PodRequest testPlain(std::int64_t count) {
  PodRequest r = testClaim(count);
  r.door = &kPlainDoor;
  r.resources.extended[model::kNvidiaGpu] = count;
  return r;
}

/// These GPUs of the node of that name; none: the node alone.
inline PodRequest testMapped(const std::string& on_node, std::vector<int> ids) {
  PodRequest r;
  r.door = &kMapDoor;
  r.on_node = on_node;
  if (ids.empty()) { return r; }
  r.devices = testDevices(static_cast<std::int64_t>(ids.size()));
  r.devices->exact = std::move(ids);
  r.devices->shared = true;
  return r;
}

inline const NodeState& stateOf(const Ledger& ledger, const std::string& name) {
  return *ledger.find(model::NodeName{name});
}

/// Devices drawn by a generator: 1 to `most`, in up to 4 islands, some ids missing, sometimes with links.
inline std::vector<model::Device> drawDevices(Rng& rng, int most) {
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(most)));
  const std::uint64_t islands = 1 + rng.below(4);
  const bool linked = rng.chance(40);
  const bool mixed = rng.chance(50);
  std::vector<model::Device> devices;
  int id = 0;
  for (int i = 0; i < count; ++i) {
    model::Device d;
    d.id = id;
    id += rng.chance(15) ? 2 : 1;
    d.health = model::Health::Healthy;
    const std::uint64_t island =
        mixed ? rng.below(islands)
              : static_cast<std::uint64_t>(i) * islands / static_cast<std::uint64_t>(count);
    d.island = "island-" + std::to_string(island);
    d.bandwidth_gbps = static_cast<std::int64_t>(300 * (1 + island % 3));
    devices.push_back(std::move(d));
  }
  for (auto& a : devices) {
    for (const auto& b : devices) {
      if (linked && a.id != b.id && rng.chance(60)) {
        a.links.push_back({b.id, static_cast<std::int64_t>(100 * rng.below(8))});
      }
    }
  }
  return devices;
}

inline Topology topologyOf(const std::vector<model::Device>& devices) {
  Topology::Devices pointers;
  for (const auto& d : devices) { pointers.push_back(&d); }
  return Topology{pointers};
}

/// Every subset of `free` with so many devices.
template <class Visit>
void eachSet(Mask free, int count, const Visit& visit, Mask chosen = 0) {
  if (count == 0) { return visit(chosen); }
  for (Mask m = free; countOf(m) >= count; m &= m - 1) {
    eachSet(m & (m - 1), count - 1, visit, chosen | (m & -m));
  }
}

}  // namespace gs::sched
