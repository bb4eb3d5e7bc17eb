#include "sched/preemption/nominations.h"

#include <algorithm>
#include <utility>

#include "sched/ledger/derive.h"
#include "sched/ledger/ledger.h"
#include "sched/placement/fit.h"
#include "sched/placement/placement.h"

namespace gs::sched {

void Nominations::put(Nomination nomination) {
  const Nomination* known = of(nomination.uid);
  const bool is_again = known != nullptr && known->node == nomination.node;
  nomination.turn = is_again ? known->turn : version_ + 1;
  remove(nomination.uid);
  ++version_;
  node_of_.emplace(nomination.uid, nomination.node);
  auto& there = on_[nomination.node];
  model::Uid uid = nomination.uid;
  there.insert_or_assign(std::move(uid), std::move(nomination));
}

void Nominations::remove(const model::Uid& uid) {
  const auto node = node_of_.extract(uid);
  if (node.empty()) { return; }
  ++version_;
  const auto there = on_.find(node.mapped());
  there->second.erase(uid);
  if (there->second.empty()) { on_.erase(there); }
}

void Nominations::clear() {
  on_.clear();
  node_of_.clear();
  ++version_;
}

const Nomination* Nominations::of(const model::Uid& uid) const {
  const auto node = node_of_.find(uid);
  return node == node_of_.end() ? nullptr : &on_.at(node->second).at(uid);
}

std::vector<model::NodeName> Nominations::nodes() const {
  std::vector<model::NodeName> out;
  for (const auto& [node, there] : on_) { out.push_back(node); }
  return out;
}

std::vector<const Nomination*> Nominations::before(const model::NodeName& node, const model::Uid& self,
                                                   std::int32_t priority) const {
  std::vector<const Nomination*> out;
  const auto there = on_.find(node);
  if (there == on_.end()) { return out; }
  const auto own = there->second.find(self);
  const auto is_before = [&](const Nomination& other) {
    return own == there->second.end() || other.turn < own->second.turn;
  };
  for (const auto& [uid, nomination] : there->second) {
    if (uid == self || nomination.priority < priority) { continue; }
    if (nomination.priority > priority || is_before(nomination)) { out.push_back(&nomination); }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->priority > b->priority; });
  return out;
}

std::vector<model::Uid> Nominations::below(const model::NodeName& node, std::int32_t priority) const {
  std::vector<model::Uid> out;
  const auto there = on_.find(node);
  if (there == on_.end()) { return out; }
  for (const auto& [uid, nomination] : there->second) {
    if (nomination.priority < priority) { out.push_back(uid); }
  }
  return out;
}

std::vector<const Nomination*> awaitedBefore(const Nominations& nominations, const Ledger& ledger,
                                             const model::NodeName& node, const model::Uid& self,
                                             std::int32_t priority) {
  auto out = nominations.before(node, self, priority);
  std::erase_if(out, [&](const Nomination* one) { return ledger.isReserved(node, one->uid); });
  return out;
}

namespace {

/// Where no status lists it, it is there all the same, as for the ledger.
DeviceState& listedOrNot(NodeState& n, int id) {
  auto at = std::lower_bound(n.devices.begin(), n.devices.end(), id,
                             [](const DeviceState& d, int wanted) { return d.facts.id < wanted; });
  if (at == n.devices.end() || at->facts.id != id) {
    at = n.devices.insert(at, DeviceState{});
    at->facts.id = id;
  }
  return *at;
}

void holdFor(NodeState& n, const Nomination& pod, int id) {
  DeviceState& device = listedOrNot(n, id);
  Holder holder;
  holder.uid = pod.uid;
  holder.sources = static_cast<std::uint8_t>(Source::Reservation);
  holder.amount.shared = pod.request.devices->shared;
  const auto place = std::lower_bound(device.holders.begin(), device.holders.end(), pod.uid,
                                      [](const Holder& h, const model::Uid& uid) { return h.uid < uid; });
  const bool was_held = !device.holders.empty();
  device.holders.insert(place, std::move(holder));
  if (was_held) { return; }
  ++n.with_holders;
  n.untouched -= device.givable() ? 1 : 0;
  if (device.bit >= 0) { n.held |= bit(device.bit); }
}

void countThere(NodeState& n, const Nomination& pod) {
  n.used += pod.request.resources;
  ++n.used_pods;
  countPorts(n, pod.request.host_ports, +1);
  if (!pod.request.devices) { return; }
  const auto placed =
      takesDevices(n, pod.request) ? tryPlace(n, *pod.request.devices, pod.uid) : std::nullopt;
  if (placed && namesDevices(n, pod.request)) {
    for (const int id : placed->ids) { holdFor(n, pod, id); }
  } else if (!pod.request.devices->shared) {
    n.anonymous += pod.request.devices->count;
  }
}

}  // namespace

NodeState withNominated(NodeState node, const std::vector<const Nomination*>& nominated) {
  for (const Nomination* pod : nominated) { countThere(node, *pod); }
  deriveFree(node);
  return node;
}

}  // namespace gs::sched
