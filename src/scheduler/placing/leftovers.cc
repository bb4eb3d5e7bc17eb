#include "scheduler/placing/leftovers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/mutant.h"
#include "engine/held_devices.h"
#include "kapi/write.h"
#include "kapi/write_dra.h"
#include "model/annotations.h"
#include "sched/placement/fit.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {

std::optional<Leftovers::Whole> Leftovers::wholeSet(const model::Pod& pod) const {
  const std::set<model::ObjectKey>& keys = c_.cache().leasesOf(pod.uid);
  if (keys.empty()) { return std::nullopt; }
  const model::Lease& any = *c_.cache().lease(*keys.begin());
  const auto first = any.partOf(pod.uid);
  if (!first || first->reservation.empty()) { return std::nullopt; }
  auto devices = model::parseAllocation(first->devices);
  if (!devices || devices->node.empty()) { return std::nullopt; }
  std::set<model::ObjectKey> complete;
  for (const int id : devices->ids) { complete.insert(c_.leaseKey(devices->node, id)); }
  if (complete != keys) { return std::nullopt; }
  for (const auto& key : keys) {
    const model::Lease& lease = *c_.cache().lease(key);
    const auto entry = lease.partOf(pod.uid);
    if (!lease.isOurs() || !lease.malformed.empty() || lease.shared() != any.shared() || !entry ||
        entry->reservation != first->reservation || entry->devices != first->devices ||
        engine::isAnother(c_.cache().devices(lease.node), lease.gpu, lease.uuid)) {
      return std::nullopt;
    }
  }
  return Whole{devices->node, std::move(devices->ids), any.shared()};
}

bool Leftovers::adopt(const model::Pod& pod, const model::NodeName* on) {
  if (pod.deleting || !record_.ours()) { return false; }
  const auto whole = wholeSet(pod);
  if (!whole || (on != nullptr && *on != whole->node)) { return false; }
  const auto door = pending_.readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = c_.engine.ledger().find(whole->node);
  if (request == nullptr || node == nullptr || !request->devices ||
      request->devices->shared != whole->shared || !sched::namesDevices(*node, *request)) {
    return false;
  }
  if (sched::misfitOn(*node, *request, pod.uid, &whole->ids)) { return false; }
  if (c_.engine.ledger().isReserved(whole->node, pod.uid)) { return false; }  // in its name, by an extender
  pending_.dequeue(pod.uid);
  return binder_.adopt(pod, whole->node, whole->ids, *request);
}

void Leftovers::remove(const model::Pod& pod) {
  pending_.dequeue(pod.uid);
  OfPod& of_pod = pods_[pod.uid];
  if (GS_MUTANT(NoFenceForLeftovers) && !of_pod.fenced) {
    of_pod.leases = reservationsOf(pod.uid);
    of_pod.fenced = true;
  }
  if (of_pod.fenced) { return deleteFenced(pod, of_pod); }
  if (!calls_.due(pod.uid, c_.now.mono)) { return; }
  of_pod.fence_value = GS_MUTANT(SameFenceTwice) ? "fence" : c_.rng.uuid();
  of_pod.leases = reservationsOf(pod.uid);
  c_.count(kFences, {{"why", "leases"}});
  c_.sendAbout(pod.uid, kapi::fencePod(pod.key, pod.uid, of_pod.fence_value), calls_.begin(pod.uid));
}

/// Some of its leases are of a node with a DRA driver, so that its ResourceClaim may be allocated something,
/// whether or not the watch of claims has said so.
bool Leftovers::isByDra(const model::Uid& uid) const {
  const auto& keys = c_.cache().leasesOf(uid);
  return std::any_of(keys.begin(), keys.end(), [this](const auto& key) {
    const sched::NodeState* node = c_.engine.ledger().find(c_.cache().lease(key)->node);
    return node != nullptr && !node->dra_resource.empty();
  });
}

/// Of an unbound pod: its claims that somebody who decided about it may have allocated something.
std::vector<model::ObjectKey> Leftovers::perhapsAllocated(const model::Pod& pod) const {
  if (!isByDra(pod.uid)) {
    auto claims = allocations_.withDevices(pod, c_.places(pod));
    const auto own = kapi::claimKeyOf(pod);
    const bool is_known = std::find(claims.begin(), claims.end(), own) != claims.end();
    if (allocations_.hasClaim(pod) && !is_known) { claims.push_back(own); }
    return claims;
  }
  if (pod.claims.empty() || !c_.places(pod)) { return {kapi::claimKeyOf(pod)}; }
  std::vector<model::ObjectKey> claims;
  for (const auto& named : pod.claims) {
    if (!named.claim.empty()) { claims.push_back({pod.key.ns, named.claim}); }
  }
  return claims;
}

bool Leftovers::noticed(const AllocationNotice& notice) {
  const auto of_pod = pods_.find(notice.uid);
  if (of_pod == pods_.end()) { return false; }
  if (notice.what == AllocationNotice::What::Empty) { of_pod->second.emptying = false; }
  return true;
}

void Leftovers::deleteFenced(const model::Pod& pod, OfPod& of_pod) {
  if (of_pod.emptying && !GS_MUTANT(FreesAllocated)) {
    if (allocations_.failing(pod.uid)) { stays(pod, "the pod's ResourceClaim cannot be emptied"); }
    return;
  }
  const auto now_there = reservationsOf(pod.uid);
  if (GS_MUTANT(FenceCoversAll)) { of_pod.leases = now_there; }
  std::erase_if(of_pod.leases, [&](const auto& lease) { return !now_there.contains(lease); });
  for (const auto& [key, reservation] : of_pod.leases) {
    if (desk_.failing(key)) { stays(pod, fmt::format("the lease {} cannot be deleted", key.text())); }
    desk_.give(key, pod.uid, reservation);
  }
  if (!of_pod.leases.empty()) { return; }
  forget(pod.uid);
  c_.reconciles.add(pod.uid);
}

/// It waits for as long as that lasts.
void Leftovers::stays(const model::Pod& pod, const std::string& why) {
  pending_.tell(pod, {"LeftoverLeases", std::make_shared<const std::string>(fmt::format(
                                            "GPU leases of an earlier decision name this pod: {}", why))});
}

/// The leases that name this pod, and under which reservation.
Leftovers::Reservations Leftovers::reservationsOf(const model::Uid& uid) const {
  Reservations out;
  for (const auto& key : c_.cache().leasesOf(uid)) {
    const auto part = c_.cache().lease(key)->partOf(uid);
    out.emplace(key, part ? part->reservation : model::ReservationId{});
  }
  return out;
}

void Leftovers::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  const model::Uid& uid = call->key;
  c_.reconciles.add(uid);
  const auto of_pod = pods_.find(uid);
  if (of_pod == pods_.end() || call->stale) { return; }
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr && pod->uid == uid &&
      fenceOf(*pod) == of_pod->second.fence_value) {
    c_.engine.learn(outcome.object, now.mono);
    of_pod->second.fenced = !pod->bound();  // bound: its leases are judged as a bound pod's
    const auto claims = perhapsAllocated(*pod);
    of_pod->second.emptying = of_pod->second.fenced && !claims.empty();
    if (of_pod->second.emptying) { allocations_.empty(uid, pod->key, claims, true); }
    return;
  }
  const bool refused = outcome.result == kapi::CallResult::Refused;
  const model::Pod* known = c_.cache().pod(uid);
  if (refused && (outcome.http == 404 || outcome.http == 422)) {
    proofs_.prove(uid);
  } else if (refused && outcome.http != 429 && known != nullptr) {
    stays(*known, fmt::format("they are kept, since the pod's status cannot be written: {} {}", outcome.http,
                              outcome.message));
  }
  calls_.failed(uid, now.mono, outcome.retry_after);
}

void Leftovers::forget(const model::Uid& uid) {
  const auto of_pod = pods_.find(uid);
  if (of_pod == pods_.end()) { return calls_.forget(uid); }
  if (of_pod->second.emptying) { allocations_.forget(uid); }
  pods_.erase(of_pod);
  calls_.forget(uid);
}

void Leftovers::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& uid : calls_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
}

void Leftovers::reset() {
  pods_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
