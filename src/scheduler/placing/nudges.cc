#include "scheduler/placing/nudges.h"

#include <utility>

#include "kapi/write.h"
#include "model/annotations.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {

void Nudges::see(const model::Pod& pod) {
  if (!pod.awaits_devices || pod.deleting) { return forget(pod.uid); }
  const auto [sent, is_new] = sent_.try_emplace(pod.uid, 0);
  if (is_new) {
    calls_.failed(pod.uid, c_.now.mono);
    return;
  }
  if (sent->second >= kMost || !calls_.due(pod.uid, c_.now.mono)) { return; }
  if (calls_.underWay() >= kAtOnce) {
    return c_.reconciles.addAt(c_.now.mono + std::chrono::seconds{1}, pod.uid);
  }
  ++sent->second;
  c_.count(kNudges);
  c_.sendAbout(pod.uid, kapi::annotatePod(pod, {{model::kNudgeKey, c_.rng.uuid()}}, {}),
               calls_.begin(pod.uid));
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
  if (sent_.erase(uid) > 0) { calls_.forget(uid); }
}

void Nudges::reset() {
  sent_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
