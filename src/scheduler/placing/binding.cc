// A cycle's way to its Binding (binding_cycle.h has the states). The rest of the binder is in binder.cc.
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
namespace {

/// Where its containers have what the pod was given and nothing else: UUIDs, and where one is not known their
/// places, which begin with 0 there. (A GPU without a UUID is known by its driver's name of it.)
std::vector<std::string> visibleInside(const BindingCycle& cycle) {
  const auto is_known = [](const std::string& uuid) {
    return !uuid.empty() && uuid.find('/') == std::string::npos;
  };
  if (std::all_of(cycle.uuids.begin(), cycle.uuids.end(), is_known)) { return cycle.uuids; }
  std::vector<std::string> places;
  for (std::size_t i = 0; i < cycle.ids.size(); ++i) { places.push_back(std::to_string(i)); }
  return places;
}

}  // namespace

bool Binder::advance(const model::Uid& uid) {
  BindingCycle* cycle = find(uid);
  if (cycle == nullptr) { return false; }
  if (const model::Pod* pod = c_.cache().pod(uid)) { advance(*cycle, *pod); }
  return true;
}

bool Binder::gaveUpFor(BindingCycle& cycle, const model::Pod& pod) {
  if (pod.deleting) {
    release(cycle, "the pod is being deleted");
    return true;
  }
  const std::string fence = fenceOf(pod);
  const bool is_own_mapping = !cycle.map_fence.empty() && fence == cycle.map_fence;
  if (fence == cycle.fence || is_own_mapping || GS_MUTANT(IgnoresFences)) { return false; }
  giveUp(cycle, "the pod was fenced");
  return true;
}

/// One of the ids may reach another device by now.
bool Binder::hasMoved(const BindingCycle& cycle) const {
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  return node != nullptr && std::any_of(cycle.ids.begin(), cycle.ids.end(), [&](int id) {
           const sched::DeviceState* device = node->device(id);
           return device != nullptr && device->facts.id_moved;
         });
}

/// The ids mean other devices by now than those that were decided on.
bool Binder::isRenumbered(const BindingCycle& cycle) const {
  if (cycle.by_id && hasMoved(cycle)) { return true; }
  const engine::DeviceIndex* devices = c_.cache().devices(cycle.node);
  for (std::size_t i = 0; i < cycle.ids.size(); ++i) {
    if (engine::isAnother(devices, cycle.ids[i], cycle.uuids[i])) { return true; }
  }
  return false;
}

bool Binder::gaveUpRenumbered(BindingCycle& cycle) {
  if (!isRenumbered(cycle)) { return false; }
  giveUp(cycle, "the GPUs of the node have other ids now");
  return true;
}

void Binder::advance(BindingCycle& cycle, const model::Pod& pod) {
  if (calls_.open(cycle.uid) || c_.now.mono < cycle.not_before) { return; }
  switch (cycle.stage) {
    case Stage::Leasing:
      if (gaveUpFor(cycle, pod)) { return; }
      if (isLeasingTooLong(cycle)) {
        slots_.failed(cycle.pod.ns);
        cycle.in_vain = true;
        giveUp(cycle, "its leases could not be written in time");
        return;
      }
      if (gaveUpRenumbered(cycle)) { return; }
      if (!cycle.open_leases.empty() && !GS_MUTANT(BindsEarly)) { return; }
      if (cycle.unknown_lease) {
        takeLeases(cycle, true);
      } else {
        bindOrTakeAgain(cycle);
      }
      return;
    case Stage::Volumes: advanceVolumes(cycle, pod); return;
    case Stage::Allocating: advanceAllocating(cycle, pod); return;
    case Stage::Binding:  // a refused one is sent again
      if (!gaveUpFor(cycle, pod) && !gaveUpRenumbered(cycle)) { bindOrTakeAgain(cycle); }
      return;
    case Stage::Reading:
      call(cycle, kapi::getObject(kapi::kPod, cycle.pod), Purpose::ReadAfterConflict);
      return;
    case Stage::Fencing: fence(cycle); return;
    case Stage::Releasing:
      if (leasesFail(cycle) || (cycle.emptying && allocations_.failing(cycle.uid))) {
        slots_.stuck(cycle.uid);
      }
      return;
    case Stage::Bound: return;
  }
}

/// Since it was decided another pod has turned out to have one of its GPUs, whatever the lease says: the
/// agent sees it use it, say. Or pods whose GPUs nobody named have come, or those whose GPU it was to share
/// have left: one of its GPUs may be theirs.
bool Binder::isOvertaken(const BindingCycle& cycle) const {
  if (isSharedWithOthers(cycle)) { return true; }
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  if (node == nullptr) { return false; }
  return std::any_of(cycle.ids.begin(), cycle.ids.end(), [&](int id) {
    const sched::DeviceState* device = node->device(id);
    if (device == nullptr) { return false; }
    bool alone = true;
    for (const auto& holder : device->holders) {
      if (holder.uid == cycle.uid) { continue; }
      if (!cycle.shared || !holder.amount.shared) { return true; }
      alone = false;
    }
    return alone && node->overcommitted;
  });
}

/// A lease that was Held may have gone while others were waited for.
void Binder::bindOrTakeAgain(BindingCycle& cycle) {
  if (isOvertaken(cycle)) {
    metOthers(cycle);
    giveUp(cycle, "other pods on its node have its GPUs, or may have them: they were bound there meanwhile");
  } else if (!allocatesAsDecided(cycle)) {
    giveUp(cycle, "its node gives these GPUs in another way now, or under other names");
  } else if (!holdsAllLeases(cycle) && !GS_MUTANT(BindsEarly)) {
    takeLeases(cycle, false);
  } else if (!volumes_.areBound(cycle.uid) && !GS_MUTANT(BindsUnbound)) {
    bindVolumes(cycle);
  } else if (!isAllocated(cycle)) {
    allocate(cycle);
  } else {
    bind(cycle);
  }
}

/// What the pod is told. What somebody else wrote in our annotations means nothing where no devices are
/// named; bound with it, it would be believed.
sched::Annotations Binder::annotationsOf(const BindingCycle& cycle, const model::Pod& pod) const {
  sched::Annotations out;
  if (cycle.ids.empty()) { out = sched::disowned(pod, c_.engine.doors()); }
  if (cycle.door == nullptr) { return out; }
  std::vector<std::string> visible;
  if (!cycle.allocations.empty()) {
    visible = visibleInside(cycle);
  } else if (c_.config.visible_uuids) {
    visible = cycle.uuids;
  }
  auto said = cycle.door->annotations(
      {.node = cycle.node, .ids = cycle.ids, .uuids = std::move(visible), .reservation = cycle.id.text});
  said.merge(out);
  return said;
}

void Binder::bind(BindingCycle& cycle) {
  if (pending_.isBeingTold(cycle.uid)) { return; }  // then again
  const model::Pod& pod = *c_.cache().pod(cycle.uid);
  cycle.stage = Stage::Binding;
  if (cycle.binding_since == Mono{}) {
    cycle.binding_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kReservedAfter, cycle.uid);  // its claim may have to say Reserved
  }
  call(cycle, kapi::bindPod(pod, cycle.node, annotationsOf(cycle, pod)), Purpose::Bind);
}

void Binder::bindApplied(BindingCycle& cycle) {
  cycle.stage = Stage::Bound;
  calls_.drop(cycle.uid);
  slots_.worked(cycle.pod.ns);
  slots_.close(cycle.uid);
  cycle.not_before = c_.now.mono;
  tellCaller(cycle, true);
  scheduledEvent(cycle);
  warnOfUntold(cycle);
  warnOfOrder(cycle);
  warnOfPicked(cycle);
  c_.count(kScheduleAttempts, {{"result", "scheduled"}, {"profile", c_.config.scheduler_name}});
  const auto since = pending_.placed(cycle.uid);
  logBound(cycle, since);
  if (!since) { return; }
  const double s = std::chrono::duration<double>(c_.now.mono - *since).count();
  c_.out.emplace_back(kapi::Metric{
      kapi::MetricOp::Observe, kSchedulingSli, {{"attempts", std::to_string(cycle.sends + 1)}}, s});
}

/// The one line of a decision that came to its end. `since`: when its pod was first seen.
void Binder::logBound(const BindingCycle& cycle, std::optional<Mono> since) {
  Context::Fields fields{{"pod", cycle.pod.text()}, {"node", cycle.node.text}};
  if (!cycle.ids.empty()) { fields.emplace_back("gpus", model::printIds(cycle.ids)); }
  if (!cycle.caches.empty()) { fields.emplace_back("caches", cycle.caches); }
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (auto claim = pod == nullptr ? std::string{} : sched::claimName(*pod); !claim.empty()) {
    fields.emplace_back("claim", std::move(claim));
  }
  if (since) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(c_.now.mono - *since);
    fields.emplace_back("ms", std::to_string(ms.count()));
  }
  c_.log(kapi::Level::Info, "bound", std::move(fields));
}

void Binder::scheduledEvent(const BindingCycle& cycle) {
  std::string note = fmt::format("Successfully assigned {} to {}", cycle.pod.text(), cycle.node.text);
  if (!cycle.ids.empty()) { note += fmt::format(" with GPUs {}", model::printIds(cycle.ids)); }
  if (!cycle.caches.empty()) { note += fmt::format("; {}", cycle.caches); }
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (pod != nullptr && !c_.places(*pod)) { return; }  // kube-scheduler says it of its own
  c_.events.send({kapi::kPod, cycle.pod, cycle.uid, pod == nullptr ? 0 : pod->revision, false, "Scheduled",
                  "Binding", note},
                 c_.now, c_.out);
}

/// A pod of a claim or a map, where nobody keeps its containers from other GPUs than what it was given.
bool Binder::mayUseOthers(const BindingCycle& cycle, const model::Pod& pod) const {
  if (cycle.ids.empty() || !sched::asksById(pod, c_.engine.doors())) { return false; }
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  return node != nullptr && !node->enforces;
}

/// Its containers were not told what it was given.
void Binder::warnOfUntold(const BindingCycle& cycle) {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (pod == nullptr || pod->untold.empty() || !mayUseOthers(cycle, *pod)) { return; }
  c_.events.send({kapi::kPod, cycle.pod, cycle.uid, pod->revision, true, "GpuEnvMissing", "Binding",
                  fmt::format("{}, so it may use any GPU of node {}, and the pod was given {}: run "
                              "gpu-scheduler-webhook, or write that entry into the pod",
                              untoldText(*pod), cycle.node.text, model::printIds(cycle.ids))},
                 c_.now, c_.out);
}

/// They were told ids, and count GPUs in another order. (The webhook would have replaced it.)
void Binder::warnOfOrder(const BindingCycle& cycle) {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (pod == nullptr || pod->counts_otherwise.empty() || !mayUseOthers(cycle, *pod)) { return; }
  if (c_.config.visible_uuids && !model::isToldByValue(*pod)) { return; }
  c_.events.send(
      {kapi::kPod, cycle.pod, cycle.uid, pod->revision, true, "GpuOrderDiffers", "Binding",
       fmt::format("{}, and ids are in the order {}: on node {} its ids {} may mean GPUs of other pods; run "
                   "gpu-scheduler-webhook, or take that entry out of the pod",
                   *pod->counts_otherwise, model::kOrderOfIds, cycle.node.text, model::printIds(cycle.ids))},
      c_.now, c_.out);
}

/// A pod that is told which GPUs it was given, and whose limits have the kubelet pick some besides, where
/// nobody makes these the same.
void Binder::warnOfPicked(const BindingCycle& cycle) {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  const std::int64_t limit = pod == nullptr ? 0 : pod->requests.get(model::kNvidiaGpu);
  if (limit <= 0 || cycle.ids.empty() || !sched::asksById(*pod, c_.engine.doors())) { return; }
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  if (node == nullptr || node->enforces || node->node.allocatable.get(model::kNvidiaGpu) <= 0) { return; }
  c_.events.send(
      {kapi::kPod, cycle.pod, cycle.uid, pod->revision, true, "DevicePluginPicks", "Binding",
       fmt::format("the pod was given GPUs {} and is told these, and for its limit nvidia.com/gpu: {} "
                   "the device plugin of node {} picks GPUs, which may be others: take that limit "
                   "out of the pod, for what names its GPUs is enough",
                   model::printIds(cycle.ids), limit, cycle.node.text)},
      c_.now, c_.out);
}

void Binder::bindAnswered(BindingCycle& cycle, const kapi::Outcome& outcome) {
  const bool not_taken = outcome.result == kapi::CallResult::Unknown ||
                         (outcome.result == kapi::CallResult::Refused && outcome.http != 409);
  if (not_taken) { slots_.failed(cycle.pod.ns); }
  switch (outcome.result) {
    case kapi::CallResult::Applied: bindApplied(cycle); return;
    case kapi::CallResult::Unknown:
      cycle.in_vain = true;
      cycle.stage = Stage::Fencing;
      advance(cycle.uid);
      return;
    case kapi::CallResult::NotSent: bindLater(cycle, outcome); return;
    case kapi::CallResult::Refused: break;
  }
  if (outcome.http == 409) {
    cycle.stage = Stage::Reading;
    advance(cycle.uid);
  } else if (outcome.http == 429) {
    bindLater(cycle, outcome);
  } else {
    c_.count(kScheduleAttempts, {{"result", "error"}, {"profile", c_.config.scheduler_name}});
    cycle.refused = cycle.in_vain = true;
    giveUp(cycle, fmt::format("the Binding was refused: {} {}", outcome.http, outcome.message));
  }
}

/// No Binding of this decision was carried out, and none is on its way.
/// What waits for long gives its devices back.
void Binder::bindLater(BindingCycle& cycle, const kapi::Outcome& outcome) {
  if (waitShortly(cycle, outcome.retry_after)) { return; }
  cycle.refused = true;
  // Who says again and again that it is busy may say so of one node only. (Where all are busy the pod comes
  // to a worse node later: that is better than none.)
  cycle.in_vain = outcome.result == kapi::CallResult::Refused && cycle.rejections > 1;
  giveUp(cycle, fmt::format("no Binding could be sent: {} {}", outcome.http, outcome.message));
}

}  // namespace gs::scheduler
