// What the API could say, drawn at random, told to a ledger step by step and remembered beside it: so that a
// test can tell a second ledger the same in another order. Included by tests only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/annotations.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {

class TestFacts {
 public:
  TestFacts(Ledger& ledger, std::uint64_t seed) : ledger_{ledger}, rng_{seed} {}

  void step() {
    switch (rng_.below(11)) {
      case 0: return putNode();
      case 1: return putStatus();
      case 2: return dropNode();
      case 3: return dropStatus();
      case 4: return turnStale();
      case 5:
      case 6: return hold();
      case 7: return release();
      case 8: return use();
      case 9: return reclaim();
      default: return unuse();
    }
  }

  /// A cluster that is mostly there: each node and status once.
  void fill() {
    for (int i = 0; i < kNames; ++i) {
      putNode();
      putStatus();
    }
  }

  /// Tells another ledger all of it, in an order drawn at random.
  void retell(Ledger& other, Rng& rng) const {
    std::vector<std::function<void()>> told;
    for (const auto& [name, node] : nodes_) {
      told.push_back([&, n = node] { other.upsertNode(n); });
    }
    for (const auto& [name, status] : statuses_) {
      told.push_back([&, s = status] { other.upsertStatus(s); });
    }
    for (const auto& name : stale_) {
      told.push_back([&, n = name] { other.setAgentStale(n, true); });
    }
    for (const auto& [key, amount] : holds_) {
      told.push_back([&, k = key, a = amount] {
        other.hold(std::get<0>(k), std::get<1>(k), std::get<2>(k), std::get<3>(k), a);
      });
    }
    for (const auto& [key, used] : uses_) {
      told.push_back([&, k = key, u = used] {
        other.usePod(std::get<0>(k), std::get<1>(k), std::get<2>(k), u.first, u.second, {}, portsOf(u.first));
      });
    }
    for (const auto& [key, devices] : reclaimed_) {
      told.push_back([&, k = key, n = devices] { other.reclaimCounted(k.first, k.second, n); });
    }
    while (!told.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(told.size()));
      told[static_cast<std::size_t>(at)]();
      told.erase(told.begin() + at);
    }
  }

  Rng& rng() { return rng_; }

  /// Of its node, that a pod with such requests takes.
  static std::vector<model::HostPort> portsOf(const model::Resources& r) {
    if (r.cpu_milli == 500) { return {{80, "TCP", "10.0.0.1"}}; }
    if (r.cpu_milli == 1'000) { return {{80, "TCP", "0.0.0.0"}, {81, "UDP", "0.0.0.0"}}; }
    return {};
  }

  /// By which a map may mean one of the nodes, or none.
  static std::string drawLogicalName(Rng& rng) {
    return rng.chance(50) ? "gpu-" + std::to_string(rng.below(3))
                          : "node-" + std::to_string(rng.below(kNames));
  }

 private:
  static constexpr int kNames = 7;
  using HoldKey = std::tuple<model::NodeName, int, model::Uid, Source>;
  using UseKey = std::tuple<model::NodeName, model::Uid, Source>;

  model::NodeName drawName() { return model::NodeName{"node-" + std::to_string(rng_.below(kNames))}; }
  model::Uid drawUid() { return model::Uid{"uid-" + std::to_string(rng_.below(8))}; }
  Source drawSource() { return static_cast<Source>(1U << rng_.below(4)); }

  template <class Map>
  const typename Map::key_type& drawKey(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(rng_.below(map.size())))->first;
  }

  void putNode() {
    TestNode t = testNode(drawName().text);
    t.cpu(static_cast<std::int64_t>(1'000 * (1 + rng_.below(8))))
        .pods(static_cast<std::int64_t>(2 + rng_.below(6)));
    t.node.revision = rng_.next();
    if (rng_.chance(10)) { t.notReady(); }
    if (rng_.chance(10)) { t.unschedulable(); }
    if (rng_.chance(20)) { t.taint("team", "research", "NoSchedule"); }
    if (rng_.chance(50)) { t.label("zone", rng_.chance(50) ? "east" : "west"); }
    if (rng_.chance(50)) { t.resource(model::kNvidiaGpu, static_cast<std::int64_t>(rng_.below(9))); }
    if (rng_.chance(10)) { t.label("gpu.scheduling/enforcer", rng_.chance(50) ? "kubelet" : "hami"); }
    if (rng_.chance(5)) { t.node.share_capacity = {100, 0}; }
    if (rng_.chance(30)) { t.label(model::kNodeNameLabel, drawLogicalName(rng_)); }
    nodes_[t.node.name] = t.node;
    ledger_.upsertNode(t.node);
  }

  void putStatus() {
    model::GpuNodeStatus s;
    s.node = drawName();
    s.devices = drawDevices(rng_, 8);
    if (rng_.chance(70)) { s.enforcement = model::Enforcement::Devices; }
    for (auto& d : s.devices) {
      if (rng_.chance(15)) { d.health = rng_.chance(50) ? model::Health::Unknown : model::Health::Unhealthy; }
      d.partitioned = rng_.chance(5);
      if (rng_.chance(20)) { d.in_use_by = {drawUid()}; }
    }
    statuses_[s.node] = s;
    ledger_.upsertStatus(s);
  }

  void dropNode() {
    const auto name = drawName();
    nodes_.erase(name);
    ledger_.removeNode(name);
  }

  void dropStatus() {
    const auto name = drawName();
    statuses_.erase(name);
    ledger_.removeStatus(name);
  }

  void turnStale() {
    const auto name = drawName();
    const bool stale = rng_.chance(30);
    if (stale) {
      stale_.insert(name);
    } else {
      stale_.erase(name);
    }
    ledger_.setAgentStale(name, stale);
  }

  void hold() {
    const HoldKey key{drawName(), static_cast<int>(rng_.below(10)), drawUid(), drawSource()};
    Amount amount;
    if (rng_.chance(50)) { amount = {true, static_cast<std::int64_t>(rng_.below(2) * 500), 0}; }
    holds_[key] = amount;
    ledger_.hold(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), amount);
  }

  void release() {
    const HoldKey key =
        holds_.empty() || rng_.chance(20) ? HoldKey{drawName(), 0, drawUid(), drawSource()} : drawKey(holds_);
    holds_.erase(key);
    ledger_.release(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key));
  }

  void use() {
    const UseKey key{drawName(), drawUid(), rng_.chance(50) ? Source::BoundPod : Source::Reservation};
    model::Resources r;
    r.cpu_milli = static_cast<std::int64_t>(500 * rng_.below(4));
    if (rng_.chance(40)) { r.extended[model::kNvidiaGpu] = static_cast<std::int64_t>(1 + rng_.below(2)); }
    const std::int64_t anonymous = std::get<2>(key) == Source::BoundPod ? r.get(model::kNvidiaGpu) : 0;
    uses_[key] = {r, anonymous};
    ledger_.usePod(std::get<0>(key), std::get<1>(key), std::get<2>(key), r, anonymous, {}, portsOf(r));
  }

  void reclaim() {
    const std::pair key{drawName(), drawUid()};
    const auto devices = static_cast<std::int64_t>(rng_.below(3));
    if (devices == 0) {
      reclaimed_.erase(key);
    } else {
      reclaimed_[key] = devices;
    }
    ledger_.reclaimCounted(key.first, key.second, devices);
  }

  void unuse() {
    const UseKey key =
        uses_.empty() || rng_.chance(20) ? UseKey{drawName(), drawUid(), Source::BoundPod} : drawKey(uses_);
    uses_.erase(key);
    ledger_.unusePod(std::get<0>(key), std::get<1>(key), std::get<2>(key));
  }

  Ledger& ledger_;
  Rng rng_;
  std::map<model::NodeName, model::Node> nodes_;
  std::map<model::NodeName, model::GpuNodeStatus> statuses_;
  std::set<model::NodeName> stale_;
  std::map<HoldKey, Amount> holds_;
  std::map<UseKey, std::pair<model::Resources, std::int64_t>> uses_;
  std::map<std::pair<model::NodeName, model::Uid>, std::int64_t> reclaimed_;
};

/// A request that some nodes of TestFacts may take.
inline PodRequest drawRequest(Rng& rng) {
  PodRequest r;
  const std::uint64_t door = rng.below(10);
  r.resources.cpu_milli = static_cast<std::int64_t>(500 * rng.below(4));
  if (rng.chance(25)) { r.node_selector["zone"] = "east"; }
  if (r.resources.cpu_milli == 1'500) { r.host_ports = {{80, "TCP", "10.0.0.2"}}; }
  if (rng.chance(30)) { r.tolerations.push_back({"team", "", "", true}); }
  if (door == 0) { return r; }
  if (door >= 8) {
    std::set<int> ids;
    for (std::uint64_t n = rng.below(3); n > 0; --n) { ids.insert(static_cast<int>(rng.below(8))); }
    PodRequest mapped = testMapped(TestFacts::drawLogicalName(rng), {ids.begin(), ids.end()});
    mapped.resources = r.resources;
    mapped.tolerations = r.tolerations;
    return mapped;
  }
  r.door = door <= 2 ? &kPlainDoor : &kClaimDoor;
  DeviceRequest d;
  d.count = static_cast<std::int64_t>(1 + rng.below(4));
  if (r.door == &kPlainDoor || rng.chance(30)) { r.resources.extended[model::kNvidiaGpu] = d.count; }
  if (r.door == &kClaimDoor) {
    d.policy = static_cast<model::Policy>(rng.below(3));
    if (d.policy == model::Policy::PreferIds) {
      d.prefer_ids = {static_cast<int>(rng.below(8)), static_cast<int>(rng.below(8))};
    }
    d.shared = rng.chance(30);
    if (rng.chance(60)) { d.topology = static_cast<model::TopologyMode>(rng.below(3)); }
    if (d.topology) { d.min_bandwidth_gbps = static_cast<std::int64_t>(300 * rng.below(4)); }
    if (rng.chance(20)) { r.match_labels["zone"] = "west"; }
  }
  r.devices = d;
  return r;
}

}  // namespace gs::sched
