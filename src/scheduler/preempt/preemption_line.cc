#include "scheduler/preempt/preemption_line.h"

#include <utility>

#include "base/check.h"

namespace gs::scheduler {

void PreemptionLine::add(const model::Pod& pod, int tries) {
  Place place{pod.key.ns, {-std::int64_t{pod.priority}, tries, pod.created, pod.uid}};
  const auto [known, fresh] = place_.try_emplace(pod.uid, std::move(place));
  if (!fresh) { return; }
  auto& of = by_namespace_[known->second.ns];
  if (!of.empty()) { fronts_.erase(*of.begin()); }
  of.insert(known->second.turn);
  fronts_.emplace(*of.begin(), known->second.ns);
}

void PreemptionLine::remove(const model::Uid& uid) {
  const auto place = place_.extract(uid);
  if (place.empty()) { return; }
  const auto of = by_namespace_.find(place.mapped().ns);
  fronts_.erase(*of->second.begin());
  of->second.erase(place.mapped().turn);
  if (of->second.empty()) {
    by_namespace_.erase(of);
  } else {
    fronts_.emplace(*of->second.begin(), of->first);
  }
}

/// Of a namespace that has no room for its first one the others are not more important, and have none either.
std::optional<model::Uid> PreemptionLine::next() const {
  for (const auto& [turn, ns] : fronts_) {
    const auto priority = static_cast<std::int32_t>(-std::get<0>(turn));
    if (hasRoom(ns, priority)) { return std::get<model::Uid>(turn); }
    if (heldFrom(priority) >= kMost) { return std::nullopt; }
  }
  return std::nullopt;
}

std::optional<model::Uid> PreemptionLine::take() {
  auto uid = next();
  if (uid) { remove(*uid); }
  return uid;
}

int PreemptionLine::heldFrom(std::int32_t priority) const {
  int all = 0;
  for (auto it = held_.lower_bound(priority); it != held_.end(); ++it) { all += it->second.used(); }
  return all;
}

bool PreemptionLine::hasRoom(const std::string& ns, std::int32_t priority) const {
  int own = 0;
  for (auto it = held_.lower_bound(priority); it != held_.end(); ++it) { own += it->second.usedBy(ns); }
  return heldFrom(priority) + own < kMost;
}

void PreemptionLine::hold(const std::string& ns, std::int32_t priority) {
  held_.try_emplace(priority, kMost).first->second.take(ns);
}

void PreemptionLine::giveBack(const std::string& ns, std::int32_t priority) {
  const auto of = held_.find(priority);
  GS_CHECK(of != held_.end(), "no nomination of priority {} is held", priority);
  of->second.giveBack(ns);
  if (of->second.used() == 0) { held_.erase(of); }
}

void PreemptionLine::reset() {
  place_.clear();
  by_namespace_.clear();
  fronts_.clear();
  held_.clear();
}

}  // namespace gs::scheduler
