#include "scheduler/placing/nudges.h"

#include <utility>

#include "kapi/write.h"
#include "model/annotations.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {

void Nudges::see(const model::Pod& pod) {
  if (pod.deleting) { return forget(pod.uid); }
  const auto known = waiting_.find(pod.uid);
  if (!pod.awaits_devices) {
    if (known == waiting_.end()) { return; }
    const double s = std::chrono::duration<double>(c_.now.mono - known->second.since).count();
    c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Observe, kDevicesWait, {}, s});
    return forget(pod.uid);
  }
  if (known == waiting_.end()) {
    return begins(pod.uid,
                  waiting_.emplace(pod.uid, Waiting{.node = pod.node, .since = c_.now.mono}).first->second);
  }
  Waiting& one = known->second;
  const bool was_away = std::exchange(one.is_away, isAway(one.node));
  if (was_away && !one.is_away) { return begins(pod.uid, one); }
  nudge(pod, one);
}

void Nudges::begins(const model::Uid& uid, Waiting& one) {
  one.sent = 0;
  one.is_away = isAway(one.node);
  calls_.forget(uid);
  calls_.failed(uid, c_.now.mono);
}

void Nudges::nudge(const model::Pod& pod, Waiting& one) {
  if (one.sent >= kMost || !calls_.due(pod.uid, c_.now.mono)) { return; }
  if (calls_.underWay() >= kAtOnce) {
    return c_.reconciles.addAt(c_.now.mono + std::chrono::seconds{1}, pod.uid);
  }
  ++one.sent;
  c_.count(kNudges);
  c_.sendAbout(pod.uid, kapi::annotatePod(pod, {{model::kNudgeKey, c_.rng.uuid()}}, {}),
               calls_.begin(pod.uid));
}

void Nudges::look(const std::set<model::NodeName>& nodes) {
  if (nodes.empty()) { return; }
  for (const auto& [uid, one] : waiting_) {
    if (nodes.contains(one.node) && isAway(one.node) != one.is_away) { c_.reconciles.add(uid); }
  }
}

/// Whatever was answered: the kubelet needs a moment.
void Nudges::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (call && !call->stale) { calls_.failed(call->key, now.mono, outcome.retry_after); }
}

void Nudges::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& uid : calls_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
}

void Nudges::forget(const model::Uid& uid) {
  if (waiting_.erase(uid) > 0) { calls_.forget(uid); }
}

void Nudges::reset() {
  waiting_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
