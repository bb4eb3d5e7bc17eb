#include "engine/awaited_looks.h"

#include <algorithm>

#include "base/mutant.h"

namespace gs::engine {

void AwaitedLooks::setDue(Nodes::iterator it, std::optional<Mono> due) {
  auto& [name, node] = *it;
  if (node.due) { due_.erase({*node.due, name}); }
  node.due = due;
  if (due) { due_.insert({*due, name}); }
}

/// Nothing of it is left to know, but for an agent that does not name such GPUs.
void AwaitedLooks::letGo(Nodes::iterator it) {
  setDue(it, std::nullopt);
  it->second.paused.reset();
  if (!it->second.is_in_vain) { nodes_.erase(it); }
}

/// Says whether somebody is waited for. A pause is as long as what was waited before it.
void AwaitedLooks::settle(Nodes::iterator it) {
  Node& node = it->second;
  ledger_.setAwaitsLook(it->first, !node.pods.empty());
  if (!node.pods.empty() || node.is_open || node.paused) { return; }
  const bool waited = node.due && node.since < now_;
  if (!waited) { return letGo(it); }
  node.paused = now_;
  setDue(it, now_ + (now_ - node.since));
}

void AwaitedLooks::came(const model::NodeName& name, const model::Uid& pod, bool runs, Mono now) {
  if (GS_MUTANT(AwaitsNoLooks)) { return; }
  now_ = now;
  const auto it = nodes_.try_emplace(name).first;
  Node& node = it->second;
  if (node.is_in_vain || node.is_open) { return; }
  if (node.pods.empty()) {
    const auto paused = std::exchange(node.paused, std::nullopt);
    const Duration waited = paused ? (*paused - node.since) - (now - *paused) : Duration{};
    node.since = now - std::max(Duration{}, waited);
  }
  Unnamed& unnamed = node.pods[pod];
  if (runs && !unnamed.runs_since) { unnamed.runs_since = now; }
  setDue(it, std::min(now + kLookWait, node.since + kMostWait));
  settle(it);
}

void AwaitedLooks::named(const model::NodeName& name, const model::Uid& pod, bool all) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) { return; }
  Node& node = it->second;
  node.is_in_vain = false;
  const auto known = node.pods.find(pod);
  if (known != node.pods.end()) {
    known->second.some = true;
    if (all) { node.pods.erase(known); }
  }
  settle(it);
}

void AwaitedLooks::over(const model::NodeName& name, const model::Uid& pod) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.pods.erase(pod) == 0) { return; }
  settle(it);
}

void AwaitedLooks::forget(const model::NodeName& name) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) { return; }
  setDue(it, std::nullopt);
  ledger_.setAwaitsLook(name, false);
  nodes_.erase(it);
}

void AwaitedLooks::tick(Mono now) {
  now_ = now;
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto it = nodes_.find(due_.begin()->second);
    Node& node = it->second;
    if (node.is_open || node.paused) {
      node.is_open = false;
      letGo(it);
      continue;
    }
    node.is_in_vain = std::any_of(node.pods.begin(), node.pods.end(), [&](const auto& entry) {
      const Unnamed& unnamed = entry.second;
      return !unnamed.some && unnamed.runs_since && now - *unnamed.runs_since >= kLookWait;
    });
    node.pods.clear();
    node.is_open = true;
    setDue(it, now + kOpen);
    settle(it);
  }
}

}  // namespace gs::engine
