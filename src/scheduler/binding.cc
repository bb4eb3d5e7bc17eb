// A grant's way from its leases to the Binding, and back (grant.h has the states).
#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "engine/held_devices.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {
namespace {

using kapi::Fate;
constexpr int kMaxBindSends = 3;
constexpr Duration kBindingAtMost = std::chrono::seconds{10};  // then others may have the GPUs
constexpr Duration kLeasingAtMost = std::chrono::seconds{10};
constexpr Duration kFailingAtMost = std::chrono::seconds{3};  // when its leases fail, and are not merely slow

}  // namespace

void Scheduler::tryLater(Grant& grant, Duration retry_after) {
  grant.not_before = now_.mono + kapi::retryWait(++grant.refusals, retry_after);
  review_later_.emplace(grant.not_before, grant.uid);
  slots_.wait(grant.uid);
}

/// False: it would hold its devices for too long; no Binding of it is on its way, and something else may be done at once.
bool Scheduler::waitShortly(Grant& grant, Duration retry_after) {
  tryLater(grant, retry_after);
  if (grant.not_before - grant.binding_since <= kBindingAtMost) { return true; }
  grant.asked_for = retry_after;
  grant.not_before = now_.mono;
  return false;
}

Grant* Scheduler::grantOf(const model::Uid& uid) {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

model::ObjectKey Scheduler::leaseKey(const model::NodeName& node, int id) const {
  return {config_.lease_namespace, model::leaseName(node, id)};
}

std::string Scheduler::fenceOf(const model::Pod& pod) const {
  const std::string* value = pod.annotation(model::kFenceKey);
  return value == nullptr ? std::string{} : *value;
}

Claimant Scheduler::claimant(const model::Uid& uid, const model::ObjectKey& pod,
                             const model::ReservationId& reservation, const Placing& placing, int id) const {
  Claimant c;
  c.uid = uid;
  c.pod = pod;
  c.reservation = reservation;
  c.node = placing.node;
  c.gpu = id;
  c.devices = model::printAllocation(placing.node, placing.ids);
  c.shared = placing.shared;
  c.gpu_uuid = gpuUuid(placing.node, id);
  return c;
}

/// "" when its agent does not say.
std::string Scheduler::gpuUuid(const model::NodeName& node, int id) const {
  return engine::uuidOf(engine_.cache().status(node), id);
}

std::vector<std::string> Scheduler::gpuUuids(const model::NodeName& node, const std::vector<int>& ids) const {
  std::vector<std::string> uuids;
  uuids.reserve(ids.size());
  for (const int id : ids) { uuids.push_back(gpuUuid(node, id)); }
  return uuids;
}

/// The ids mean other devices by now than those that were decided on.
bool Scheduler::isRenumbered(const Grant& grant) const {
  const model::GpuNodeStatus* status = engine_.cache().status(grant.node);
  for (std::size_t i = 0; i < grant.ids.size(); ++i) {
    if (engine::isAnother(status, grant.ids[i], grant.uuids[i])) { return true; }
  }
  return false;
}

/// What CUDA_VISIBLE_DEVICES is to say. Ids, when a UUID is not known: an empty entry would hide all that follow.
std::string Scheduler::visibleDevices(const Grant& grant) const {
  const auto& uuids = grant.uuids;
  const bool known = std::none_of(uuids.begin(), uuids.end(), [](const auto& u) { return u.empty(); });
  return config_.visible_uuids && known ? fmt::format("{}", fmt::join(uuids, ","))
                                        : model::printIds(grant.ids);
}

void Scheduler::takeLeases(Grant& grant, bool confirm) {
  if (grant.stage != Stage::Leasing || grant.leasing_since == Mono{}) {
    grant.leasing_since = now_.mono;
    review_later_.emplace(now_.mono + kFailingAtMost, grant.uid);
    review_later_.emplace(now_.mono + kLeasingAtMost, grant.uid);
  }
  grant.stage = Stage::Leasing;
  grant.unknown_lease = false;
  const model::Pod* pod = engine_.cache().pod(grant.uid);
  const auto told = pod != nullptr && pod->node == grant.node ? engine::allocatedIds(*pod) : std::nullopt;
  for (const int id : grant.ids) {
    const auto key = leaseKey(grant.node, id);
    if (told && std::binary_search(told->begin(), told->end(), id)) {
      desk_.forget(key, grant.uid);  // somebody else bound it to this device: its review sees to the lease
      continue;
    }
    grant.open_leases.insert(key);
    Claimant c = claimant(grant.uid, grant.pod, grant.id, {grant.node, grant.ids, grant.shared}, id);
    c.over_own = grant.adopted;
    desk_.take(key, std::move(c), confirm);
  }
}

void Scheduler::noticed(const LeaseNotice& notice) {
  using What = LeaseNotice::What;
  Grant* grant = grantOf(notice.uid);
  review_.insert(notice.uid);
  if (grant == nullptr || !grant->open_leases.contains(notice.lease)) {
    const model::Pod* pod = engine_.cache().pod(notice.uid);
    if (pod != nullptr && pod->bound()) { leaseRepaired(*pod, notice); }
    return;
  }
  switch (notice.what) {
    case What::Held:
      if (grant->stage != Stage::Leasing) { return; }
      grant->unknown_lease |= notice.was_unknown;
      grant->open_leases.erase(notice.lease);
      break;
    case What::Refused:
      grant->refused = grant->in_vain = true;
      slots_.failed(grant->pod.ns);
      [[fallthrough]];
    case What::Lost:
      grant->rivalled |= notice.own_pod;
      giveUp(*grant, notice.why);
      break;
    case What::Gone:
      if (grant->stage != Stage::Releasing) { return; }
      grant->open_leases.erase(notice.lease);
      if (grant->open_leases.empty()) { finishRelease(*grant); }
      break;
  }
}

bool Scheduler::leasesFail(const Grant& grant) const {
  return std::any_of(grant.open_leases.begin(), grant.open_leases.end(),
                     [this](const auto& lease) { return desk_.failing(lease); });
}

/// Others wait for its slot and its GPUs, and it could be tried on another node.
bool Scheduler::isLeasingTooLong(const Grant& grant) const {
  if (grant.open_leases.empty()) { return false; }
  return now_.mono - grant.leasing_since >= (leasesFail(grant) ? kFailingAtMost : kLeasingAtMost);
}

/// The next step of a grant whose pod is unbound as far as we know. Called whenever anything about it may have changed.
void Scheduler::advance(Grant& grant) {
  const model::Pod* pod = engine_.cache().pod(grant.uid);
  if (pod == nullptr || grant.call != 0 || now_.mono < grant.not_before) { return; }
  switch (grant.stage) {
    case Stage::Leasing:
      if (pod->deleting) {
        release(grant, "the pod is being deleted");
        return;
      }
      if (fenceOf(*pod) != grant.fence && !GS_PLANTED(IgnoresFences)) {
        giveUp(grant, "the pod was fenced");
        return;
      }
      if (isLeasingTooLong(grant)) {
        slots_.failed(grant.pod.ns);
        grant.in_vain = true;
        giveUp(grant, "its leases could not be written in time");
        return;
      }
      if (isRenumbered(grant)) {
        giveUp(grant, "the GPUs of the node have other ids now");
        return;
      }
      if (!grant.open_leases.empty() && !GS_PLANTED(BindsEarly)) { return; }
      if (grant.unknown_lease) {
        takeLeases(grant, true);
        return;
      }
      bindOrTakeAgain(grant);
      return;
    case Stage::Binding:  // a refused one is sent again
      if (pod->deleting) {
        release(grant, "the pod is being deleted");
        return;
      }
      if (fenceOf(*pod) != grant.fence && !GS_PLANTED(IgnoresFences)) {
        giveUp(grant, "the pod was fenced");
        return;
      }
      if (isRenumbered(grant)) {
        giveUp(grant, "the GPUs of the node have other ids now");
        return;
      }
      bindOrTakeAgain(grant);
      return;
    case Stage::Reading:
      call(kapi::getObject(model::Kind::Pod, grant.pod), Purpose::ReadAfterConflict, grant.uid);
      return;
    case Stage::Fencing: fence(grant); return;
    case Stage::Releasing:
      if (leasesFail(grant)) { slots_.stuck(grant.uid); }
      return;
    case Stage::Bound: return;
  }
}

/// Since it was decided another pod has turned out to have one of its GPUs, whatever the lease says: the agent sees it
/// use it, say. Or pods whose GPUs nobody named have come, or those whose GPU it was to share have left: one of its
/// GPUs may be theirs.
bool Scheduler::isOvertaken(const Grant& grant) const {
  const sched::NodeState* node = engine_.ledger().find(grant.node);
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
void Scheduler::bindOrTakeAgain(Grant& grant) {
  if (isOvertaken(grant)) {
    giveUp(grant, "other pods on its node have its GPUs, or may have them: they were bound there meanwhile");
    return;
  }
  const auto held = reservationsOf(grant.uid);
  const bool all = std::all_of(grant.ids.begin(), grant.ids.end(), [&](int id) {
    return held.contains({leaseKey(grant.node, id), grant.id});
  });
  if (all || GS_PLANTED(BindsEarly)) {
    bind(grant);
  } else {
    takeLeases(grant, false);
  }
}

bool Scheduler::podWriteOpen(const model::Uid& uid) const {
  const auto grant = grants_.find(uid);
  if (grant != grants_.end() && grant->second.stage != Stage::Leasing &&
      grant->second.stage != Stage::Releasing) {
    return true;
  }
  if (probing(uid)) { return true; }
  const auto repair = repairs_.find(uid);
  return repair != repairs_.end() && repair->second.call != 0;
}

void Scheduler::bind(Grant& grant) {
  if (reporter_.writing(grant.uid)) { return; }  // its answer brings a newer version; then again
  const model::Pod& pod = *engine_.cache().pod(grant.uid);
  std::map<std::string, std::string> annotations;
  if (!grant.ids.empty()) {
    annotations[model::kAllocatedKey] = model::printAllocation(grant.node, grant.ids);
    annotations[model::kVisibleDevicesKey] = visibleDevices(grant);
    annotations[model::kReservationKey] = grant.id.text;
  } else {
    // What somebody else wrote there means nothing; bound with it, it would be believed.
    for (const char* key : {model::kAllocatedKey, model::kVisibleDevicesKey, model::kReservationKey}) {
      if (pod.annotation(key) != nullptr) { annotations[key] = ""; }
    }
  }
  grant.stage = Stage::Binding;
  if (grant.binding_since == Mono{}) {
    grant.binding_since = now_.mono;
    review_later_.emplace(now_.mono + kReservedAfter, grant.uid);  // its claim may have to say Reserved
  }
  kapi::Call binding = kapi::bindPod(pod, grant.node, annotations);
  if (GS_PLANTED(BindsBlindly) || (GS_PLANTED(BindsUnnamedBlindly) && grant.ids.empty())) {
    binding.body.child("metadata").erase("resourceVersion");
  }
  call(std::move(binding), Purpose::Bind, grant.uid);
}

void Scheduler::bindApplied(Grant& grant) {
  grant.stage = Stage::Bound;
  grant.call = 0;
  slots_.worked(grant.pod.ns);
  slots_.close(grant.uid);
  attempts_.forget(grant.uid);
  in_vain_.erase(grant.uid);
  grant.not_before = now_.mono;
  scheduledEvent(grant);
  count(kScheduleAttempts, {{"result", "scheduled"}, {"profile", config_.scheduler_name}});
  if (const auto seen = first_seen_.find(grant.uid); seen != first_seen_.end()) {
    const double s = std::chrono::duration<double>(now_.mono - seen->second).count();
    out_.emplace_back(kapi::Metric{
        kapi::MetricOp::Observe, kSchedulingSli, {{"attempts", std::to_string(grant.sends + 1)}}, s});
    first_seen_.erase(seen);
  }
  reporter_.silent(grant.uid, true);
  waiting_text_.erase(grant.uid);
}

void Scheduler::scheduledEvent(const Grant& grant) {
  std::string note = fmt::format("Successfully assigned {} to {}", grant.pod.text(), grant.node.text);
  if (!grant.ids.empty()) { note += fmt::format(" with GPUs {}", model::printIds(grant.ids)); }
  const model::Pod* pod = engine_.cache().pod(grant.uid);
  events_.send({model::Kind::Pod, grant.pod, grant.uid, pod == nullptr ? 0 : pod->revision, false,
                "Scheduled", "Binding", note},
               now_, out_);
}

void Scheduler::bindAnswered(Grant& grant, const kapi::Outcome& outcome) {
  const bool not_taken =
      outcome.fate == Fate::Unknown || (outcome.fate == Fate::Refused && outcome.http != 409);
  if (not_taken) { slots_.failed(grant.pod.ns); }
  switch (outcome.fate) {
    case Fate::Applied: bindApplied(grant); return;
    case Fate::Unknown:
      if (GS_PLANTED(ReleaseOnUnknownBinding)) { return release(grant, "planted"); }
      grant.in_vain = true;
      grant.stage = Stage::Fencing;
      advance(grant);
      return;
    case Fate::NotSent: bindLater(grant, outcome); return;
    case Fate::Refused: break;
  }
  if (outcome.http == 409) {
    if (GS_PLANTED(ConflictIsSuccess)) { return bindApplied(grant); }
    grant.stage = Stage::Reading;
    advance(grant);
  } else if (outcome.http == 429) {
    bindLater(grant, outcome);
  } else {
    count(kScheduleAttempts, {{"result", "error"}, {"profile", config_.scheduler_name}});
    grant.refused = grant.in_vain = true;
    giveUp(grant, fmt::format("the Binding was refused: {} {}", outcome.http, outcome.message));
  }
}

/// No Binding of this decision was carried out, and none is on its way. What waits for long gives its devices back.
void Scheduler::bindLater(Grant& grant, const kapi::Outcome& outcome) {
  if (waitShortly(grant, outcome.retry_after)) { return; }
  grant.refused = true;
  giveUp(grant, fmt::format("no Binding could be sent: {} {}", outcome.http, outcome.message));
}

/// Nothing of ours is on its way. A Binding of who decided about this pod besides may be, on whichever fence:
/// an earlier leader, or one that does not know yet that it is none.
void Scheduler::giveUp(Grant& grant, std::string why) {
  if (grant.stage == Stage::Releasing || grant.stage == Stage::Fencing) { return; }
  if (!grant.adopted && !grant.rivalled) {
    release(grant, std::move(why));
    return;
  }
  grant.why = std::move(why);
  grant.stage = Stage::Fencing;
  advance(grant);
}

/// This decision is what the pod was bound with: its reservation says so. (What else it says may have been edited since.)
bool Scheduler::boundAsDecided(const Grant& grant, const model::Pod& pod) {
  if (pod.node != grant.node) { return false; }
  if (grant.ids.empty()) { return !engine::allocatedIds(pod); }
  const std::string* bound_for = pod.annotation(model::kReservationKey);
  return bound_for != nullptr && *bound_for == grant.id.text;
}

/// A live look at the pod: after a 409 (every Binding so far was refused) or by a fence's answer (no Binding can land any more).
void Scheduler::judgeLivePod(Grant& grant, const model::Pod& pod, bool after_fence) {
  if (pod.bound()) {
    return;
  }  // the review of a bound pod takes over: its leases are judged by what it was bound with
  if (after_fence) {
    release(grant, grant.why.empty() ? "the outcome of its Binding was unknown; fenced" : grant.why);
  } else if (pod.deleting) {
    release(grant, "the pod is being deleted");
  } else if (fenceOf(pod) != grant.fence && !GS_PLANTED(IgnoresFences)) {
    giveUp(grant, "the pod was fenced");
  } else if (++grant.sends < kMaxBindSends) {
    grant.stage = Stage::Binding;
    advance(grant);
  } else {
    grant.in_vain = true;
    grant.stage = Stage::Fencing;
    advance(grant);
  }
}

void Scheduler::conflictRead(Grant& grant, const kapi::Outcome& outcome) {
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.notFound() || (pod != nullptr && (*pod)->uid != grant.uid)) {
    engine_.podGone(grant.uid, now_.mono);
  } else if (outcome.fate != Fate::Applied || pod == nullptr) {
    if (waitShortly(grant, outcome.retry_after)) { return; }
    grant.stage = Stage::Fencing;
    advance(grant);
  } else {
    engine_.learn(outcome.object, now_.mono);
    judgeLivePod(grant, **pod, false);
  }
}

void Scheduler::fence(Grant& grant) {
  grant.fence_value = GS_PLANTED(SameFenceTwice) ? "fence" : rng_.uuid();
  count(kFences, {{"why", "grant"}});
  call(kapi::fencePod(grant.pod, grant.uid, grant.fence_value), Purpose::FenceGrant, grant.uid);
}

void Scheduler::fenceAnswered(Grant& grant, const kapi::Outcome& outcome) {
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.fate == Fate::Applied && pod != nullptr && (*pod)->uid == grant.uid &&
      fenceOf(**pod) == grant.fence_value) {
    engine_.learn(outcome.object, now_.mono);
    judgeLivePod(grant, **pod, true);
    return;
  }
  slots_.failed(grant.pod.ns);
  slots_.stuck(grant.uid);
  if (outcome.fate == Fate::Refused && (outcome.http == 404 || outcome.http == 422)) {
    proveGone(grant.uid);  // another uid or none: a live GET says which
  }
  tryLater(grant, outcome.retry_after);
}

void Scheduler::release(Grant& grant, std::string why) {
  if (grant.stage == Stage::Releasing) { return; }
  grant.stage = Stage::Releasing;
  grant.why = std::move(why);
  slots_.wait(grant.uid);
  grant.open_leases.clear();
  log(kapi::Level::Info, "placement dropped",
      {{"pod", grant.pod.text()}, {"node", grant.node.text}, {"why", grant.why}});
  const model::Pod* pod = engine_.cache().pod(grant.uid);
  const auto told = pod != nullptr && pod->node == grant.node ? engine::allocatedIds(*pod) : std::nullopt;
  for (const int id : grant.ids) {
    const auto key = leaseKey(grant.node, id);
    if (told && std::binary_search(told->begin(), told->end(), id)) {
      desk_.forget(key, grant.uid);  // somebody else bound it to this device: its review sees to the lease
      continue;
    }
    grant.open_leases.insert(key);
    desk_.give(key, grant.uid, grant.id);
  }
  if (grant.open_leases.empty()) { finishRelease(grant); }
}

/// The pod may be decided again when its backoff is over, whatever it was that came to nothing.
void Scheduler::finishRelease(const Grant& grant) {
  const model::Uid uid = grant.uid;
  const Duration asked_for = grant.asked_for;
  const auto refusal = grant.refused ? std::make_shared<const std::string>(grant.why) : nullptr;
  if (grant.in_vain) { triedInVain(grant); }
  grants_.erase(uid);  // `grant` is gone
  slots_.close(uid);
  review_.insert(uid);
  const model::Pod* pod = engine_.cache().pod(uid);
  if (pod == nullptr || pod->bound()) { return; }
  attempts_.tried(uid, now_.mono, asked_for);
  if (refusal != nullptr) { tell(*pod, {"WriteRefused", refusal}); }
}

}  // namespace gs::scheduler
