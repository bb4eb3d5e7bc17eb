#include "extender/wakes.h"

#include <fmt/format.h>

#include "extender/grants/metrics.h"
#include "kapi/write.h"

namespace gs::extender {

void Wakes::wakeSomebody() {
  const auto may_be = [this](const model::Uid& uid) {
    return grants_.find(uid) == nullptr && troubles_.isQuiet(uid, c_.now.mono);
  };
  const auto is_stuck = [this](const std::string& ns) { return troubles_.stuckIn(ns) != nullptr; };
  const auto uid = refusals_.next(c_.now.mono, may_be, is_stuck);
  const model::Pod* pod = uid ? c_.engine.cache().pod(*uid) : nullptr;
  if (pod == nullptr) { return; }
  calls_.send(kapi::wakePod(*pod, c_.rng.uuid()), PodCalls::Purpose::Wake, *uid, c_.out);
  c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Add, kWakes, {}, 1});
}

/// Where it was not written, the pod may have changed, which wakes kube-scheduler too; or it waits on, and
/// whoever asks about it meanwhile, too: no write of a pod is tried again at once.
void Wakes::answered(const model::Uid& uid, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr && pod->uid == uid) {
    troubles_.worked(uid, pod->key.ns);
    c_.engine.learn(outcome.object, c_.now.mono);
    return;
  }
  refusals_.notWoken(uid, c_.now.mono);
  if (const model::Pod* known = c_.engine.cache().pod(uid)) {
    if (outcome.http != 409) { troubles_.failedIn(known->key.ns, outcome); }  // it changed, no more
    (void)troubles_.refused(uid,
                            fmt::format("cannot annotate pod {}: {} {}; ask again", known->key.text(),
                                        outcome.http, outcome.message),
                            c_.now.mono);
  }
}

}  // namespace gs::extender
