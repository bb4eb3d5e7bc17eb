// What a Binding of ours is judged by.
#include <fmt/format.h>

#include <algorithm>

#include "test/sim/pods_judge.h"

namespace gs::sim {
namespace {

std::string nameOfPod(const json::Value& pod) { return std::string{pod["metadata"]["name"].str()}; }

bool asksBeside(const json::Value& pod) {
  const auto& apart =
      pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  return slow::hasNear(pod) || slow::hasSpread(pod) || !apart.items().empty();
}

}  // namespace

/// Its Bindings to that node; where there were several nobody knows which of them it was.
std::optional<PodsJudge::Attempt> PodsJudge::whoBound(const std::string& uid, const Pod& pod) const {
  std::optional<Attempt> by;
  const auto of = attempts_.find(uid);
  if (of == attempts_.end()) { return by; }
  for (const Attempt& attempt : of->second) {
    if (attempt.node != pod.node || !attempt.binding_sent) { continue; }
    if (!by) {
      by = attempt;
      continue;
    }
    by->decided_from = std::min(by->decided_from, attempt.decided_from);
    by->first_sent = std::max(by->first_sent, attempt.first_sent);
    by->binding_sent = std::max(*by->binding_sent, *attempt.binding_sent);
    by->term = -1;
  }
  return by;
}

std::vector<slow::There> PodsJudge::sure(const std::string& self, const Window& w, Sure how) const {
  std::vector<slow::There> out;
  for (const auto& [uid, pod] : pods_) {
    if (uid == self || !pod.bound_at) { continue; }
    const bool was_there = *pod.bound_at <= w.known && (!pod.over_at || *pod.over_at > w.to);
    const bool is_of_term = pod.by && w.term >= 0 && pod.by->term == w.term && !pod.over_at;
    const bool is_decided = is_of_term && (how == Sure::Between || *pod.by->binding_sent < w.from);
    if (!was_there && !is_decided) { continue; }
    out.push_back({pod.object, pod.node, pod.leaves_at && *pod.leaves_at <= w.to});
  }
  return out;
}

std::vector<slow::There> PodsJudge::most(const std::string& self, const Window& w) const {
  std::vector<slow::There> out;
  for (const auto& [uid, pod] : pods_) {
    if (uid == self || (pod.over_at && *pod.over_at < w.known)) { continue; }
    const bool is_there = pod.bound_at && *pod.bound_at <= w.to;
    if (is_there) { out.push_back({pod.object, pod.node, false}); }
    const auto of = attempts_.find(uid);
    if (of == attempts_.end()) { continue; }
    for (const Attempt& attempt : of->second) {
      const bool counts = attempt.first_sent <= w.to && !(is_there && attempt.node == pod.node);
      if (counts) { out.push_back({pod.object, attempt.node, false}); }
    }
  }
  return out;
}

/// Somebody may be decided on whose writes wait for one that is open, or for volumes: nobody sees where it is
/// to be.
bool PodsJudge::isAnyOnItsWay(const std::string& self, const Window& w) const {
  const bool any_volumes = std::any_of(pods_.begin(), pods_.end(), [&](const auto& one) {
    const Pod& pod = one.second;
    const bool waited = !pod.bound_at || *pod.bound_at > w.from;
    return one.first != self && waited && !(pod.over_at && *pod.over_at < w.known) && isOurs(pod) &&
           PodVolumes::hasAny(pod.value());
  });
  if (any_volumes) { return true; }
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& calls) {
    const auto uid = uids_.find(calls.first.second);
    if (uid == uids_.end() || uid->second == self) { return false; }
    const Pod& pod = pods_.at(uid->second);
    if (!isOurs(pod) || (pod.bound_at && *pod.bound_at <= w.from)) { return false; }
    const bool is_open = calls.second.open > 0 && calls.second.since <= w.to;
    return is_open || std::any_of(calls.second.closed.begin(), calls.second.closed.end(),
                                  [&](const auto& c) { return c.first <= w.to && c.second >= w.from; });
  });
}

/// A write of ours to that pod left after `since`.
bool PodsJudge::wasWrittenTo(const std::string& key, Mono since, Mono to) const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& calls) {
    if (calls.first.second != key) { return false; }
    const Calls& of = calls.second;
    const auto left = [&](Mono at) { return at > since && at <= to; };
    return (of.open > 0 && left(of.since)) ||
           std::any_of(of.closed.begin(), of.closed.end(), [&](const auto& c) { return left(c.first); });
  });
}

/// Those that were nominated there, and may not have to give way to it. One whose volumes may be waited for
/// is left out: it may have been decided to come elsewhere, and then no room is kept for it.
std::vector<slow::There> PodsJudge::nominatedBefore(const std::string& self, const Pod& pod,
                                                    const Window& w) const {
  std::vector<slow::There> out;
  const std::int64_t priority = slow::priorityOf(pod.value());
  for (const auto& [uid, other] : pods_) {
    const bool waits = uid != self && !other.bound_at && !other.over_at && !other.leaves_at;
    if (!waits || slow::priorityOf(other.value()) < priority || other.nominations.empty()) { continue; }
    if (PodVolumes::hasAny(other.value())) { continue; }
    const Nomination& nomination = other.nominations.back();
    if (nomination.until || nomination.node != pod.node) { continue; }
    const auto sent = nominating_.find(uid);
    const bool is_own = sent != nominating_.end() && sent->second.node == pod.node &&
                        sent->second.term == w.term && sent->second.at < w.from;
    const Mono since = is_own ? sent->second.at : nomination.since;
    // A leader that gives up keeps no room from then on, and the write that says so may fail.
    const bool is_left = !wasWrittenTo(keyOf(other.value()), since, w.to);
    if (is_left && (is_own || nomination.since <= w.known)) {
      out.push_back({other.object, pod.node, false});
    }
  }
  return out;
}

/// Why the node refuses, if it did in every state that it had from then on.
template <class Ask>
std::string PodsJudge::refusedAllTheTime(Mono from, Mono to, const std::string& node, const Ask& ask) const {
  std::string why;
  for (std::size_t i = 0; i < nodes_then_.size() && nodes_then_[i].first <= to; ++i) {
    const bool is_over = i + 1 < nodes_then_.size() && nodes_then_[i + 1].first < from;
    if (is_over) { continue; }
    const slow::Places places{nodes_then_[i].second, namespaces_};
    const auto it = places.nodes.find(node);
    why = it == places.nodes.end() ? "the node is not there" : ask(places, *it->second);
    if (why.empty()) { return why; }
  }
  return why;
}

std::string PodsJudge::whyNot(const std::string& uid, const Pod& pod, const Window& w) const {
  const json::Value& value = pod.value();
  const auto between = sure(uid, w, Sure::Between);
  auto why = refusedAllTheTime(w.known, w.to, pod.node, [&](const auto&, const json::Value& node) {
    return slow::refusesFacts(node, value);
  });
  if (!why.empty()) { return why; }
  why = refusedAllTheTime(w.known, now(), pod.node, [&](const auto& places, const json::Value& node) {
    const auto room = slow::refusesRoom(node, value, between);
    return room.empty() ? slow::refusesApart(places, pod.node, value, between) : room;
  });
  if (why.empty()) { why = PodVolumes::usesTheSame(value, between); }
  if (!why.empty() || isDisturbed(w.from) || w.term < 0) { return why; }
  const auto known = sure(uid, w, Sure::ByThen);
  auto beside = nominatedBefore(uid, pod, w);
  if (!beside.empty()) {
    const std::string for_whom = nameOfPod(*beside.front().pod);
    beside.insert(beside.end(), known.begin(), known.end());
    why = refusedAllTheTime(w.known, w.to, pod.node, [&](const auto&, const json::Value& node) {
      return slow::refusesRoom(node, value, beside);
    });
    if (!why.empty()) { return fmt::format("room is kept there for {}: {}", for_whom, why); }
  }
  if (isAnyOnItsWay(uid, w)) { return why; }
  const auto all = most(uid, w);
  return refusedAllTheTime(w.known, w.to, pod.node, [&](const auto& places, const json::Value&) {
    const auto near = slow::refusesNear(places, pod.node, value, known, all);
    return near.empty() ? slow::refusesSpread(places, pod.node, value, known, all) : near;
  });
}

void PodsJudge::bound(const std::string& uid, Pod& pod) {
  pod.by = whoBound(uid, pod);
  if (!isOurs(pod) || !pod.by) { return; }
  ++counts_.bindings;
  counts_.beside += asksBeside(pod.value()) ? 1 : 0;
  const bool was_made_room = std::any_of(evictions_.begin(), evictions_.end(), [&](const Eviction& eviction) {
    return eviction.fors.contains(uid);
  });
  counts_.came += was_made_room ? 1 : 0;
  const Window w{knownAt(pod.by->decided_from), pod.by->decided_from, pod.by->first_sent, pod.by->term};
  const auto why = whyNot(uid, pod, w);
  if (why.empty()) { return; }
  wrong(fmt::format("{} was bound to {}, which refuses it: {}", nameOfPod(pod.value()), pod.node, why));
}

}  // namespace gs::sim
