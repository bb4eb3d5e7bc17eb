#include "sched/placement/what_if.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sched/ledger/derive.h"
#include "sched/placement/ended.h"

namespace gs::sched {

NodeState withFacts(NodeState n, const model::Node& facts, Doors doors) {
  n.exists = true;
  n.node = facts;
  deriveFacts(n, doors);
  deriveFree(n);
  return n;
}

NodeWithout::NodeWithout(const NodeState& node)
    : state_{node}, in_flight_{node.in_flight}, counted_{node.counted} {
  holders_.reserve(node.devices.size());
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    holders_.push_back(node.devices[i].holders);
    for (const Holder& h : node.devices[i].holders) {
      Holding& holding = holdings_[h.uid];
      holding.devices.push_back(i);
      holding.ended = holding.ended && hasEnded(h.sources);
    }
  }
  for (const InFlight& f : node.in_flight) {
    Holding& holding = holdings_[f.uid];
    holding.in_flight = true;
    holding.ended = false;
  }
  for (const Counted& c : node.counted) { holdings_[c.uid].counted = true; }
}

void NodeWithout::take(const model::Pod& pod) {
  state_.used -= pod.requests;
  --state_.used_pods;
  countPorts(state_, pod.host_ports, -1);
  derived_ = false;
  take(pod.uid);
}

void NodeWithout::giveBack(const model::Pod& pod) {
  state_.used += pod.requests;
  ++state_.used_pods;
  countPorts(state_, pod.host_ports, +1);
  derived_ = false;
  giveBack(pod.uid);
}

bool NodeWithout::isGone(const model::Uid& uid) const {
  const auto it = holdings_.find(uid);
  return it != holdings_.end() && it->second.gone;
}

void NodeWithout::move(const model::Uid& uid, bool gone) {
  const auto it = holdings_.find(uid);
  if (it == holdings_.end() || it->second.gone == gone) { return; }
  Holding& holding = it->second;
  holding.gone = gone;
  derived_ = false;
  const auto copy_staying = [this](const auto& from, auto& to) {
    cost_ += from.size();
    to.clear();
    std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                 [this](const auto& one) { return !isGone(one.uid); });
  };
  for (const std::size_t i : holding.devices) {
    DeviceState& device = state_.devices[i];
    const bool was_held = !device.holders.empty();
    copy_staying(holders_[i], device.holders);
    const bool is_held = !device.holders.empty();
    const int more = static_cast<int>(is_held) - static_cast<int>(was_held);
    state_.with_holders += more;
    state_.untouched -= device.givable() ? more : 0;
    if (device.bit < 0) { continue; }
    state_.held = is_held ? state_.held | bit(device.bit) : state_.held & ~bit(device.bit);
  }
  if (holding.in_flight) { copy_staying(in_flight_, state_.in_flight); }
  if (holding.counted) { copy_staying(counted_, state_.counted); }
}

const NodeState& NodeWithout::state() {
  if (!std::exchange(derived_, true)) {
    deriveAnonymous(state_);
    deriveFree(state_);
  }
  return state_;
}

}  // namespace gs::sched
