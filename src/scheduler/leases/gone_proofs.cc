#include "scheduler/leases/gone_proofs.h"

#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::scheduler {

void GoneProofs::prove(const model::Uid& uid, const model::ObjectKey& known) {
  if (!calls_.due(uid, c_.now.mono)) { return; }
  model::ObjectKey key = known;
  if (const model::Pod* pod = c_.cache().pod(uid)) { key = pod->key; }
  for (const auto& lease_key : c_.cache().leasesOf(uid)) {
    const auto part = c_.cache().lease(lease_key)->partOf(uid);
    if (part && key.name.empty()) { key = part->pod; }
  }
  if (key.name.empty()) {
    calls_.failed(uid, c_.now.mono);
    c_.log(kapi::Level::Warn, "a lease names no pod, so its end cannot be proven; delete the lease by hand",
           {{"uid", uid.text}});
    return;
  }
  c_.sendAbout(uid, kapi::getObject(kapi::kPod, key), calls_.begin(uid));
}

void GoneProofs::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  c_.reconciles.add(call->key);
  const auto pod = outcome.object.as<model::Pod>();
  const bool answered = outcome.result == kapi::CallResult::Applied && pod != nullptr;
  if (outcome.notFound() || (answered && pod->uid != call->key)) {
    calls_.worked(call->key);
    c_.engine.podGone(call->key, now.mono);
    return;
  }
  calls_.failed(call->key, now.mono, outcome.retry_after);
  if (answered) { c_.engine.learn(outcome.object, now.mono); }
}

void GoneProofs::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& uid : calls_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
}

}  // namespace gs::scheduler
