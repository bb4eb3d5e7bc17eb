// A grant's way to its Binding (grant.h has the states). The rest of the binder is in binder.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "engine/held_devices.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "model/told.h"
#include "sched/doors/door.h"
#include "scheduler/core/metrics.h"
#include "scheduler/placing/binder.h"

namespace gs::scheduler {

bool Binder::advance(const model::Uid& uid) {
  Grant* grant = find(uid);
  if (grant == nullptr) { return false; }
  if (const model::Pod* pod = c_.cache().pod(uid)) { advance(*grant, *pod); }
  return true;
}

bool Binder::gaveUpFor(Grant& grant, const model::Pod& pod) {
  if (pod.deleting) {
    release(grant, "the pod is being deleted");
    return true;
  }
  if (fenceOf(pod) == grant.fence || GS_MUTANT(IgnoresFences)) { return false; }
  giveUp(grant, "the pod was fenced");
  return true;
}

/// One of the ids may reach another device by now.
bool Binder::hasMoved(const Grant& grant) const {
  const sched::NodeState* node = c_.engine.ledger().find(grant.node);
  return node != nullptr && std::any_of(grant.ids.begin(), grant.ids.end(), [&](int id) {
           const sched::DeviceState* device = node->device(id);
           return device != nullptr && device->facts.id_moved;
         });
}

/// The ids mean other devices by now than those that were decided on.
bool Binder::isRenumbered(const Grant& grant) const {
  if (grant.by_id && hasMoved(grant)) { return true; }
  const engine::DeviceIndex* devices = c_.cache().devices(grant.node);
  for (std::size_t i = 0; i < grant.ids.size(); ++i) {
    if (engine::isAnother(devices, grant.ids[i], grant.uuids[i])) { return true; }
  }
  return false;
}

bool Binder::gaveUpRenumbered(Grant& grant) {
  if (!isRenumbered(grant)) { return false; }
  giveUp(grant, "the GPUs of the node have other ids now");
  return true;
}

void Binder::advance(Grant& grant, const model::Pod& pod) {
  if (calls_.open(grant.uid) || c_.now.mono < grant.not_before) { return; }
  switch (grant.stage) {
    case Stage::Leasing:
      if (gaveUpFor(grant, pod)) { return; }
      if (isLeasingTooLong(grant)) {
        slots_.failed(grant.pod.ns);
        grant.in_vain = true;
        giveUp(grant, "its leases could not be written in time");
        return;
      }
      if (gaveUpRenumbered(grant)) { return; }
      if (!grant.open_leases.empty() && !GS_MUTANT(BindsEarly)) { return; }
      if (grant.unknown_lease) {
        takeLeases(grant, true);
      } else {
        bindOrTakeAgain(grant);
      }
      return;
    case Stage::Binding:  // a refused one is sent again
      if (!gaveUpFor(grant, pod) && !gaveUpRenumbered(grant)) { bindOrTakeAgain(grant); }
      return;
    case Stage::Reading:
      call(grant, kapi::getObject(kapi::kPod, grant.pod), Purpose::ReadAfterConflict);
      return;
    case Stage::Fencing: fence(grant); return;
    case Stage::Releasing:
      if (leasesFail(grant)) { slots_.stuck(grant.uid); }
      return;
    case Stage::Bound: return;
  }
}

/// Since it was decided another pod has turned out to have one of its GPUs, whatever the lease says: the
/// agent sees it use it, say. Or pods whose GPUs nobody named have come, or those whose GPU it was to share
/// have left: one of its GPUs may be theirs.
bool Binder::isOvertaken(const Grant& grant) const {
  const sched::NodeState* node = c_.engine.ledger().find(grant.node);
  if (node == nullptr) { return false; }
  return std::any_of(grant.ids.begin(), grant.ids.end(), [&](int id) {
    const sched::DeviceState* device = node->device(id);
    if (device == nullptr) { return false; }
    bool alone = true;
    for (const auto& holder : device->holders) {
      if (holder.uid == grant.uid) { continue; }
      if (!grant.shared || !holder.amount.shared) { return true; }
      alone = false;
    }
    return alone && node->overcommitted;
  });
}

/// A lease that was Held may have gone while others were waited for.
void Binder::bindOrTakeAgain(Grant& grant) {
  if (isOvertaken(grant)) {
    giveUp(grant, "other pods on its node have its GPUs, or may have them: they were bound there meanwhile");
  } else if (holdsAllLeases(grant) || GS_MUTANT(BindsEarly)) {
    bind(grant);
  } else {
    takeLeases(grant, false);
  }
}

/// What the pod is told. What somebody else wrote in our annotations means nothing where no devices are
/// named; bound with it, it would be believed.
sched::Annotations Binder::annotationsOf(const Grant& grant, const model::Pod& pod) const {
  sched::Annotations out;
  if (grant.ids.empty()) { out = sched::disowned(pod, c_.engine.doors()); }
  if (grant.door == nullptr) { return out; }
  const bool uuids = c_.config.visible_uuids;
  auto said = grant.door->annotations({.node = grant.node,
                                       .ids = grant.ids,
                                       .uuids = uuids ? grant.uuids : std::vector<std::string>{},
                                       .reservation = grant.id.text});
  said.merge(out);
  return said;
}

void Binder::bind(Grant& grant) {
  if (pending_.isBeingTold(grant.uid)) { return; }  // then again
  const model::Pod& pod = *c_.cache().pod(grant.uid);
  grant.stage = Stage::Binding;
  if (grant.binding_since == Mono{}) {
    grant.binding_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kReservedAfter, grant.uid);  // its claim may have to say Reserved
  }
  call(grant, kapi::bindPod(pod, grant.node, annotationsOf(grant, pod)), Purpose::Bind);
}

void Binder::bindApplied(Grant& grant) {
  grant.stage = Stage::Bound;
  calls_.drop(grant.uid);
  slots_.worked(grant.pod.ns);
  slots_.close(grant.uid);
  grant.not_before = c_.now.mono;
  tellCaller(grant, true);
  scheduledEvent(grant);
  warnOfUntold(grant);
  warnOfOrder(grant);
  warnOfPicked(grant);
  c_.count(kScheduleAttempts, {{"result", "scheduled"}, {"profile", c_.config.scheduler_name}});
  const auto since = pending_.placed(grant.uid);
  logBound(grant, since);
  if (!since) { return; }
  const double s = std::chrono::duration<double>(c_.now.mono - *since).count();
  c_.out.emplace_back(kapi::Metric{
      kapi::MetricOp::Observe, kSchedulingSli, {{"attempts", std::to_string(grant.sends + 1)}}, s});
}

/// The one line of a decision that came to its end. `since`: when its pod was first seen.
void Binder::logBound(const Grant& grant, std::optional<Mono> since) {
  Context::Fields fields{{"pod", grant.pod.text()}, {"node", grant.node.text}};
  if (!grant.ids.empty()) { fields.emplace_back("gpus", model::printIds(grant.ids)); }
  if (!grant.caches.empty()) { fields.emplace_back("caches", grant.caches); }
  const model::Pod* pod = c_.cache().pod(grant.uid);
  if (auto claim = pod == nullptr ? std::string{} : sched::claimName(*pod); !claim.empty()) {
    fields.emplace_back("claim", std::move(claim));
  }
  if (since) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(c_.now.mono - *since);
    fields.emplace_back("ms", std::to_string(ms.count()));
  }
  c_.log(kapi::Level::Info, "bound", std::move(fields));
}

void Binder::scheduledEvent(const Grant& grant) {
  std::string note = fmt::format("Successfully assigned {} to {}", grant.pod.text(), grant.node.text);
  if (!grant.ids.empty()) { note += fmt::format(" with GPUs {}", model::printIds(grant.ids)); }
  if (!grant.caches.empty()) { note += fmt::format("; {}", grant.caches); }
  const model::Pod* pod = c_.cache().pod(grant.uid);
  if (pod != nullptr && !c_.places(*pod)) { return; }  // kube-scheduler says it of its own
  c_.events.send({kapi::kPod, grant.pod, grant.uid, pod == nullptr ? 0 : pod->revision, false, "Scheduled",
                  "Binding", note},
                 c_.now, c_.out);
}

/// A pod of a claim or a map, where nobody keeps its containers from other GPUs than what it was given.
bool Binder::mayUseOthers(const Grant& grant, const model::Pod& pod) const {
  if (grant.ids.empty() || !sched::asksById(pod, c_.engine.doors())) { return false; }
  const sched::NodeState* node = c_.engine.ledger().find(grant.node);
  return node != nullptr && !node->enforces;
}

/// Its containers were not told what it was given.
void Binder::warnOfUntold(const Grant& grant) {
  const model::Pod* pod = c_.cache().pod(grant.uid);
  if (pod == nullptr || pod->untold.empty() || !mayUseOthers(grant, *pod)) { return; }
  c_.events.send({kapi::kPod, grant.pod, grant.uid, pod->revision, true, "GpuEnvMissing", "Binding",
                  fmt::format("{}, so it may use any GPU of node {}, and the pod was given {}: run "
                              "gpu-scheduler-webhook, or write that entry into the pod",
                              untoldText(*pod), grant.node.text, model::printIds(grant.ids))},
                 c_.now, c_.out);
}

/// They were told ids, and count GPUs in another order. (The webhook would have replaced it.)
void Binder::warnOfOrder(const Grant& grant) {
  const model::Pod* pod = c_.cache().pod(grant.uid);
  if (pod == nullptr || pod->counts_otherwise.empty() || !mayUseOthers(grant, *pod)) { return; }
  if (c_.config.visible_uuids && !model::isToldByValue(*pod)) { return; }
  c_.events.send(
      {kapi::kPod, grant.pod, grant.uid, pod->revision, true, "GpuOrderDiffers", "Binding",
       fmt::format("{}, and ids are in the order {}: on node {} its ids {} may mean GPUs of other pods; run "
                   "gpu-scheduler-webhook, or take that entry out of the pod",
                   pod->counts_otherwise, model::kOrderOfIds, grant.node.text, model::printIds(grant.ids))},
      c_.now, c_.out);
}

/// A pod that is told which GPUs it was given, and whose limits have the kubelet pick some besides, where
/// nobody makes these the same.
void Binder::warnOfPicked(const Grant& grant) {
  const model::Pod* pod = c_.cache().pod(grant.uid);
  const std::int64_t limit = pod == nullptr ? 0 : pod->requests.get(model::kNvidiaGpu);
  if (limit <= 0 || grant.ids.empty() || !sched::asksById(*pod, c_.engine.doors())) { return; }
  const sched::NodeState* node = c_.engine.ledger().find(grant.node);
  if (node == nullptr || node->enforces || node->node.allocatable.get(model::kNvidiaGpu) <= 0) { return; }
  c_.events.send(
      {kapi::kPod, grant.pod, grant.uid, pod->revision, true, "DevicePluginPicks", "Binding",
       fmt::format("the pod was given GPUs {} and is told these, and for its limit nvidia.com/gpu: {} "
                   "the device plugin of node {} picks GPUs, which may be others: take that limit "
                   "out of the pod, for what names its GPUs is enough",
                   model::printIds(grant.ids), limit, grant.node.text)},
      c_.now, c_.out);
}

void Binder::bindAnswered(Grant& grant, const kapi::Outcome& outcome) {
  const bool not_taken = outcome.result == kapi::CallResult::Unknown ||
                         (outcome.result == kapi::CallResult::Refused && outcome.http != 409);
  if (not_taken) { slots_.failed(grant.pod.ns); }
  switch (outcome.result) {
    case kapi::CallResult::Applied: bindApplied(grant); return;
    case kapi::CallResult::Unknown:
      grant.in_vain = true;
      grant.stage = Stage::Fencing;
      advance(grant.uid);
      return;
    case kapi::CallResult::NotSent: bindLater(grant, outcome); return;
    case kapi::CallResult::Refused: break;
  }
  if (outcome.http == 409) {
    grant.stage = Stage::Reading;
    advance(grant.uid);
  } else if (outcome.http == 429) {
    bindLater(grant, outcome);
  } else {
    c_.count(kScheduleAttempts, {{"result", "error"}, {"profile", c_.config.scheduler_name}});
    grant.refused = grant.in_vain = true;
    giveUp(grant, fmt::format("the Binding was refused: {} {}", outcome.http, outcome.message));
  }
}

/// No Binding of this decision was carried out, and none is on its way.
/// What waits for long gives its devices back.
void Binder::bindLater(Grant& grant, const kapi::Outcome& outcome) {
  if (waitShortly(grant, outcome.retry_after)) { return; }
  grant.refused = true;
  // Who says again and again that it is busy may say so of one node only. (Where all are busy the pod comes
  // to a worse node later: that is better than none.)
  grant.in_vain = outcome.result == kapi::CallResult::Refused && grant.rejections > 1;
  giveUp(grant, fmt::format("no Binding could be sent: {} {}", outcome.http, outcome.message));
}

}  // namespace gs::scheduler
