#include "sched/ledger/node_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/mutant.h"
#include "model/annotations.h"
#include "sched/doors/door.h"
#include "sched/ledger/derive.h"
#include "sched/ledger/shares.h"

namespace gs::sched {

DeviceUse DeviceState::use() const {
  if (holders.empty()) { return DeviceUse::Free; }
  const auto draining = static_cast<std::uint8_t>(Source::Draining);
  const bool only =
      std::all_of(holders.begin(), holders.end(), [&](const Holder& h) { return h.sources == draining; });
  return only ? DeviceUse::Draining : DeviceUse::Held;
}

const DeviceState* NodeState::device(int id) const {
  const auto it = std::lower_bound(devices.begin(), devices.end(), id,
                                   [](const DeviceState& d, int wanted) { return d.facts.id < wanted; });
  return it == devices.end() || it->facts.id != id ? nullptr : &*it;
}

bool NodeState::closedTo(model::TermId term) const {
  return std::any_of(closed_to.begin(), closed_to.end(),
                     [&](const auto& terms) { return terms->contains(term); });
}

bool NodeState::takesPort(const model::HostPort& port) const {
  if (ports.empty()) { return false; }
  if (GS_MUTANT(AddressesApart)) { return ports.contains(port); }
  if (port.ip == model::kEveryIp) {
    const auto it = ports.lower_bound(model::HostPort{port.port, port.protocol, ""});
    return it != ports.end() && it->first.port == port.port && it->first.protocol == port.protocol;
  }
  return ports.contains(port) || ports.contains(model::HostPort{port.port, port.protocol, model::kEveryIp});
}

void countPorts(NodeState& n, const std::vector<model::HostPort>& taken, int sign) {
  for (const auto& port : taken) {
    const auto it = n.ports.try_emplace(port, 0).first;
    it->second += sign;
    if (it->second == 0) { n.ports.erase(it); }
  }
}

bool NodeState::answersTo(const std::string& name) const {
  if (by_own_name && node.name.text == name) { return true; }
  const auto label = by_label ? node.labels.find(model::kNodeNameLabel) : node.labels.end();
  return label != node.labels.end() && label->second == name;
}

std::uint64_t NodeState::versionNear(const NearAsked& near) const {
  const std::uint64_t here = std::max(version, closed_version);
  return near.standing == nullptr ? here : std::max(here, near.standing->versionAt(index));
}

std::int64_t unheldOf(const NodeState& n, const model::Uid& self) {
  if (self.empty()) { return n.node.allocatable.get(model::kNvidiaGpu) - n.with_holders; }
  const auto held = std::count_if(n.devices.begin(), n.devices.end(), [&](const DeviceState& d) {
    return std::any_of(d.holders.begin(), d.holders.end(), [&](const Holder& h) { return h.uid != self; });
  });
  return n.node.allocatable.get(model::kNvidiaGpu) - held;
}

namespace {

/// Numbers the whole devices; null when there are none or too many. From the last one on where a DRA driver
/// gives them: kube-scheduler, which may allocate there too, takes the first.
TopologyPtr numberDevices(NodeState& n, TopologyPool* pool) {
  Topology::Devices whole;
  n.whole = 0;
  const auto number = [&](DeviceState& d) {
    d.bit = -1;
    if (!d.listed || d.facts.partitioned) { return; }
    if (++n.whole <= kMaxDevices) {
      d.bit = static_cast<std::int16_t>(n.whole - 1);
      whole.push_back(&d.facts);
    }
  };
  if (n.dra_resource.empty()) {
    std::for_each(n.devices.begin(), n.devices.end(), number);
  } else {
    std::for_each(n.devices.rbegin(), n.devices.rend(), number);
  }
  if (n.isWide()) {
    for (auto& d : n.devices) { d.bit = -1; }
  }
  if (whole.empty() || n.isWide()) { return nullptr; }
  return pool != nullptr ? pool->share(whole) : std::make_shared<const Topology>(whole);
}

}  // namespace

namespace {

/// So that whoever looks at the node need not compare the names.
void numberIslands(NodeState& n) {
  std::unordered_map<std::string_view, std::int16_t> numbers;
  for (auto& d : n.devices) {
    if (!n.isWide() || !d.listed) { continue; }
    d.island = numbers.try_emplace(d.facts.island, static_cast<std::int16_t>(numbers.size())).first->second;
  }
  n.islands = numbers.size();
}

}  // namespace

void deriveDevices(NodeState& n, TopologyPool* pool) {
  n.topology = numberDevices(n, pool);
  numberIslands(n);
  n.healthy = n.unknown = n.held = 0;
  n.with_holders = n.untouched = 0;
  for (const auto& d : n.devices) {
    n.with_holders += d.holders.empty() ? 0 : 1;
    n.untouched += d.givable() && d.holders.empty() ? 1 : 0;
    if (d.bit < 0) { continue; }
    if (!d.holders.empty()) { n.held |= bit(d.bit); }
    if (!d.givable()) { continue; }
    const bool trusted = d.facts.health == model::Health::Healthy && !n.agent_stale;
    (trusted ? n.healthy : n.unknown) |= bit(d.bit);
  }
}

bool isNamedBy(const DeviceState& d, const Holder& holder, std::uint8_t without) {
  const auto shown = [&](const Holder& h) {
    return h.sources & ~without & ~static_cast<unsigned>(Source::Reservation);
  };
  const unsigned sources = shown(holder);
  if (sources == 0) { return false; }
  const auto& users = d.facts.in_use_by;
  if (std::find(users.begin(), users.end(), holder.uid) != users.end()) { return true; }
  constexpr auto kWritten = static_cast<unsigned>(Source::Lease) | static_cast<unsigned>(Source::Claim);
  if ((sources & kWritten) != 0) { return true; }
  return d.givable() && std::none_of(d.holders.begin(), d.holders.end(), [&](const Holder& other) {
           return other.uid != holder.uid && shown(other) != 0;
         });
}

void deriveAnonymous(NodeState& n) {
  n.anonymous = 0;
  for (auto& counted : n.counted) { counted.named = 0; }
  if (n.counted.empty()) { return; }
  for (const auto& d : n.devices) {
    for (const auto& holder : d.holders) {
      const auto it = countedAt(n.counted, holder.uid);
      if (it != n.counted.end() && it->uid == holder.uid && isNamedBy(d, holder)) { ++it->named; }
    }
  }
  for (const auto& counted : n.counted) { n.anonymous += counted.anonymous(); }
}

namespace {

/// As its label says; else as a door does, or as the node looks.
Enforcer enforcerOf(const NodeState& n, const std::optional<ShareNode>& said) {
  if (const auto it = n.node.labels.find(model::kEnforcerLabel); it != n.node.labels.end()) {
    for (const Enforcer e :
         {Enforcer::Agent, Enforcer::Kubelet, Enforcer::GpuManager, Enforcer::Hami, Enforcer::Gpushare}) {
      if (it->second == enforcerName(e)) { return e; }
    }
  }
  if (said) { return said->enforcer; }
  return n.has_status ? Enforcer::Agent : Enforcer::Kubelet;
}

}  // namespace

void deriveFacts(NodeState& n, Doors doors) {
  const auto said = shareNodeOf(n.node, doors);
  n.enforcer = enforcerOf(n, said);
  n.share_devices = said ? std::clamp<std::int64_t>(said->devices, 0, model::kMaxDeviceId + 1) : 0;
  n.share_mib = n.share_devices > 0 ? said->mib : 0;
}

namespace {

void deriveFreeShares(NodeState& n) {
  n.free_milli = n.free_mib = 0;
  if (n.share_devices == 0) { return; }
  for (const FreeShare& d : freeShares(n)) {
    n.free_milli += d.milli;
    n.free_mib += d.mib;
  }
}

}  // namespace

void deriveFree(NodeState& n) {
  deriveFreeShares(n);
  std::int64_t free = 0;
  if (!n.has_status) {
    free = std::min(n.node.allocatable.get(model::kNvidiaGpu) - n.used.get(model::kNvidiaGpu),
                    unheldOf(n) - n.anonymous);
  } else if (n.isWide()) {
    free = n.untouched - n.anonymous;
  } else {
    free = countOf((n.healthy | n.unknown) & ~n.held) - n.anonymous;
  }
  n.free_devices = std::max<std::int64_t>(0, free);
  n.overcommitted = free < 0 && n.anonymous > 0;
}

}  // namespace gs::sched
