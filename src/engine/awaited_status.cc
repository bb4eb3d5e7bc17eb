#include "engine/awaited_status.h"

namespace gs::engine {
namespace {

constexpr Duration kStampUnit = std::chrono::seconds{1};  // what is less is cut off

}  // namespace

void AwaitedStatus::noLongerNew(Nodes::iterator it) {
  Known& known = it->second;
  if (known.until) { due_.erase({*std::exchange(known.until, std::nullopt), it->first}); }
  if (known.created) { listed_.erase({*std::exchange(known.created, std::nullopt), it->first}); }
}

/// Says what follows, and forgets a node of which nothing is there.
void AwaitedStatus::settle(Nodes::iterator it) {
  const Known& known = it->second;
  ledger_.setAwaitsStatus(it->first, known.had_status || known.has_agent || known.until.has_value());
  if (!known.there && !known.has_status && !known.has_agent) { nodes_.erase(it); }
}

void AwaitedStatus::nodeChanged(const model::NodeName& node, Mono now) {
  const sched::NodeState* state = ledger_.find(node);
  const bool there = state != nullptr && state->exists;
  const auto it = nodes_.try_emplace(node).first;
  Known& known = it->second;
  if (there && !known.there && !known.had_status) {
    known.until = now + kStatusGrace;
    due_.insert({*known.until, node});
    const Wall created = state->node.created;
    if (!all_listed_ && created != Wall{}) {
      known.created = created;
      listed_.insert({created, node});
    }
  }
  if (!there) {
    noLongerNew(it);
    known.had_status = known.has_status;
  }
  known.there = there;
  settle(it);
  followStamps();
}

void AwaitedStatus::stamped(Wall at) {
  if (at <= latest_) { return; }
  latest_ = at;
  followStamps();
}

void AwaitedStatus::followStamps() {
  while (!listed_.empty() && latest_ - listed_.begin()->first >= kStatusGrace + kStampUnit) {
    const auto it = nodes_.find(listed_.begin()->second);
    noLongerNew(it);
    settle(it);
  }
}

void AwaitedStatus::statusChanged(const model::NodeName& node, bool present) {
  const auto it = nodes_.try_emplace(node).first;
  it->second.has_status = present;
  it->second.had_status = present || it->second.there;
  noLongerNew(it);
  settle(it);
}

void AwaitedStatus::agentChanged(const model::NodeName& node, bool present) {
  const auto it = nodes_.try_emplace(node).first;
  it->second.has_agent = present;
  settle(it);
}

void AwaitedStatus::tick(Mono now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto it = nodes_.find(due_.begin()->second);
    noLongerNew(it);
    settle(it);
  }
}

}  // namespace gs::engine
