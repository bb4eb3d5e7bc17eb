#include "scheduler/leases/bound_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/mutant.h"
#include "model/map.h"
#include "sched/doors/door.h"
#include "sched/doors/exact.h"
#include "scheduler/leases/claimant.h"

namespace gs::scheduler {
namespace {

constexpr Duration kDoubtedFor = std::chrono::seconds{10};  // watches are not later than that, all being well

bool names(const model::Lease* lease, const model::Uid& uid) { return lease != nullptr && lease->names(uid); }

/// Another version's may say the reservation where this one does not look.
bool doesNotSay(const model::Lease& lease, const model::ShareHolder& part) {
  return lease.other_format && part.reservation.empty();
}

}  // namespace

std::vector<int> BoundLeases::see(const model::Pod& pod) {
  const auto told = sched::allocatedIds(pod);
  const auto ids = devicesOf(pod, told);
  if (ids.value_or(std::vector<int>{}) != told.value_or(std::vector<int>{})) {
    c_.warnOnce(
        pod, "GpuAnnotationChanged",
        fmt::format("annotation {} does not name the GPUs that the pod's leases name; the leases stand",
                    model::kAllocatedKey));
  }
  std::optional<std::vector<int>> held;
  if (ids) { held = c_.engine.podDevices().heldIds(pod, *ids); }
  if (ids) { keepLeases(pod, *ids, *held); }
  dropOrphans(pod, held);
  return held.value_or(std::vector<int>{});
}

/// What a bound pod has: what the leases of the reservation say that it was bound for, one of them at least;
/// else its annotation, and other leases landed late (R10). When the reservation's leases say something else
/// than the annotation, somebody changed that of a pod that runs:
/// its containers were told what the leases say.
/// A pod that says a reservation of which there is no lease any more: a whole set of leases that were there
/// when it was bound, and say the same and more; else its annotation, when its agent sees it use that; else
/// a whole set of leases that were there when it was bound, which shows that both were edited since; else its
/// annotation.
/// A pod that was bound for a count of GPUs: none, when all leases landed after that. One that was there may
/// be what it has: its author may have taken ids and reservation away. Or ids only, and somebody its leases:
/// then what those of its reservation said that are known to have gone.
/// A pod that says no reservation (bound by an earlier version, or it was taken away): a whole set of leases
/// that say the same and more than its annotation; its annotation when one of its leases agrees; else a whole
/// set of leases, before others one that was there when it was bound, before one of which some are missing;
/// else the annotation.
std::optional<std::vector<int>> BoundLeases::devicesOf(const model::Pod& pod,
                                                       const std::optional<std::vector<int>>& told) const {
  const auto& keys = c_.cache().leasesOf(pod.uid);
  const auto leased = [&](int id) { return keys.contains(c_.leaseKey(pod.node, id)); };
  const std::string& bound_for = sched::reservationOf(pod);
  const bool says_reservation = !bound_for.empty();
  bool agrees = told && std::all_of(told->begin(), told->end(), leased);
  std::string read;  // leases of one reservation all say the same: it is read once
  std::optional<std::vector<int>> whole;
  std::optional<std::vector<int>> part;
  bool older = false;      // those of `whole` than its Binding
  bool any_older = false;  // of all of them, in the seconds that objects have
  for (const auto& key : keys) {
    ++looks_;
    const auto entry = c_.cache().lease(key)->partOf(pod.uid);
    const bool ours = entry && says_reservation && entry->reservation.text == bound_for;
    if (!ours && desk_.isGiving(key, pod.uid)) { continue; }  // of a decision that came to nothing
    if (entry && !ours && entry->devices == read) { continue; }
    if (entry) { read = entry->devices; }
    looks_ += told ? told->size() : 0;
    auto set = entry ? model::parseAllocation(entry->devices) : fail(Code::Invalid, "");
    if (!set || set->node != pod.node) { continue; }
    if (ours) { return std::move(set->ids); }
    agrees = agrees || set->ids == told;
    const bool was_there = c_.cache().lease(key)->created <= pod.bound_at;
    any_older = any_older || was_there;
    const auto says_so = [&](int id) {
      const auto other =
          leased(id) ? c_.cache().lease(c_.leaseKey(pod.node, id))->partOf(pod.uid) : std::nullopt;
      return other && other->devices == read;
    };
    if (!std::all_of(set->ids.begin(), set->ids.end(), says_so)) {
      if (!part) { part = std::move(set->ids); }
      continue;
    }
    if (!whole || (was_there && !older)) { whole = std::move(set->ids); }
    older = older || was_there;
  }
  if (sched::wasGivenACount(pod) && !any_older) { return c_.engine.podDevices().heldIds(pod, {}); }
  const bool more = told && whole && std::includes(whole->begin(), whole->end(), told->begin(), told->end());
  // Two decisions for one pod are for as many GPUs: fewer are no other one. Its agent may not see all that it
  // has, of a GPU that was away say.
  if (more && older && whole->size() > told->size()) { return whole; }
  if (told && says_reservation) {
    const auto seen = c_.engine.podDevices().seenInUse(pod);  // by the ids of today
    if (!seen.empty() && seen == c_.engine.podDevices().heldIds(pod, *told)) { return told; }
  }
  if (more && (!says_reservation || older)) { return whole; }
  if (agrees || (told && says_reservation && !older)) { return told; }
  return whole ? whole : part ? part : told;
}

/// As its last lease said; without one as its door or its claim says now; with neither:
/// when another pod of ours has a device too.
/// Only pods of such a door and pods with a claim ever share.
bool BoundLeases::sharesDevices(const model::Pod& pod, const std::vector<int>& ids) const {
  if (const auto known = c_.engine.leaseMemory().shares(pod.uid)) { return *known; }
  if (sched::holdingsOf(pod, c_.engine.doors()).shared) { return true; }
  if (const auto* claim = c_.cache().claim({pod.key.ns, sched::claimName(pod)})) {
    return claim->exclusivity == model::Exclusivity::Shared;
  }
  return !sched::claimName(pod).empty() && std::any_of(ids.begin(), ids.end(), [&](int id) {
    return anotherOfOursHas(pod, id, [this](const auto& other) {
      return c_.engine.leaseMemory().shares(other.uid).value_or(true);
    });
  });
}

/// Another running pod of ours, that `is` so, holds this device of the pod's node.
bool BoundLeases::anotherOfOursHas(const model::Pod& pod, int id,
                                   const std::function<bool(const model::Pod&)>& is) const {
  const sched::NodeState* node = c_.engine.ledger().find(pod.node);
  const sched::DeviceState* device = node == nullptr ? nullptr : node->device(id);
  if (device == nullptr) { return false; }
  return std::any_of(device->holders.begin(), device->holders.end(), [&](const sched::Holder& holder) {
    const model::Pod* other = c_.cache().pod(holder.uid);
    return other != nullptr && other->uid != pod.uid && c_.ours(*other) && other->node == pod.node &&
           !other->finished() && is(*other);
  });
}

/// A lease that is missing goes to the pod that was told its id, and has it, before one whose device has that
/// id now: it says what the former has, under any id. Unless no lease is written for the former.
bool BoundLeases::anotherWasTold(const model::Pod& pod, int id) const {
  const auto contains = [id](const std::vector<int>& ids) {
    return std::binary_search(ids.begin(), ids.end(), id);
  };
  return anotherOfOursHas(pod, id, [&](const model::Pod& other) {
    const auto given = devicesOf(other, sched::allocatedIds(other));
    return given && contains(*given) &&
           contains(leasable(other, c_.engine.podDevices().heldIds(other, *given)));
  });
}

/// The devices whose leases may be written for a bound pod that names these (R11). As many as a map may name,
/// or a node has, are taken as given: its status may list one no more under a running pod, and a node without
/// one lists nothing.
/// Who names more gets those that are listed. A pod that has GPUs by their number gets none for what could
/// not be given and it was never leased: its lease would be believed (sched::Counted), and whoever edits its
/// annotation would free what its containers have.
std::vector<int> BoundLeases::leasable(const model::Pod& pod, const std::vector<int>& ids) const {
  const model::GpuNodeStatus* status = c_.cache().status(pod.node);
  const std::size_t most = std::max(model::kMostMapGpus, status == nullptr ? 0 : status->devices.size());
  const bool counted = sched::holdingsOf(pod, c_.engine.doors()).counted > 0;
  if (ids.size() <= most && (status == nullptr || !counted)) { return ids; }
  if (status == nullptr) { return {ids.begin(), ids.begin() + std::ptrdiff_t{model::kMostMapGpus}}; }
  std::set<int> may;
  for (const auto& device : status->devices) {
    if (!counted || device.health != model::Health::Unhealthy) { may.insert(device.id); }
  }
  std::vector<int> out;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [&](int id) {
    return may.contains(id) || (counted && c_.engine.leaseMemory().wasLeased(pod.uid, pod.node, id));
  });
  return out;
}

/// The UUID of the device that a bound pod was given under one of the ids of its reservation: as its lease
/// there says or said, else as its containers were told. "": nobody says.
std::string BoundLeases::uuidGiven(const model::Pod& pod, const std::vector<int>& given, int id) const {
  std::string leased = c_.engine.leaseMemory().givenUuid(pod.uid, pod.node, id);
  if (!leased.empty()) { return leased; }
  const auto told = sched::toldUuids(pod);
  const auto at = std::lower_bound(given.begin(), given.end(), id) - given.begin();
  return told.empty() || told.size() != given.size() ? std::string{} : told[static_cast<std::size_t>(at)];
}

/// Every device that the pod has has a lease that names it, of the reservation that it was bound for, unless
/// another pod's lease holds it. `given`: the ids of its reservation; `held`:
/// those that its devices have now.
void BoundLeases::keepLeases(const model::Pod& pod, const std::vector<int>& given,
                             const std::vector<int>& held) {
  if (!record_.ours()) { return; }
  const std::string& bound_for = sched::reservationOf(pod);
  std::optional<model::ReservationId> reservation;
  if (!bound_for.empty()) { reservation = model::ReservationId{bound_for}; }
  const bool says_reservation = reservation.has_value();
  // Leases of another decision are believed against the annotation. Those of this one may come yet, when
  // whoever led before wrote them, and these are not its own any more once they say that they are.
  const bool doubted = says_reservation && sched::allocatedIds(pod) != given;
  std::set<model::ObjectKey> missing;
  std::optional<bool> shared;
  for (const int id : leasable(pod, held)) {
    ++looks_;
    const auto key = c_.leaseKey(pod.node, id);
    const model::Lease* lease = c_.cache().lease(key);
    const auto part = lease == nullptr ? std::nullopt : lease->partOf(pod.uid);
    const bool written =
        part && lease->isOurs() &&  // an ancestor's has no annotations
        (!says_reservation || part->reservation == *reservation || doesNotSay(*lease, *part));
    if (written) {
      if (desk_.isGiving(key, pod.uid)) { desk_.forget(key, pod.uid); }  // its device has moved back
      continue;
    }
    missing.insert(key);
    const bool moved_here = !std::binary_search(given.begin(), given.end(), id);
    if (lease == nullptr && moved_here && anotherWasTold(pod, id)) { continue; }
    if (!desk_.idle(key, pod.uid) || !repairs_.due({pod.uid, key}, c_.now.mono)) { continue; }
    if (doubted && part && repairs_.tries({pod.uid, key}) == 0) {
      repairs_.tried({pod.uid, key}, c_.now.mono, kDoubtedFor);
      continue;
    }
    if (!shared) { shared = sharesDevices(pod, held); }
    if (!reservation) { reservation = model::ReservationId{c_.rng.uuid()}; }
    Claimant c = claimantOf(c_, pod.uid, pod.key, *reservation, {pod.node, given, *shared}, id);
    if (!moved_here) {
      if (auto uuid = uuidGiven(pod, given, id); !uuid.empty()) { c.gpu_uuid = std::move(uuid); }
    }
    c.over_own = true;
    const bool may_join = *shared && lease != nullptr && lease->shared() && !lease->isOfAnother(c.gpu_uuid);
    const bool others = lease != nullptr && !part && !may_join;
    if (others && c_.warnings.said(pod.uid, "GpuHeldByOther")) { continue; }  // said already
    repairs_.tried({pod.uid, key}, c_.now.mono);
    desk_.take(key, std::move(c), false);
  }
  forget(pod.uid, missing);
}

/// What came of a missing lease of a bound pod.
void BoundLeases::repaired(const model::Pod& pod, const LeaseNotice& notice) {
  using What = LeaseNotice::What;
  if (notice.what == What::Held) {
    failing_.erase({pod.uid, notice.lease});
    c_.warnOnce(pod, "GpuLeaseRewritten",
                fmt::format("lease {} was missing and was written again", notice.lease.text()));
  } else if (notice.what == What::Lost) {
    c_.warnOnce(pod, "GpuHeldByOther", notice.why);
  }
  const bool blocked = notice.what == What::Lost && c_.cache().lease(notice.lease) == nullptr;
  if (blocked || notice.what == What::Refused) { failing_[{pod.uid, notice.lease}] = notice.why; }
}

/// Those of this pod, but for these leases.
void BoundLeases::forget(const model::Uid& uid, const std::set<model::ObjectKey>& but) {
  for (auto it = failing_.lower_bound({uid, {}}); it != failing_.end() && it->first.first == uid;) {
    it = but.contains(it->first.second) ? std::next(it) : failing_.erase(it);
  }
}

/// Leases of a bound pod on other nodes or ids landed late; an ancestor's lease goes once ours is there
/// (R27).
/// While nothing says what the pod has (no `ids`), those on its own node stay: it may be using them.
void BoundLeases::dropOrphans(const model::Pod& pod, const std::optional<std::vector<int>>& ids) {
  if (GS_MUTANT(KeepsOrphans)) { return; }
  std::set<std::string> kept;
  for (const int id : ids.value_or(std::vector<int>{})) { kept.insert(model::leaseName(pod.node, id)); }
  const std::set<model::ObjectKey> leases = c_.cache().leasesOf(pod.uid);
  const bool all_leased = std::all_of(kept.begin(), kept.end(), [&](const auto& name) {
    return names(c_.cache().lease({c_.config.lease_namespace, name}), pod.uid);
  });
  const std::string& bound_for = sched::reservationOf(pod);
  looks_ += leases.size();
  for (const auto& key : leases) {
    const model::Lease& lease = *c_.cache().lease(key);
    const model::NodeName& on = lease.node;  // empty: an ancestor's, which does not say
    if (!ids && (on.empty() || on == pod.node)) { continue; }
    const bool may_move =
        on == pod.node && (bound_for.empty() || lease.partOf(pod.uid)->reservation.text == bound_for);
    if (may_move && !all_leased) { continue; }  // until that of the id which its device has now is there
    if (kept.contains(key.name)) {
      if (key.ns == c_.config.lease_namespace) { continue; }
      if (!names(c_.cache().lease({c_.config.lease_namespace, key.name}), pod.uid)) { continue; }
    }
    desk_.give(key, pod.uid);
  }
}

void BoundLeases::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& [uid, lease] : repairs_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
}

void BoundLeases::reset() {
  repairs_.reset();
  failing_.clear();
}

}  // namespace gs::scheduler
