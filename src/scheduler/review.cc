// review(uid): the next right thing for one pod, from what is known now.
#include <fmt/format.h>
#include <algorithm>

#include "base/planted.h"
#include "engine/held_devices.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "sched/quota.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {
namespace {

using kapi::Fate;

bool names(const model::Lease* lease, const model::Uid& uid) { return lease != nullptr && lease->names(uid); }

bool saysReservation(const model::Pod& pod) {
  const std::string* reservation = pod.annotation(model::kReservationKey);
  return reservation != nullptr && !reservation->empty();
}

}  // namespace

void Scheduler::review(const model::Uid& uid) {
  ++reviews_;
  const model::Pod* pod = engine_.cache().pod(uid);
  if (pod == nullptr || pod->finished()) {
    reviewEnded(uid);
  } else if (pod->bound()) {
    reviewBound(*pod);
  } else {
    reviewUnbound(*pod);
  }
}

void Scheduler::dequeue(const model::Uid& uid) {
  if (queued_.erase(uid) == 0) { return; }
  engine_.queue().remove(uid);
  held_back_.remove(uid);
}

void Scheduler::reviewEnded(const model::Uid& uid) {
  dequeue(uid);
  attempts_.forget(uid);
  in_vain_.erase(uid);
  reporter_.silent(uid, true);
  waiting_text_.erase(uid);
  first_seen_.erase(uid);
  repairs_.erase(uid);
  endProbe(uid);
  warned_.erase(uid);
  forgetFailing(uid, {});
  if (const Grant* grant = grantOf(uid)) {
    for (const auto& key : grant->open_leases) {
      if (names(engine_.cache().lease(key), uid)) {
        desk_.forget(key, uid);  // it goes when its device has drained
      } else {
        desk_.give(key, uid, grant->id);  // not written yet, for all we know
      }
    }
    if (grant->boundPerhaps()) { bound_perhaps_[uid] = placingOf(*grant); }
    grants_.erase(uid);
    slots_.close(uid);
  }
  endBoundPerhaps(uid);
  const std::set<model::ObjectKey> leases = engine_.cache().leasesOf(uid);
  if (leases.empty()) { return; }
  if (GS_PLANTED(ForgetsOnEnd)) { return; }
  if (engine_.cache().pod(uid) == nullptr && !engine_.cache().knownGone(uid)) {
    if (GS_PLANTED(CacheSaysGone)) { return engine_.podGone(uid, now_.mono); }
    proveGone(uid);
    return;
  }
  if (!engine_.drained(uid)) { return; }
  if (const model::Pod* pod = engine_.cache().pod(uid); pod != nullptr && !ours(*pod)) { return; }
  for (const auto& key : leases) { desk_.give(key, uid); }
}

/// Gone while its Binding was on its way: it may have run where we sent it, though nobody saw it there.
void Scheduler::endBoundPerhaps(const model::Uid& uid) {
  const auto sent = bound_perhaps_.extract(uid);
  if (!sent.empty() && engine_.cache().knownGone(uid)) {
    engine_.mayHaveRun(uid, sent.mapped().node, sent.mapped().ids, sent.mapped().uuids, now_.mono);
  }
}

/// A pod that only a lease speaks of: absence is proven by a live GET (design 3.4).
void Scheduler::proveGone(const model::Uid& uid) {
  if (proving_.contains(uid) || !proofs_.due(uid, now_.mono)) { return; }
  model::ObjectKey key;
  if (const Grant* grant = grantOf(uid)) { key = grant->pod; }
  if (const model::Pod* pod = engine_.cache().pod(uid)) { key = pod->key; }
  for (const auto& lease_key : engine_.cache().leasesOf(uid)) {
    const auto part = engine_.cache().lease(lease_key)->partOf(uid);
    if (part && key.name.empty()) { key = part->pod; }
  }
  if (key.name.empty()) {
    proofs_.tried(uid, now_.mono);
    log(kapi::Level::Warn, "a lease names no pod, so its end cannot be proven; delete the lease by hand",
        {{"uid", uid.text}});
    return;
  }
  proving_.insert(uid);
  call(kapi::getObject(model::Kind::Pod, key), Purpose::ProveGone, uid);
}

void Scheduler::goneProven(const model::Uid& uid, const kapi::Outcome& outcome) {
  proving_.erase(uid);
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.notFound() || (outcome.fate == Fate::Applied && pod != nullptr && (*pod)->uid != uid)) {
    proofs_.forget(uid);
    engine_.podGone(uid, now_.mono);
    return;
  }
  proofs_.tried(uid, now_.mono, outcome.retry_after);
  if (outcome.fate == Fate::Applied && pod != nullptr) { engine_.learn(outcome.object, now_.mono); }
}

/// What this decision has asked for and the pod was not bound to. A device that it was bound to has its lease seen to by the
/// review of the bound pod, whoever decided. Leases that are there go too, once it is known that they were in
/// vain: they would be taken for what the pod has.
void Scheduler::giveBut(const Grant& grant, const model::Pod& pod) {
  const auto told = pod.node == grant.node ? engine::allocatedIds(pod) : std::nullopt;
  std::set<model::ObjectKey> bound_to;
  for (const int id : told.value_or(std::vector<int>{})) { bound_to.insert(leaseKey(grant.node, id)); }
  std::set<model::ObjectKey> leases = grant.open_leases;
  if (grant.boundByOthers()) {
    for (const int id : grant.ids) { leases.insert(leaseKey(grant.node, id)); }
  }
  for (const auto& key : leases) {
    if (bound_to.contains(key)) {
      desk_.forget(key, grant.uid);
    } else {
      desk_.give(key, grant.uid, grant.id);
    }
  }
}

void Scheduler::reviewBound(const model::Pod& pod) {
  bound_perhaps_.erase(pod.uid);
  dequeue(pod.uid);
  repairs_.erase(pod.uid);
  endProbe(pod.uid);
  const auto told = engine::allocatedIds(pod);
  if (Grant* grant = grantOf(pod.uid)) {
    const bool as_decided = boundAsDecided(*grant, pod);
    // The answer says whether it was this one.
    if (!as_decided && grant->awaitsBinding()) { return; }
    if (as_decided && grant->stage != Stage::Bound) { bindApplied(*grant); }
    if (!as_decided) { giveBut(*grant, pod); }
    grants_.erase(pod.uid);
    slots_.close(pod.uid);
  }
  reporter_.silent(pod.uid, true);
  waiting_text_.erase(pod.uid);
  first_seen_.erase(pod.uid);
  if (!ours(pod)) {
    if (GS_PLANTED(DropsOthersLeases)) { dropStrayLeases(pod, std::vector<int>{}); }
    if (told) {
      warnOnce(pod, "GpuHeldByForeignPod",
               fmt::format("annotation {} is set on a pod of scheduler {}; its GPUs count as held",
                           model::kAllocatedKey, pod.scheduler_name));
    }
    return;  // leases that name it are another installation's
  }
  const auto ids = devicesOf(pod, told);
  if (ids != told) {
    warnOnce(pod, "GpuAnnotationChanged",
             fmt::format("annotation {} does not name the GPUs that the pod's leases name; the leases stand",
                         model::kAllocatedKey));
  }
  std::optional<std::vector<int>> held;
  if (ids) { held = engine_.heldIds(pod, *ids); }
  if (ids) { keepLeases(pod, *ids, *held); }
  dropStrayLeases(pod, held);
}

/// What a bound pod has: what the leases of the reservation say that it was bound for, one of them at least; else its
/// annotation, and other leases landed late (design 3.4). When the reservation's leases say something else than the
/// annotation, somebody changed that of a pod that runs: its containers were told what the leases say.
/// A pod that says a reservation of which there is no lease: its annotation; but a whole set of leases that were there when it was
/// bound, which shows that both were edited since.
/// A pod that says no reservation (bound by an earlier version, or it was taken away): a whole set of leases that say
/// the same and more than its annotation; its annotation when one of its leases agrees; else a whole set of
/// leases, before others one that was there when it was bound, before one of which some are missing; else the
/// annotation.
std::optional<std::vector<int>> Scheduler::devicesOf(const model::Pod& pod,
                                                     const std::optional<std::vector<int>>& told) const {
  const auto& keys = engine_.cache().leasesOf(pod.uid);
  const auto leased = [&](int id) { return keys.contains(leaseKey(pod.node, id)); };
  const std::string* bound_for = pod.annotation(model::kReservationKey);
  const bool says_reservation = saysReservation(pod);
  bool agrees = told && std::all_of(told->begin(), told->end(), leased);
  std::string read;  // leases of one reservation all say the same: it is read once
  std::optional<std::vector<int>> whole;
  std::optional<std::vector<int>> part;
  bool older = false;  // those of `whole` than its Binding
  for (const auto& key : keys) {
    ++looks_;
    const auto entry = engine_.cache().lease(key)->partOf(pod.uid);
    const bool ours = entry && says_reservation && entry->reservation.text == *bound_for;
    if (!ours && desk_.isGiving(key, pod.uid)) { continue; }  // of a decision that came to nothing
    if (entry && !ours && entry->devices == read) { continue; }
    if (entry) { read = entry->devices; }
    looks_ += told ? told->size() : 0;
    auto set = entry ? model::parseAllocation(entry->devices) : fail(Code::Invalid, "");
    if (!set || set->node != pod.node) { continue; }
    if (ours) { return std::move(set->ids); }
    agrees = agrees || set->ids == told;
    const auto says_so = [&](int id) {
      const auto other =
          leased(id) ? engine_.cache().lease(leaseKey(pod.node, id))->partOf(pod.uid) : std::nullopt;
      return other && other->devices == read;
    };
    if (!std::all_of(set->ids.begin(), set->ids.end(), says_so)) {
      if (!part) { part = std::move(set->ids); }
      continue;
    }
    const bool was_there = engine_.cache().lease(key)->created <= pod.bound_at;
    if (!whole || (was_there && !older)) { whole = std::move(set->ids); }
    older = older || was_there;
  }
  const bool more = told && whole && std::includes(whole->begin(), whole->end(), told->begin(), told->end());
  if (more && (!says_reservation || older)) { return whole; }
  if (agrees || (told && says_reservation && !older)) { return told; }
  return whole ? whole : part ? part : told;
}

/// As its last lease said; without one as its claim says now; with neither: when another pod of ours has a device too.
/// Only pods with a claim ever share.
bool Scheduler::sharesDevices(const model::Pod& pod, const std::vector<int>& ids) const {
  if (const auto known = engine_.shares(pod.uid)) { return *known; }
  if (const auto* claim = engine_.cache().claim({pod.key.ns, sched::claimName(pod)})) {
    return claim->exclusivity == model::Exclusivity::Shared;
  }
  return !sched::claimName(pod).empty() && std::any_of(ids.begin(), ids.end(), [&](int id) {
    return anotherOfOursHas(pod, id,
                            [this](const auto& other) { return engine_.shares(other.uid).value_or(true); });
  });
}

/// Another running pod of ours, that `is` so, holds this device of the pod's node.
bool Scheduler::anotherOfOursHas(const model::Pod& pod, int id,
                                 const std::function<bool(const model::Pod&)>& is) const {
  const sched::NodeState* node = engine_.ledger().find(pod.node);
  const sched::DeviceState* device = node == nullptr ? nullptr : node->device(id);
  if (device == nullptr) { return false; }
  return std::any_of(device->holders.begin(), device->holders.end(), [&](const sched::Holder& holder) {
    const model::Pod* other = engine_.cache().pod(holder.uid);
    return other != nullptr && other->uid != pod.uid && ours(*other) && other->node == pod.node &&
           !other->finished() && is(*other);
  });
}

/// A lease that is missing goes to the pod that was told its id, and has it, before one whose device has that
/// id now: it says what the former has, under any id.
bool Scheduler::anotherWasTold(const model::Pod& pod, int id) const {
  const auto contains = [id](const std::vector<int>& ids) {
    return std::binary_search(ids.begin(), ids.end(), id);
  };
  return anotherOfOursHas(pod, id, [&](const model::Pod& other) {
    const auto given = devicesOf(other, engine::allocatedIds(other));
    return given && contains(*given) && contains(engine_.heldIds(other, *given));
  });
}

/// The devices whose leases may be written for a bound pod that names these. As many as a node has are taken as given: its
/// status may list one no more under a running pod, and a node without one lists nothing (design 3.8, 3.12). Who names more
/// gets those that are listed.
std::vector<int> Scheduler::leasable(const model::NodeName& node, const std::vector<int>& ids) const {
  constexpr std::size_t kMostOfANode = 16;
  const model::GpuNodeStatus* status = engine_.cache().status(node);
  if (ids.size() <= std::max(kMostOfANode, status == nullptr ? 0 : status->devices.size())) { return ids; }
  std::vector<int> out;
  if (status == nullptr) {
    out.assign(ids.begin(), ids.begin() + std::ptrdiff_t{kMostOfANode});
    return out;
  }
  std::set<int> listed;
  for (const auto& device : status->devices) { listed.insert(device.id); }
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [&](int id) { return listed.contains(id); });
  return out;
}

/// The UUID of the device that a bound pod was given under one of the ids of its reservation: as its lease
/// there says or said, else as its containers were told. "": nobody says.
std::string Scheduler::uuidGiven(const model::Pod& pod, const std::vector<int>& given, int id) const {
  std::string leased = engine_.givenUuid(pod.uid, pod.node, id);
  if (!leased.empty()) { return leased; }
  const auto told = engine::toldUuids(pod, given.size());
  const auto at = std::lower_bound(given.begin(), given.end(), id) - given.begin();
  return told.empty() ? std::string{} : told[static_cast<std::size_t>(at)];
}

/// Every device that the pod has has a lease that names it, of the reservation that it was bound for, unless another
/// pod's lease holds it. `given`: the ids of its reservation; `held`: those that its devices have now.
void Scheduler::keepLeases(const model::Pod& pod, const std::vector<int>& given,
                           const std::vector<int>& held) {
  if (!record_.ours()) { return; }
  const std::string* bound_for = pod.annotation(model::kReservationKey);
  std::optional<model::ReservationId> reservation;
  if (bound_for != nullptr && !bound_for->empty()) { reservation = model::ReservationId{*bound_for}; }
  const bool says_reservation = reservation.has_value();
  std::set<model::ObjectKey> missing;
  std::optional<bool> shared;
  for (const int id : leasable(pod.node, held)) {
    ++looks_;
    const auto key = leaseKey(pod.node, id);
    const model::Lease* lease = engine_.cache().lease(key);
    const auto part = lease == nullptr ? std::nullopt : lease->partOf(pod.uid);
    const bool written = part && lease->format > 0 &&  // an ancestor's has no annotations
                         (!says_reservation || part->reservation == *reservation);
    if (written) { continue; }
    missing.insert(key);
    const bool moved_here = !std::binary_search(given.begin(), given.end(), id);
    if (lease == nullptr && moved_here && anotherWasTold(pod, id)) { continue; }
    if (!desk_.idle(key, pod.uid) || !lease_repairs_.due({pod.uid, key}, now_.mono)) { continue; }
    if (!shared) { shared = sharesDevices(pod, held); }
    if (!reservation) { reservation = model::ReservationId{rng_.uuid()}; }
    Claimant c = claimant(pod.uid, pod.key, *reservation, {pod.node, given, *shared}, id);
    if (!moved_here) {
      if (auto uuid = uuidGiven(pod, given, id); !uuid.empty()) { c.gpu_uuid = std::move(uuid); }
    }
    c.over_own = true;
    const bool may_join = *shared && lease != nullptr && lease->shared() && !lease->isOfAnother(c.gpu_uuid);
    const bool others = lease != nullptr && !part && !may_join;
    if (others && warned(pod.uid, "GpuHeldByOther")) { continue; }  // said already
    lease_repairs_.tried({pod.uid, key}, now_.mono);
    desk_.take(key, std::move(c), false);
  }
  forgetFailing(pod.uid, missing);
}

/// What came of a missing lease of a bound pod.
void Scheduler::leaseRepaired(const model::Pod& pod, const LeaseNotice& notice) {
  using What = LeaseNotice::What;
  if (notice.what == What::Held) {
    failing_.erase({pod.uid, notice.lease});
    warnOnce(pod, "GpuLeaseRewritten",
             fmt::format("lease {} was missing and was written again", notice.lease.text()));
  } else if (notice.what == What::Lost) {
    warnOnce(pod, "GpuHeldByOther", notice.why);
  }
  const bool blocked = notice.what == What::Lost && engine_.cache().lease(notice.lease) == nullptr;
  if (blocked || notice.what == What::Refused) { failing_[{pod.uid, notice.lease}] = notice.why; }
}

/// Those of this pod, but for these leases.
void Scheduler::forgetFailing(const model::Uid& uid, const std::set<model::ObjectKey>& but) {
  for (auto it = failing_.lower_bound({uid, {}}); it != failing_.end() && it->first.first == uid;) {
    it = but.contains(it->first.second) ? std::next(it) : failing_.erase(it);
  }
}

/// Leases of a bound pod on other nodes or ids landed late; an ancestor's lease goes once ours is there (design 3.3, 3.4).
/// While nothing says what the pod has (no `ids`), those on its own node stay: it may be using them.
void Scheduler::dropStrayLeases(const model::Pod& pod, const std::optional<std::vector<int>>& ids) {
  if (GS_PLANTED(KeepsStrays)) { return; }
  std::set<std::string> kept;
  for (const int id : ids.value_or(std::vector<int>{})) { kept.insert(model::leaseName(pod.node, id)); }
  const std::set<model::ObjectKey> leases = engine_.cache().leasesOf(pod.uid);
  const bool all_leased = std::all_of(kept.begin(), kept.end(), [&](const auto& name) {
    return names(engine_.cache().lease({config_.lease_namespace, name}), pod.uid);
  });
  const std::string* bound_for = pod.annotation(model::kReservationKey);
  looks_ += leases.size();
  for (const auto& key : leases) {
    const model::Lease& lease = *engine_.cache().lease(key);
    const model::NodeName& on = lease.node;  // empty: an ancestor's, which does not say
    if (!ids && (on.empty() || on == pod.node)) { continue; }
    const bool may_move =
        on == pod.node && (!saysReservation(pod) || lease.partOf(pod.uid)->reservation.text == *bound_for);
    if (may_move && !all_leased) { continue; }  // until that of the id which its device has now is there
    if (kept.contains(key.name)) {
      if (key.ns == config_.lease_namespace) { continue; }
      if (!names(engine_.cache().lease({config_.lease_namespace, key.name}), pod.uid)) { continue; }
    }
    desk_.give(key, pod.uid);
  }
}

void Scheduler::warnOnce(const model::Pod& pod, const std::string& reason, const std::string& note) {
  if (!warned_[pod.uid].insert(reason).second) { return; }
  events_.send({model::Kind::Pod, pod.key, pod.uid, pod.revision, true, reason, "Scheduling", note}, now_,
               out_);
}

bool Scheduler::warned(const model::Uid& uid, const std::string& reason) const {
  const auto it = warned_.find(uid);
  return it != warned_.end() && it->second.contains(reason);
}

void Scheduler::reviewUnbound(const model::Pod& pod) {
  if (ours(pod)) { first_seen_.try_emplace(pod.uid, now_.mono); }
  if (Grant* grant = grantOf(pod.uid)) {
    if (reserved(*grant)) { touchClaimOf(pod.uid); }
    advance(*grant);
    return;
  }
  if (probing(pod.uid)) { return; }  // its answer brings a newer version
  if (repairs_.contains(pod.uid)) {
    repair(pod);
    return;
  }
  if (!ours(pod) && !GS_PLANTED(DropsOthersLeases)) {
    return;
  }  // leases that name it are another installation's
  if (!engine_.cache().leasesOf(pod.uid).empty()) {
    if (!attempts_.due(pod.uid, now_.mono)) { return; }
    if (!adopt(pod)) { repair(pod); }
    return;
  }
  enqueue(pod);
}

/// Takes over a complete set of leases that an earlier leader wrote for this pod (design 3.4): true when it did.
bool Scheduler::adopt(const model::Pod& pod) {
  const std::set<model::ObjectKey>& keys = engine_.cache().leasesOf(pod.uid);
  if (pod.deleting || !taking_ || !record_.ours() || keys.empty()) { return false; }
  const auto first = engine_.cache().lease(*keys.begin())->partOf(pod.uid);
  if (!first || first->reservation.empty()) { return false; }
  const bool shared = engine_.cache().lease(*keys.begin())->shared();
  const auto devices = model::parseAllocation(first->devices);
  if (!devices || devices->node.empty()) { return false; }
  std::set<model::ObjectKey> complete;
  for (const int id : devices->ids) { complete.insert(leaseKey(devices->node, id)); }
  if (complete != keys) { return false; }
  for (const auto& key : keys) {
    const model::Lease& lease = *engine_.cache().lease(key);
    const auto entry = lease.partOf(pod.uid);
    if (lease.format != 1 || !lease.malformed.empty() || lease.shared() != shared || !entry ||
        entry->reservation != first->reservation || entry->devices != first->devices ||
        engine::isAnother(engine_.cache().status(lease.node), lease.gpu, lease.uuid)) {
      return false;
    }
  }
  const auto door = readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = engine_.ledger().find(devices->node);
  if (request == nullptr || node == nullptr || !request->devices || request->devices->shared != shared) {
    return false;
  }
  if (sched::misfitOn(*node, *request, pod.uid, &devices->ids)) { return false; }
  if (engine_.ledger().isReserved(devices->node, pod.uid)) { return false; }  // in its name, by an extender
  Grant grant;
  grant.id =
      model::ReservationId{rng_.uuid()};  // written anew: late deletions of the earlier leader miss them
  grant.uid = pod.uid;
  grant.pod = pod.key;
  grant.node = devices->node;
  grant.ids = devices->ids;
  grant.uuids = gpuUuids(grant.node, grant.ids);
  grant.shared = shared;
  grant.fence = fenceOf(pod);
  grant.adopted = true;
  grant.hold = engine_.ledger().adopt(devices->node, pod.uid, *request, devices->ids,
                                      {pod.key.ns, sched::gpuMilli(*request)});
  dequeue(pod.uid);
  slots_.open(pod.uid, pod.key.ns);
  count(kAdoptions);
  log(kapi::Level::Info, "adopted leases of an earlier leader",
      {{"pod", pod.key.text()}, {"devices", first->devices}});
  takeLeases(grants_.emplace(pod.uid, std::move(grant)).first->second, false);
  return true;
}

/// Leases of an unbound pod that are nobody's: fence, then delete them, then the pod is looked at again. Only those that
/// were there when the fence was sent: another leader may have decided after it, and then its Binding can land.
void Scheduler::repair(const model::Pod& pod) {
  dequeue(pod.uid);
  Repair& r = repairs_[pod.uid];
  if (GS_PLANTED(NoFenceForLeftovers) && !r.fenced) {
    r.leftovers = reservationsOf(pod.uid);
    r.fenced = true;
  }
  if (r.fenced) {
    const auto now_there = reservationsOf(pod.uid);
    if (GS_PLANTED(FenceCoversAll)) { r.leftovers = now_there; }
    std::erase_if(r.leftovers, [&](const auto& leftover) { return !now_there.contains(leftover); });
    for (const auto& [key, reservation] : r.leftovers) { desk_.give(key, pod.uid, reservation); }
    if (r.leftovers.empty()) {
      repairs_.erase(pod.uid);
      review_.insert(pod.uid);
    }
    return;
  }
  if (r.call != 0 || now_.mono < r.not_before) { return; }
  r.fence_value = GS_PLANTED(SameFenceTwice) ? "fence" : rng_.uuid();
  r.leftovers = reservationsOf(pod.uid);
  count(kFences, {{"why", "leases"}});
  call(kapi::fencePod(pod.key, pod.uid, r.fence_value), Purpose::FenceRepair, pod.uid);
}

/// The leases that name this pod, and under which reservation.
Scheduler::LeaseReservations Scheduler::reservationsOf(const model::Uid& uid) const {
  LeaseReservations out;
  for (const auto& key : engine_.cache().leasesOf(uid)) {
    const auto part = engine_.cache().lease(key)->partOf(uid);
    out.emplace(key, part ? part->reservation : model::ReservationId{});
  }
  return out;
}

void Scheduler::repairFenced(const model::Uid& uid, const kapi::Outcome& outcome) {
  const auto it = repairs_.find(uid);
  if (it == repairs_.end()) { return; }
  Repair& r = it->second;
  r.call = 0;
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.fate == Fate::Applied && pod != nullptr && (*pod)->uid == uid &&
      fenceOf(**pod) == r.fence_value) {
    engine_.learn(outcome.object, now_.mono);
    r.fenced = !(*pod)->bound();  // bound: the review of a bound pod takes over
    return;
  }
  if (outcome.fate == Fate::Refused && (outcome.http == 404 || outcome.http == 422)) { proveGone(uid); }
  r.not_before = now_.mono + kapi::retryWait(++r.failures, outcome.retry_after);
  review_later_.emplace(r.not_before, uid);
}

}  // namespace gs::scheduler
