// Evictions, and who waits in the end.
//
// When a DELETE of ours leaves, its victim is marked (DisruptionTarget, PreemptionByScheduler), and some pod
// of ours waits that is more important, may preempt, and is nominated to the victim's node: all of that as
// it stands, or stood within what a leader may be late by. Nobody sees for which pod it was meant, so each of
// these is taken for it. One pod makes those of one origin go kMostOfOneOrigin times at most: whoever is made
// again takes no room from it, and so need not go again.
// In the end one of these pods was bound, or is gone, or something arose later that keeps it from its node:
// that some volume changed counts for pods that have any.
// And nobody waits who fits somewhere beside those that are nominated there, or would fit once those of lower
// priority were gone from one node and may preempt.
#include <fmt/format.h>

#include <algorithm>

#include "test/sim/pods_judge.h"

namespace gs::sim {
namespace {

using json::Value;

constexpr const char* kOrigin = "sim/origin";

std::string shortName(const Value& pod) { return std::string{pod["metadata"]["name"].str()}; }

bool isMarked(const Value& pod) {
  const auto& list = pod["status"]["conditions"].items();
  return std::any_of(list.begin(), list.end(), [](const Value& c) {
    return c["type"].str() == "DisruptionTarget" && c["status"].str() == "True" &&
           c["reason"].str() == "PreemptionByScheduler";
  });
}

bool mayPreempt(const Value& pod) { return pod["spec"]["preemptionPolicy"].str() != "Never"; }

std::string toldWhy(const Value& pod) {
  for (const Value& c : pod["status"]["conditions"].items()) {
    if (c["type"].str() == "PodScheduled") { return std::string{c["message"].str()}; }
  }
  return "it was told nothing";
}

/// Pods anywhere may keep it from a node.
bool looksAround(const Value& pod) {
  return slow::hasNear(pod) || slow::hasSpread(pod) || pod["spec"]["affinity"]["podAntiAffinity"].isObject();
}

}  // namespace

bool PodsJudge::isFor(const Pod& pod, const Pod& victim) const {
  const Mono known = knownAt(now());
  const bool waited = (!pod.bound_at || *pod.bound_at >= known) && (!pod.over_at || *pod.over_at >= known);
  const bool may = isOurs(pod) && mayPreempt(pod.value()) &&
                   slow::priorityOf(pod.value()) > slow::priorityOf(victim.value());
  return waited && may &&
         std::any_of(pod.nominations.begin(), pod.nominations.end(), [&](const Nomination& n) {
           return n.node == victim.node && (!n.until || *n.until >= known);
         });
}

void PodsJudge::evicts(const std::string& uid, const Pod& victim) {
  if (victim.leaves_at || victim.over_at) { return; }  // it goes already
  const Value& value = victim.value();
  ++counts_.evictions;
  if (!isMarked(value)) {
    return wrong(fmt::format("{} is told to go, and is not marked with DisruptionTarget", shortName(value)));
  }
  Eviction eviction{uid, {}, victim.node, now()};
  for (const auto& [other, pod] : pods_) {
    if (other != uid && isFor(pod, victim)) { eviction.fors.insert(other); }
  }
  if (eviction.fors.empty()) {
    return wrong(fmt::format(
        "{} (priority {}) is told to go from {}, and no pod that may preempt it is nominated there",
        shortName(value), slow::priorityOf(value), victim.node));
  }
  const std::string label{value["metadata"]["labels"][kOrigin].str()};
  const std::string origin = label.empty() ? uid : label;
  for (const auto& for_whom : eviction.fors) {
    if (eviction.fors.size() > 1) { break; }  // nobody knows for which
    if (!victim.by) { break; }  // another scheduler, which does not know of the nomination, put it there
    if (PodVolumes::hasAny(pods_.at(for_whom).value())) { break; }  // it may give its room back each time
    auto& victims = of_origin_[{for_whom, origin}];
    victims.insert(uid);
    if (victims.size() <= kMostOfOneOrigin) { continue; }
    wrong(
        fmt::format("{} makes pods of {} go again and again", shortName(pods_.at(for_whom).value()), origin));
  }
  evictions_.push_back(std::move(eviction));
}

/// Why `pod` did not come to where others went for it; or it came.
bool PodsJudge::isReasoned(const Eviction& eviction, const Pod& pod) const {
  if (pod.bound_at || pod.over_at || pod.leaves_at) { return true; }
  const auto changed = node_changed_.find(eviction.node);
  if (changed != node_changed_.end() && changed->second >= eviction.at) { return true; }
  if (PodVolumes::hasAny(pod.value()) && volumes_.changedSince(pod.value(), eviction.at)) { return true; }
  const std::int64_t priority = slow::priorityOf(pod.value());
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& one) {
    const Pod& other = one.second;
    if (&other == &pod) { return false; }
    const bool came = other.bound_at && *other.bound_at >= eviction.at;
    if (came && looksAround(pod.value())) { return true; }
    const bool is_first = !isOurs(other) || slow::priorityOf(other.value()) >= priority;
    const bool was_decided =
        other.by && (other.by->first_sent <= eviction.at || PodVolumes::hasAny(other.value()));
    if (came && other.node == eviction.node && (is_first || was_decided)) { return true; }
    return is_first && std::any_of(other.nominations.begin(), other.nominations.end(), [&](const auto& n) {
             return n.node == eviction.node && n.since >= eviction.at;
           });
  });
}

void PodsJudge::evictionsSettled() {
  for (const Eviction& eviction : evictions_) {
    const Pod& victim = pods_.at(eviction.victim);
    if (!victim.leaves_at && !victim.over_at) { continue; }  // the DELETE never landed
    const bool is_reasoned = std::any_of(eviction.fors.begin(), eviction.fors.end(), [&](const auto& uid) {
      return isReasoned(eviction, pods_.at(uid));
    });
    if (is_reasoned) { continue; }
    wrong(fmt::format("{} went from {} for {}, which did not come", shortName(victim.value()), eviction.node,
                      shortName(pods_.at(*eviction.fors.begin()).value())));
  }
}

std::vector<slow::There> PodsJudge::thereNow() const {
  std::vector<slow::There> out;
  for (const auto& [uid, pod] : pods_) {
    if (pod.bound_at && !pod.over_at) { out.push_back({pod.object, pod.node, pod.leaves_at.has_value()}); }
  }
  return out;
}

std::vector<slow::There> PodsJudge::nominatedNow(const std::string& self, const Pod& pod) const {
  std::vector<slow::There> out;
  const std::int64_t priority = slow::priorityOf(pod.value());
  for (const auto& [uid, other] : pods_) {
    const bool waits = uid != self && !other.bound_at && !other.over_at && !other.leaves_at;
    if (!waits || slow::priorityOf(other.value()) < priority || other.nominations.empty()) { continue; }
    const Nomination& nomination = other.nominations.back();
    if (!nomination.until) { out.push_back({other.object, nomination.node, false}); }
  }
  return out;
}

/// Of a node that takes it, as it is or once those of lower priority went; "" where none does.
std::string PodsJudge::roomFor(const std::string& uid, const Pod& pod) const {
  const slow::Places places{nodes_, namespaces_};
  const Value& value = pod.value();
  const auto nominated = nominatedNow(uid, pod);
  const auto takes = [&](const std::string& node, std::vector<slow::There> pods) {
    if (!volumes_.refuses(value, node).empty()) { return false; }
    if (!slow::refuses(places, node, value, pods).empty()) { return false; }
    pods.insert(pods.end(), nominated.begin(), nominated.end());
    return slow::refuses(places, node, value, pods).empty();
  };
  const auto there = thereNow();
  if (!PodVolumes::usesTheSame(value, there).empty()) { return {}; }
  for (const auto& one : nodes_) {
    const std::string& node = one.first;
    if (takes(node, there)) { return fmt::format("{} has room", node); }
    if (!mayPreempt(value)) { continue; }
    auto staying = there;
    std::erase_if(staying, [&](const slow::There& other) {
      return other.node == node && slow::priorityOf(*other.pod) < slow::priorityOf(value);
    });
    const bool anybody = staying.size() < there.size();
    if (anybody && takes(node, std::move(staying))) {
      return fmt::format("{} has room once those of lower priority went", node);
    }
  }
  return {};
}

void PodsJudge::waitersSettled() {
  for (const auto& [uid, pod] : pods_) {
    if (!isOurs(pod) || pod.bound_at || pod.over_at || pod.leaves_at) { continue; }
    const Value& value = pod.value();
    if (const auto room = roomFor(uid, pod); !room.empty()) {
      return wrong(fmt::format("{} waits, and {}: {}", shortName(value), room, toldWhy(value)));
    }
    const auto nominated = value["status"]["nominatedNodeName"].str();
    if (nominated.empty()) { continue; }
    return wrong(fmt::format("{} is nominated to {}, and does not come there", shortName(value), nominated));
  }
}

void PodsJudge::settled() {
  watch();
  waitersSettled();
  evictionsSettled();
}

}  // namespace gs::sim
