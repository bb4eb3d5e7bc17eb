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
  const Rank rank = rankOf(nomination);
  place_of_.emplace(nomination.uid, std::pair{nomination.node, rank});
  auto& there = on_[nomination.node];
  there.insert_or_assign(rank, std::move(nomination));
}

void Nominations::remove(const model::Uid& uid) {
  const auto place = place_of_.extract(uid);
  if (place.empty()) { return; }
  ++version_;
  const auto there = on_.find(place.mapped().first);
  there->second.erase(place.mapped().second);
  if (there->second.empty()) { on_.erase(there); }
}

void Nominations::clear() {
  on_.clear();
  place_of_.clear();
  ++version_;
}

const Nomination* Nominations::of(const model::Uid& uid) const {
  const auto place = place_of_.find(uid);
  return place == place_of_.end() ? nullptr : &on_.at(place->second.first).at(place->second.second);
}

std::vector<model::NodeName> Nominations::nodesFrom(const model::NodeName& name, std::size_t most) const {
  std::vector<model::NodeName> out;
  auto it = on_.lower_bound(name);
  for (std::size_t left = std::min(most, on_.size()); left > 0; --left) {
    if (it == on_.end()) { it = on_.begin(); }
    out.push_back(it->first);
    ++it;
  }
  return out;
}

/// Until `visit` says false.
template <class Visit>
void Nominations::visitBefore(const model::NodeName& node, const model::Uid& self, std::int32_t priority,
                              const Visit& visit) const {
  const auto there = on_.find(node);
  if (there == on_.end()) { return; }
  const auto place = place_of_.find(self);
  const bool is_there = place != place_of_.end() && place->second.first == node;
  const std::uint64_t own = is_there ? there->second.at(place->second.second).turn : 0;
  for (const auto& [rank, other] : there->second) {
    if (other.priority < priority) { return; }
    if (other.uid == self) { continue; }
    const bool counts = other.priority > priority || !is_there || other.turn < own;
    if (counts && !visit(other)) { return; }
  }
}

std::vector<const Nomination*> Nominations::before(const model::NodeName& node, const model::Uid& self,
                                                   std::int32_t priority) const {
  std::vector<const Nomination*> out;
  visitBefore(node, self, priority, [&](const Nomination& one) {
    out.push_back(&one);
    return true;
  });
  return out;
}

bool Nominations::anyBefore(const model::NodeName& node, const model::Uid& self,
                            std::int32_t priority) const {
  bool is_any = false;
  visitBefore(node, self, priority, [&](const Nomination&) {
    is_any = true;
    return false;
  });
  return is_any;
}

std::vector<model::Uid> Nominations::below(const model::NodeName& node, std::int32_t priority) const {
  std::vector<model::Uid> out;
  const auto there = on_.find(node);
  if (there == on_.end()) { return out; }
  for (auto it = there->second.rbegin(); it != there->second.rend(); ++it) {
    if (it->second.priority >= priority) { break; }
    out.push_back(it->second.uid);
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
