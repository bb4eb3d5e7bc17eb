#include "scheduler/pending/probes.h"

#include <fmt/format.h>

#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {

void Probes::probe(const model::Pod& pod) {
  states_[pod.uid] = State::UnderWay;
  slots_.open(pod.uid, pod.key.ns);
  c_.count(kFences, {{"why", "probe"}});
  c_.sendAbout(pod.uid, kapi::fencePod(pod.key, pod.uid, c_.rng.uuid()), calls_.begin(pod.uid));
}

void Probes::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  const model::Uid& uid = call->key;
  c_.reconciles.add(uid);
  if (call->stale || !underWay(uid)) { return; }
  slots_.close(uid);
  const auto answer = outcome.object.as<model::Pod>();
  if (outcome.result == kapi::CallResult::Applied && answer != nullptr && answer->uid == uid) {
    states_[uid] = State::WentThrough;
    c_.engine.learn(outcome.object, now.mono);
    return;
  }
  states_[uid] = State::Failed;
  constexpr kapi::RetryTerms kTerms{std::chrono::seconds{1}, std::chrono::seconds{30}};
  pending_.tryLater(uid, kapi::retryWait(pending_.attempts(uid) + 1, outcome.retry_after, kTerms));
  if (const model::Pod* pod = c_.cache().pod(uid)) {
    slots_.failed(pod->key.ns);
    if (!c_.places(*pod)) { return; }  // kube-scheduler says what its pods wait for
    c_.warnOnce(*pod, "FailedScheduling",
                fmt::format("the pod's status cannot be written: {} {}", outcome.http, outcome.message));
  }
}

void Probes::end(const model::Uid& uid) {
  if (underWay(uid)) { slots_.close(uid); }
  states_.erase(uid);
  calls_.drop(uid);
}

void Probes::reset() {
  states_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
