#include "engine/pod_handler.h"

#include "base/mutant.h"

namespace gs::engine {

void PodHandler::apply(const controller::Change& change, Mono now) {
  if (const auto pod = change.object.as<model::Pod>()) { return put(pod, now); }
  const auto last = change.last.as<model::Pod>();
  if (last == nullptr || last->uid != change.last_uid) { return gone(change.last_uid, now); }
  const sched::Holdings said = s_.devices.read(*last);
  put(last, said, now);
  if (!last->bound()) { s_.ends.neverRan(change.last_uid); }    // nor can it be bound any more
  const bool is_known = s_.cache.pod(last->uid) == last.get();  // and no newer version
  gone(change.last_uid, is_known ? &said : nullptr, now);
}

void PodHandler::put(const model::PodPtr& pod, const sched::Holdings& said, Mono now) {
  const auto [before, is_new] = s_.cache.putPod(pod);
  if (!is_new) { return; }
  if (s_.keeps_residents) { s_.residents.changed(before, pod); }
  s_.awaited.stamped(pod->created);
  changed(before, pod.get(), said, now);
}

void PodHandler::gone(const model::Uid& uid, const sched::Holdings* said, Mono now) {
  const auto before = s_.cache.removePod(uid);
  if (s_.keeps_residents) { s_.residents.changed(before, nullptr); }
  if (before) {
    changed(before, nullptr, said != nullptr ? *said : s_.devices.read(*before), now);
  } else {  // only the extender's callers knew it, perhaps
    s_.touched.pod(uid);
    s_.touched.sharing(uid);
  }
  s_.ends.gone(uid, now);
}

void PodHandler::changed(const model::PodPtr& before, const model::Pod* after, const sched::Holdings& said,
                         Mono now) {
  const model::Pod& any = after != nullptr ? *after : *before;
  const model::Uid uid = any.uid;
  const bool used = before && before->bound() && !before->finished();
  const bool uses = after != nullptr && after->bound() && !after->finished();
  if (used && (!uses || after->node != before->node)) {
    s_.held.unuse(before->node, uid);
    if (GS_MUTANT(KeepsPorts)) {
      s_.ledger.usePod(before->node, uid, sched::Source::BoundPod, {}, 0, {}, before->host_ports);
    }
  }
  if (uses) { s_.held.use(*after, said); }
  const bool over = after == nullptr || after->finished();
  s_.near_pods.podChanged(before.get(), after);
  s_.device_claims.podChanged(any, !over && !uses);
  for (const auto& other : s_.volumes.podChanged(any, !over && !uses, uses)) { s_.touched.pod(other); }
  const bool was_over = before && before->finished();
  if (over && any.bound() && !(was_over && s_.reclaim.reclaimed(uid))) {
    const bool clean = after != nullptr     ? after->containers_terminated
                       : before->finished() ? before->containers_terminated
                                            : before->containers_reported_terminated;
    s_.ends.ended(any, said, clean, now);
  }
  if (over) {
    s_.leases.ended(uid);
    s_.taken.ended(uid);
  } else {
    lives(any);
  }
  if (any.is_agent && any.bound()) { agentChanged(any, over, now); }
  s_.held.derive(uid, &said);
  if (used || uses) { s_.unnamed.podChanged(before, after, now); }
  s_.touched.pod(uid);
  if (!said.shares.empty()) { s_.touched.sharing(uid); }
  const std::string claim = sched::claimName(any);
  if (!claim.empty()) { s_.touched.claim({any.key.ns, claim}); }
}

void PodHandler::lives(const model::Pod& pod) {
  if (pod.bound()) { s_.reclaim.lives(pod.uid, pod.node); }
  for (const auto& key : s_.cache.leasesOf(pod.uid)) { s_.leases.stands(pod.uid, *s_.cache.lease(key)); }
}

void PodHandler::agentChanged(const model::Pod& agent, bool over, Mono now) {
  s_.reclaim.agentChanged(agent.node, agent.uid, !over, agent.ready, now);
  s_.awaited.agentChanged(agent.node, s_.reclaim.hasAgent(agent.node));
  s_.unnamed.agentChanged(agent.node);
}

}  // namespace gs::engine
