#include "engine/device_reclaim.h"

#include <algorithm>

#include "base/mutant.h"
#include "engine/device_index.h"

namespace gs::engine {

using sched::Source;

std::string DeviceReclaim::uuidOf(const model::NodeName& node, int id) const {
  const sched::NodeState* state = ledger_.find(node);
  const sched::DeviceState* device = state == nullptr ? nullptr : state->device(id);
  return device == nullptr ? std::string{} : device->facts.uuid;
}

void DeviceReclaim::ended(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                          bool clean, Mono now, std::int64_t counted, bool told) {
  if (const auto it = ended_.find({uid, node}); it != ended_.end()) {
    Ended& e = it->second;
    if (clean) {
      e.wait_observations = false;
      unfloored_.erase(e.number);
    }
    for (const int id : ids) { e.devices.try_emplace(id, uuidOf(node, id)); }
    e.counted = std::max(e.counted, counted);
    e.is_seen = e.is_seen || told;
    holdAll(it->first, e);
    reviewEnded({uid, node}, now);
    return;
  }
  (void)agentsOf(node, now);
  Ended end;
  end.counted = counted;
  end.wait_observations = !clean && !GS_MUTANT(FreesUnobserved);
  end.until = now + kAgentGone;
  end.by_driver = isByDriver(node);
  const auto looked = observed_.find(node);
  end.is_seen = told || (looked != observed_.end() && looked->second.users.contains(uid));
  for (const int id : ids) { end.devices.emplace(id, uuidOf(node, id)); }
  hold({uid, node}, std::move(end));
  reviewEnded({uid, node}, now);
}

void DeviceReclaim::seenUsing(const model::Uid& uid, const model::NodeName& node, int id, Mono now) {
  const auto it = ended_.find({uid, node});
  if (it == ended_.end()) { return ended(uid, node, {id}, true, now); }
  // The others of its devices are held already: a status may name it on each of very many.
  if (!it->second.devices.try_emplace(id, uuidOf(node, id)).second) { return; }
  holdOne(it->first, id);
}

void DeviceReclaim::holdAll(const Key& key, const Ended& ended) {
  const auto& [uid, node] = key;
  for (const auto& [id, uuid] : ended.devices) { holdOne(key, id); }
  ledger_.reclaimCounted(node, uid, ended.counted);
}

void DeviceReclaim::holdOne(const Key& key, int id) {
  ++held_;
  ledger_.hold(key.second, id, key.first, Source::Draining, {});
}

void DeviceReclaim::hold(const Key& key, Ended ended) {
  const auto& [uid, node] = key;
  if (const auto before = ended_.find(key); before != ended_.end()) {
    unfloored_.erase(before->second.number);
  }
  if (ended.wait_observations && !ended.floor) { unfloored_.insert(ended.number = ++unclean_ends_); }
  const auto it = ended_.insert_or_assign(key, std::move(ended)).first;
  holdAll(key, it->second);
  on_node_[node].insert(uid);
  plan(node);
}

/// The status may have given other ids to devices that are Draining:
/// they are held under their present ids, too.
void DeviceReclaim::follow(const model::GpuNodeStatus& status) {
  const auto here = on_node_.find(status.node);
  if (here == on_node_.end() || GS_MUTANT(ReclaimsByNumber)) { return; }
  const DeviceIndex devices{status};
  for (const auto& uid : here->second) {
    const auto it = ended_.find({uid, status.node});
    Ended& e = it->second;
    const std::map<int, std::string> before = e.devices;
    for (const auto& [id, uuid] : before) {
      if (uuid.empty() || uuidOf(status.node, id) == uuid) { continue; }
      for (const int now : devices.idsOf(uuid)) { e.devices.try_emplace(now, uuid); }
    }
    if (e.devices.size() != before.size()) { holdAll(it->first, e); }
  }
}

void DeviceReclaim::setComplete(bool complete, Mono now) {
  complete_ = complete;
  std::vector<model::NodeName> nodes;
  for (const auto& [node, uids] : on_node_) { nodes.push_back(node); }
  for (const auto& node : nodes) {
    review(node, now);
    plan(node);
  }
}

void DeviceReclaim::lives(const model::Uid& uid, const model::NodeName& node) {
  if (const auto away = away_.find(node); away != away_.end()) { away->second.ended.erase(uid); }
  const Key key{uid, node};
  if (!ended_.contains(key)) { return; }
  free(key);
  if (reclaimed(uid)) { freed_.pop_back(); }
}

bool DeviceReclaim::Agents::isReady() const {
  return std::any_of(ready.begin(), ready.end(), [](const auto& agent) { return agent.second; });
}

/// Makes an entry for a node without one: as far as we know, its agent is missing from now on.
DeviceReclaim::Agents& DeviceReclaim::agentsOf(const model::NodeName& node, Mono now) {
  return agents_.try_emplace(node, Agents{.absent_since = now, .not_ready_since = now}).first->second;
}

/// From now on ends whose devices are freed there are remembered, for the node may come back.
void DeviceReclaim::goAway(const model::NodeName& node, Mono now) {
  std::erase_if(away_, [&](const auto& away) { return now - away.second.since >= kAgentGone; });
  away_.try_emplace(node, Away{now, {}});
}

DeviceReclaim::Away* DeviceReclaim::awayOf(const model::NodeName& node, Mono now) {
  const auto away = away_.find(node);
  return away == away_.end() || now - away->second.since >= kAgentGone ? nullptr : &away->second;
}

void DeviceReclaim::comeBack(const model::NodeName& node, Mono now) {
  const auto away = away_.extract(node);
  if (away.empty() || now - away.mapped().since >= kAgentGone) { return; }
  (void)agentsOf(node, now);
  for (auto& [uid, ended] : away.mapped().ended) { hold({uid, node}, std::move(ended)); }
}

bool DeviceReclaim::watched(const model::NodeName& node, Mono now) const {
  if (GS_MUTANT(FreesDraining)) { return false; }
  if (!complete_) { return true; }
  const sched::NodeState* state = ledger_.find(node);
  if (state == nullptr || !state->exists) { return false; }
  const auto seen = observed_.find(node);
  if (seen == observed_.end() || seen->second.time.empty()) { return false; }
  const auto agents = agents_.find(node);
  return agents == agents_.end() || !agents->second.ready.empty() ||
         now - agents->second.absent_since < kAgentGone;
}

bool DeviceReclaim::inUse(const Key& key) const {
  if (GS_MUTANT(FreesInUse)) { return false; }
  const auto& [uid, node] = key;
  const auto seen = observed_.find(node);
  return seen != observed_.end() && seen->second.users.contains(uid);
}

bool DeviceReclaim::reclaimed(const model::Uid& uid) const {
  const auto it = ended_.lower_bound({uid, {}});
  return it == ended_.end() || it->first.first != uid;
}

void DeviceReclaim::free(const Key& key) {
  const auto [uid, node] = key;
  const auto it = ended_.find(key);
  const auto& devices = it->second.devices;  // from the last: the ledger keeps a node's devices in one list
  for (auto at = devices.rbegin(); at != devices.rend(); ++at) {
    ledger_.release(node, at->first, uid, Source::Draining);
  }
  ledger_.reclaimCounted(node, uid, 0);
  unfloored_.erase(it->second.number);
  ended_.erase(it);
  const auto here = on_node_.find(node);
  here->second.erase(uid);
  if (here->second.empty()) { on_node_.erase(here); }
  plan(node);
  forgetAgents(node);
  if (reclaimed(uid)) { freed_.push_back(uid); }
}

/// One end changes nothing for the other pods of its node, so only its own devices are looked at. Where the
/// node was away, all are: some may come back.
void DeviceReclaim::reviewEnded(const Key& key, Mono now) {
  if (away_.contains(key.second)) { return review(key.second, now); }
  reviewOne(key, watched(key.second, now), now);
}

void DeviceReclaim::reviewOne(const Key& key, bool is_watched, Mono now) {
  const auto& [uid, node] = key;
  const auto it = ended_.find(key);
  if (it == ended_.end()) { return; }
  Ended& e = it->second;
  e.by_driver = e.by_driver || isByDriver(node);  // when it ended that may not have been known yet
  const bool is_trusted = GS_MUTANT(TrustsSilence) && agents_.contains(node) && !agents_.at(node).isReady();
  const bool is_blind = e.by_driver && !e.is_seen;  // to that pod: looks say nothing
  const bool seen = !e.wait_observations || (e.observations >= 2 && !is_blind) || is_trusted;
  const bool proven = complete_ && !inUse(key) && seen;
  if (Away* away = awayOf(node, now); away != nullptr && !is_watched && !proven) { away->ended[uid] = e; }
  const bool waits_out = e.wait_observations && e.by_driver && now < e.until;
  if (proven || ((!is_watched || is_blind) && !waits_out)) { free(key); }
}

/// Whether or not it has an agent too.
bool DeviceReclaim::isByDriver(const model::NodeName& node) const {
  const sched::NodeState* state = ledger_.find(node);
  return state != nullptr && state->exists && !state->dra_resource.empty();
}

void DeviceReclaim::review(const model::NodeName& node, Mono now) {
  const bool is_watched = watched(node, now);
  if (is_watched) { comeBack(node, now); }
  const auto here = on_node_.find(node);
  if (here == on_node_.end()) { return; }
  const std::vector<model::Uid> uids{here->second.begin(), here->second.end()};
  for (const auto& uid : uids) { reviewOne({uid, node}, is_watched, now); }
}

void DeviceReclaim::statusChanged(const model::GpuNodeStatus& status, Mono now) {
  Observed& seen = observed_[status.node];
  // The first look that we hear of may be older than the end: it says nothing new.
  const bool new_look =
      !seen.time.empty() && !status.observed_time.empty() && status.observed_time != seen.time;
  const bool same_look = !seen.time.empty() && status.observed_time == seen.time;
  seen.time = status.observed_time;
  if (!same_look) { seen.users.clear(); }  // nobody looked: an agent that has just started may name fewer
  for (const auto& device : status.devices) {
    seen.users.insert(device.in_use_by.begin(), device.in_use_by.end());
  }
  (void)agentsOf(status.node, now);
  if (const auto here = on_node_.find(status.node); new_look && here != on_node_.end()) {
    for (const auto& uid : here->second) {
      Ended& e = ended_.at({uid, status.node});
      e.is_seen = e.is_seen || seen.users.contains(uid);
      if (e.floor && status.revision > *e.floor) { ++e.observations; }
    }
  }
  review(status.node, now);
  follow(status);
}

void DeviceReclaim::setFloor(std::uint64_t number, model::Revision revision) {
  const auto set = [&](Ended& e) {
    if (e.wait_observations && !e.floor && e.number <= number) { e.floor = revision; }
  };
  for (auto& [key, e] : ended_) { set(e); }
  for (auto& [node, away] : away_) {
    for (auto& [uid, e] : away.ended) { set(e); }
  }
  unfloored_.erase(unfloored_.begin(), unfloored_.upper_bound(number));
}

void DeviceReclaim::statusGone(const model::NodeName& node, Mono now) {
  observed_.erase(node);
  goAway(node, now);
  review(node, now);
  forgetAgents(node);
}

void DeviceReclaim::nodeChanged(const model::NodeName& node, Mono now) {
  const bool gone = ledger_.find(node) == nullptr || !ledger_.find(node)->exists;
  if (gone) { goAway(node, now); }
  review(node, now);
  forgetAgents(node);
}

/// Nothing is left to say of the agents of a node that is not there.
void DeviceReclaim::forgetAgents(const model::NodeName& node) {
  const auto it = agents_.find(node);
  if (it == agents_.end() || !it->second.ready.empty() || on_node_.contains(node)) { return; }
  const sched::NodeState* state = ledger_.find(node);
  if (state != nullptr && (state->exists || state->agent_stale)) { return; }
  if (it->second.due) { due_.erase({*it->second.due, node}); }
  agents_.erase(it);
}

void DeviceReclaim::agentChanged(const model::NodeName& node, const model::Uid& agent, bool present,
                                 bool ready, Mono now) {
  Agents& a = agentsOf(node, now);
  const bool was_ready = a.isReady();
  const bool was_present = !a.ready.empty();
  if (present) {
    a.ready[agent] = ready;
  } else {
    a.ready.erase(agent);
  }
  if (was_present && a.ready.empty()) { a.absent_since = now; }
  if ((was_ready || !was_present) && !a.isReady()) { a.not_ready_since = now; }
  refreshStale(node, a, now);
  plan(node);
  forgetAgents(node);
}

void DeviceReclaim::refreshStale(const model::NodeName& node, Agents& a, Mono now) {
  const bool stale = !a.ready.empty() && !a.isReady() && now - a.not_ready_since >= kAgentStale;
  if (stale == a.stale) { return; }
  a.stale = stale;
  ledger_.setAgentStale(node, stale);
}

void DeviceReclaim::plan(const model::NodeName& node) {
  const auto it = agents_.find(node);
  if (it == agents_.end()) { return; }
  Agents& a = it->second;
  if (a.due) { due_.erase({*a.due, node}); }
  a.due.reset();
  if (!a.ready.empty() && !a.isReady() && !a.stale) { a.due = a.not_ready_since + kAgentStale; }
  // Nothing is freed before all is known; then each node is looked at.
  if (complete_ && on_node_.contains(node)) {
    const Mono next = a.ready.empty() ? nextEnd(node, a.absent_since + kAgentGone) : nextUnseen(node);
    if (next != Mono::max()) { a.due = a.due ? std::min(*a.due, next) : next; }
  }
  if (a.due) { due_.insert({*a.due, node}); }
}

/// When time alone frees something there, whose agents are away until then.
Mono DeviceReclaim::nextEnd(const model::NodeName& node, Mono absent_until) const {
  Mono next = Mono::max();
  for (const auto& uid : on_node_.at(node)) {
    const Ended& e = ended_.at({uid, node});
    const bool waits_out = e.wait_observations && e.by_driver;
    next = std::min(next, waits_out ? std::max(e.until, absent_until) : absent_until);
  }
  return next;
}

/// The same, of pods that the agent there does not see.
Mono DeviceReclaim::nextUnseen(const model::NodeName& node) const {
  Mono next = Mono::max();
  for (const auto& uid : on_node_.at(node)) {
    const Ended& e = ended_.at({uid, node});
    if (e.wait_observations && e.by_driver && !e.is_seen) { next = std::min(next, e.until); }
  }
  return next;
}

void DeviceReclaim::tick(Mono now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const model::NodeName node = due_.begin()->second;
    refreshStale(node, agents_.at(node), now);
    review(node, now);
    plan(node);
  }
}

}  // namespace gs::engine
