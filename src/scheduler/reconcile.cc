// reconcile(uid): the next right thing for one pod, from what is known now.
#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "sched/doors/exact.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {

/// One event may concern very many pods, all of a claim say, and the ResourceClaims of one may take as long
/// to read as those of hundreds: the others have their turn at the next.
void Scheduler::reconcileSome(int& left) {
  c_.reconciles.add(c_.engine.takeTouched());
  const std::uint64_t until = c_.engine.looks() + Unschedulable::kLooksPerTurn;
  while (left > 0) {
    const auto uid = c_.reconciles.take();
    if (!uid) { return; }
    --left;
    reconcile(*uid);
    if (c_.engine.looks() >= until) { left = 0; }
    if (c_.reconciles.empty()) { c_.reconciles.add(c_.engine.takeTouched()); }
  }
}

void Scheduler::reconcile(const model::Uid& uid) {
  ++reconciles_;
  allocations_.touched(uid);
  volumes_.touched(uid);
  const model::Pod* pod = c_.cache().pod(uid);
  if (pod == nullptr || pod->finished()) {
    reconcileEnded(uid);
  } else if (pod->bound()) {
    reconcileBound(*pod);
  } else {
    reconcileUnbound(*pod);
  }
}

void Scheduler::reconcileEnded(const model::Uid& uid) {
  c_.parts.podEnded(uid);
  c_.warnings.forget(uid);
  const std::set<model::ObjectKey> leases = c_.cache().leasesOf(uid);
  if (leases.empty()) { return; }
  if (GS_MUTANT(ForgetsOnEnd)) { return; }
  if (c_.cache().pod(uid) == nullptr && !c_.cache().knownGone(uid)) {
    if (GS_MUTANT(CacheSaysGone)) { return c_.engine.podGone(uid, c_.now.mono); }
    proofs_.prove(uid);
    return;
  }
  if (!c_.engine.reclaim().reclaimed(uid)) { return; }
  if (const model::Pod* pod = c_.cache().pod(uid); pod != nullptr && !c_.ours(*pod)) { return; }
  for (const auto& key : leases) { desk_.give(key, uid); }
}

void Scheduler::reconcileBound(const model::Pod& pod) {
  c_.parts.podBound(pod);
  if (!binder_.bound(pod)) { return; }
  pending_.over(pod.uid);
  contradictions_.see(pod);
  if (c_.ours(pod)) { nudges_.see(pod); }
  if (c_.ours(pod)) { return device_health_.see(pod, bound_leases_.see(pod)); }
  // Leases that name it are another installation's.
  if (GS_MUTANT(DropsOthersLeases)) {
    for (const auto& key : std::set{c_.cache().leasesOf(pod.uid)}) { desk_.give(key, pod.uid); }
  }
  if (!sched::allocatedIds(pod)) { return; }
  c_.warnOnce(pod, "GpuHeldByForeignPod",
              fmt::format("annotation {} is set on a pod of scheduler {}; its GPUs count as held",
                          model::kAllocatedKey, pod.scheduler_name));
}

/// To find a node for it: one of ours, or one that its kube-scheduler found none for.
bool Scheduler::isOurTurn(const model::Pod& pod) {
  if (c_.places(pod)) { return true; }
  if (!c_.asksUs(pod) || !sched::asksAtOwnDoor(pod, c_.engine.doors())) { return false; }
  nominator_.seen(pod);
  return nominator_.isToBeWoken(pod.uid);
}

/// For whom others went, or another scheduler says so, and whose turn to have others go has come again.
void Scheduler::seeNominations(const model::Pod& pod) {
  if (!c_.places(pod)) { return preemptor_.theirs(pod); }
  if (!term_.taking()) { return; }
  preemptor_.consider(pod);
  const auto pod_class = pending_.classOf(pod.uid);
  if (pod_class && c_.engine.queue().unschedulableClasses().contains(*pod_class)) { preemptor_.wanted(pod); }
}

void Scheduler::reconcileUnbound(const model::Pod& pod) {
  if (c_.places(pod)) { pending_.seen(pod.uid); }
  seeNominations(pod);
  if (binder_.has(pod.uid)) {
    if (binder_.reserved(pod.uid)) { pending_.touchClaimOf(pod.uid); }
    (void)binder_.advance(pod.uid);
    return;
  }
  if (probes_.underWay(pod.uid)) { return; }  // its answer brings a newer version
  if (leftovers_.removing(pod.uid)) { return leftovers_.remove(pod); }
  if (!c_.ours(pod) && !GS_MUTANT(DropsOthersLeases)) { return; }
  if (leftovers_.has(pod)) {
    if (!pending_.mayTry(pod.uid)) { return; }
    if (!c_.places(pod)) { return asked_binds_.mayBeAskedAgain(pod.uid) ? void() : leftovers_.remove(pod); }
    if (!term_.taking() || !leftovers_.adopt(pod)) { leftovers_.remove(pod); }
  } else if (pod.deleting || !term_.taking() || !isOurTurn(pod)) {
    pending_.dequeue(pod.uid);
    asked_binds_.forget(pod.uid);
  } else {
    placer_.enqueue(pod);
  }
}

/// What came of a lease that a binding cycle or a bound pod wishes for.
void Scheduler::noticed(const LeaseNotice& notice) {
  c_.reconciles.add(notice.uid);
  if (binder_.noticed(notice)) { return; }
  const model::Pod* pod = c_.cache().pod(notice.uid);
  if (pod != nullptr && pod->bound()) { bound_leases_.repaired(*pod, notice); }
}

/// What came of a ResourceClaim.
void Scheduler::noticed(const AllocationNotice& notice) {
  c_.reconciles.add(notice.uid);
  if (!binder_.noticed(notice)) { (void)leftovers_.noticed(notice); }
}

/// What came of a pod's volumes.
void Scheduler::noticed(const VolumeNotice& notice) {
  c_.reconciles.add(notice.uid);
  (void)binder_.noticed(notice);
}

bool Scheduler::podWriteOpen(const model::Uid& uid) const {
  return binder_.writes(uid) || probes_.underWay(uid) || leftovers_.writes(uid) || preemptor_.writes(uid);
}

}  // namespace gs::scheduler
