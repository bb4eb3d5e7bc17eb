#include "engine/engine.h"

#include <algorithm>

#include "base/mutant.h"
#include "engine/held_devices.h"
#include "kapi/kinds.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/shares.h"

namespace gs::engine {

Engine::Engine(sched::Doors doors)
    : doors_{doors},
      leases_{cache_},
      ledger_{doors},
      blocks_{ledger_},
      devices_{cache_, leases_, doors},
      held_{devices_, ledger_},
      anti_affinity_{ledger_},
      reclaim_{ledger_},
      awaited_{ledger_},
      looks_{ledger_},
      uuids_{ledger_},
      decider_{ledger_} {
  reclaim_.setComplete(false, Mono{});
}

void Engine::synced(Mono now) {
  if (std::exchange(synced_, true)) { return; }
  awaited_.allListed();
  for (const auto& [node, status] : cache_.statuses()) { reclaimUnknown(*status, now); }
  reclaim_.setComplete(true, now);
  awaitLooksOfLately(now);
  noteFreed();
}

/// What they held is free. Looks may have taken longer than an end is remembered: that of a pod that is gone
/// is from now on again, so that whoever finds its leases and asks for it does not wait for looks once more.
void Engine::noteFreed() {
  for (auto& uid : reclaim_.takeFreed()) {
    if (cache_.pod(uid) == nullptr) { assumed_.add(uid); }
    touch(uid);
  }
}

std::set<model::Uid> Engine::takeTouched() {
  auto touched = std::exchange(touched_, {});
  return {std::make_move_iterator(touched.begin()), std::make_move_iterator(touched.end())};
}

void Engine::forgetTouched() {
  (void)std::exchange(touched_, {});  // its memory too
  touched_claims_.clear();
  (void)uuids_.takeChanged();
}

void Engine::touchClaimOf(const model::Pod& pod) {
  const std::string claim = sched::claimName(pod);
  if (!claim.empty()) { touched_claims_.insert({pod.key.ns, claim}); }
}

void Engine::podChanged(const model::PodPtr& before, const model::Pod* after, const sched::Holdings& said,
                        Mono now) {
  const model::Pod& any = after != nullptr ? *after : *before;
  const model::Uid uid = any.uid;
  const bool used = before && before->bound() && !before->finished();
  const bool uses = after != nullptr && after->bound() && !after->finished();
  if (used && (!uses || after->node != before->node)) { held_.unuse(before->node, uid); }
  if (uses) { held_.use(*after, said); }
  const bool over = after == nullptr || after->finished();
  antiAffinity(any, !over && !uses, uses);
  const bool was_over = before && before->finished();
  if (over && any.bound() && !(was_over && reclaim_.reclaimed(uid))) {
    const bool clean = after != nullptr     ? after->containers_terminated
                       : before->finished() ? before->containers_terminated
                                            : before->containers_reported_terminated;
    reclaimAll(any, said, clean, now);
    orderly_.add(uid);
  }
  if (over) {
    leases_.ended(uid);
  } else {
    if (any.bound()) { reclaim_.lives(uid, any.node); }
    for (const auto& key : cache_.leasesOf(uid)) { leases_.stands(uid, *cache_.lease(key)); }
  }
  if (any.is_agent && any.bound()) {
    reclaim_.agentChanged(any.node, uid, !over, any.ready, now);
    awaited_.agentChanged(any.node, reclaim_.hasAgent(any.node));
    if (!agentLooks(any.node)) { looks_.forget(any.node); }
  }
  held_.derive(uid, &said);
  if (used || uses) { awaitLook(before, after, now); }
  touch(uid);
  if (notes_shares_ && !said.shares.empty()) { touched_shares_.insert(uid); }
  touchClaimOf(any);
}

/// All that is known of what an ended pod held.
void Engine::reclaimAll(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now) {
  const std::vector<int> ids = devices_.ofEnded(pod, said);
  const std::int64_t counted = GS_MUTANT(FreesAnonymous) ? 0 : said.counted;
  if (counted > 0 || !ids.empty()) { reclaim_.ended(pod.uid, pod.node, ids, clean, now, counted); }
}

/// Notes whom the pod keeps away from its node while it runs there. A new term may mean pods that wait.
void Engine::antiAffinity(const model::Pod& pod, bool waits, bool runs) {
  if (waits) {
    unbound_.insert(pod.uid);
  } else {
    unbound_.erase(pod.uid);
  }
  if (!runs) {
    anti_affinity_.remove(pod.uid);
  } else if (anti_affinity_.put(pod.uid, pod.key.ns, pod.node, pod.keeps_away)) {
    touchMeantBy(pod);
  }
}

/// Touches the waiting pods that its terms mean. Where finding them would take too long all are touched: a
/// look in vain costs less.
void Engine::touchMeantBy(const model::Pod& pod) {
  constexpr std::uint64_t kMostLooks = 65'536;
  sched::TermIndex said;
  model::TermId next = 0;  // it is not asked which they are
  for (const auto& term : pod.keeps_away) { said.add(pod.key.ns, ++next, term); }
  for (const auto& uid : unbound_) {
    const model::Pod& waiting = *cache_.pod(uid);
    if (said.looks() > kMostLooks || !said.meaning(waiting.key.ns, waiting.labels).empty()) { touch(uid); }
  }
  compared_ += said.looks();
}

void Engine::putPod(const model::PodPtr& pod, const sched::Holdings& said, Mono now) {
  const auto [before, changed] = cache_.putPod(pod);
  if (!changed) { return; }
  awaited_.stamped(pod->created);
  podChanged(before, pod.get(), said, now);
}

void Engine::podGone(const model::Uid& uid, Mono now) { podGone(uid, nullptr, now); }

void Engine::podGone(const model::Uid& uid, const sched::Holdings* said, Mono now) {
  const auto before = cache_.removePod(uid);
  if (before) {
    podChanged(before, nullptr, said != nullptr ? *said : devices_.read(*before), now);
  } else {
    touch(uid);
    if (notes_shares_) { touched_shares_.insert(uid); }
  }
  if (!endIsKnown(uid)) { assumeEnded(uid, now); }
}

bool Engine::endIsKnown(const model::Uid& uid) const {
  return orderly_.covers(uid, Tombstones::kForEver) || assumed_.covers(uid, Tombstones::kForEver);
}

/// A pod that we never saw bound, with leases: it may have been bound and have run, and ended uncleanly for
/// all we know.
void Engine::assumeEnded(const model::Uid& uid, Mono now) {
  if (cache_.leasesOf(uid).empty()) { return; }
  assumed_.add(uid);
  for (const auto& [node, ids] : devices_.leasedIds(uid)) { reclaim_.ended(uid, node, ids, false, now); }
  touch(uid);
}

void Engine::mayHaveRun(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                        const std::vector<std::string>& uuids, Mono now) {
  if (orderly_.covers(uid, Tombstones::kForEver)) { return; }
  assumed_.add(uid);
  const DeviceIndex* devices = cache_.devices(node);
  std::vector<int> perhaps = ids;  // told ids, it may have any device that has one of them now
  for (std::size_t i = 0; devices != nullptr && i < ids.size(); ++i) {
    if (const auto id = devices->idNow(uuids[i], ids[i])) { perhaps.push_back(*id); }
  }
  reclaim_.ended(uid, node, perhaps, false, now);
  touch(uid);
}

void Engine::applyPod(const controller::Change& change, Mono now) {
  if (const auto pod = change.object.as<model::Pod>()) { return putPod(pod, devices_.read(*pod), now); }
  const auto last = change.last.as<model::Pod>();
  if (last == nullptr || last->uid != change.last_uid) { return podGone(change.last_uid, now); }
  const sched::Holdings said = devices_.read(*last);
  putPod(last, said, now);
  if (!last->bound()) { orderly_.add(change.last_uid); }      // nor can it be any more: it never ran
  const bool is_known = cache_.pod(last->uid) == last.get();  // and no newer version
  podGone(change.last_uid, is_known ? &said : nullptr, now);
}

void Engine::applyClaim(const controller::Change& change) {
  const bool was_shared = isShared(cache_.claim(change.key));
  if (const auto claim = change.object.as<model::GpuClaim>()) {
    const model::GpuClaim* known = cache_.claim(change.key);
    const bool same = known != nullptr && known->sameBut(*claim);
    if (!cache_.putClaim(claim)) { return; }
    if (same) {  // a status write, ours or somebody else's
      touched_claims_.insert(change.key);
      return;
    }
  } else {
    cache_.removeClaim(change.key);
  }
  touched_claims_.insert(change.key);
  const bool other_amounts = isShared(cache_.claim(change.key)) != was_shared;
  for (const auto& [uid, pod] : cache_.podsOfClaim(change.key)) {
    if (other_amounts && !leases_.shares(uid)) { held_.derive(uid); }  // holdsOf() asks the claim only then
    if (other_amounts || !pod.bound) { touch(uid); }                   // others have what they were given
  }
}

void Engine::leasesChanged(const model::Uid& uid) {
  const model::Pod* pod = cache_.pod(uid);
  const bool uses = pod != nullptr && pod->bound() && !pod->finished();
  if (uses) { held_.use(*pod, devices_.read(*pod)); }
  held_.derive(uid);
  if (uses && unnamedOf(pod->node, uid) == 0) { looks_.over(pod->node, uid); }
  touch(uid);
}

void Engine::putLease(const model::Ptr<model::Lease>& lease, Mono now) {
  if (!lease->managed) { return; }
  const auto [before, changed] = cache_.putLease(lease);
  if (!changed) { return; }
  if (const auto device = leases_.deviceOf(*lease); device && !lease->uids().empty()) {
    blocks_.unblock(*device);
  }
  std::set<model::Uid> concerned;
  if (before) {
    for (auto& uid : before->uids()) { concerned.insert(uid); }
  }
  for (auto& uid : lease->uids()) {
    leases_.stands(uid, *lease);
    concerned.insert(uid);
  }
  for (const auto& uid : concerned) {
    if (cache_.knownGone(uid) && !endIsKnown(uid)) { assumeEnded(uid, now); }
    const model::Pod* pod = cache_.pod(uid);
    const bool is_new = !before || !before->names(uid);
    // Its end was seen, but not with this device: pods are listed before leases.
    if (is_new && pod != nullptr && pod->bound() && pod->finished()) {
      reclaimAll(*pod, devices_.read(*pod), pod->containers_terminated, now);
    }
    leasesChanged(uid);
  }
}

void Engine::leaseRemoved(const model::Ptr<model::Lease>& before) {
  if (!before) { return; }
  const auto device = leases_.deviceOf(*before);
  leases_.went(before);
  if (device) { blocks_.unblock(*device); }  // it could not be read, perhaps: what stood there is gone
  const sched::NodeState* node = device ? ledger_.find(device->first) : nullptr;
  if (const auto* d = node == nullptr ? nullptr : node->device(device->second)) {
    for (const auto& holder : d->holders) { touch(holder.uid); }  // its name is free for whoever has it
  }
  for (const auto& uid : before->uids()) { leasesChanged(uid); }
}

void Engine::applyLease(const controller::Change& change, Mono now) {
  if (const auto lease = change.object.as<model::Lease>()) {
    putLease(lease, now);
  } else {
    leaseRemoved(cache_.removeLease(change.key, change.last_uid, change.revision));
  }
}

void Engine::leaseGone(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision) {
  leaseRemoved(cache_.removeLease(key, uid, revision));
}

void Engine::placeLease(const model::ObjectKey& key, const model::NodeName& node, int gpu) {
  leases_.place(key, {node, gpu});
  if (const model::Lease* lease = cache_.lease(key)) {
    for (const auto& uid : lease->uids()) { held_.derive(uid); }
  }
}

void Engine::configureQuota(model::QuotaConfig config) {
  ledger_.setModelLabel(config.labels.model);
  quota_.configure(std::move(config));
}

std::optional<sched::QuotaBound> Engine::quotaBound(const std::string& ns, std::int64_t milli) const {
  const model::Quotas* quotas = quota_.quotas();
  return quotas != nullptr ? sched::quotaBound(*quotas, quota_.config().labels, ledger_, ns, milli)
                           : std::nullopt;
}

std::optional<sched::QuotaRoom> Engine::quotaRoom(const std::string& ns) const {
  const model::Quotas* quotas = quota_.quotas();
  return quotas != nullptr ? sched::quotaRoom(*quotas, quota_.config().labels, ledger_, ns) : std::nullopt;
}

void Engine::apply(const controller::Change& change, Mono now) {
  cache_.forgetOld(now);
  orderly_.forgetOld(now);
  assumed_.forgetOld(now);
  applyAsItsKind(change, now);
  noteFreed();
}

/// Other kinds are somebody else's.
void Engine::applyAsItsKind(const controller::Change& change, Mono now) {
  if (change.kind == kapi::kPod) {
    applyPod(change, now);
  } else if (change.kind == kapi::kLease) {
    applyLease(change, now);
  } else if (change.kind == kapi::kNode) {
    applyNode(change, now);
  } else if (change.kind == kapi::kGpuNodeStatus) {
    applyStatus(change, now);
  } else if (change.kind == kapi::kGpuClaim) {
    applyClaim(change);
  } else if (change.kind == kapi::kQuotaMap) {
    quota_.apply(change);
  }
}

void Engine::learn(const model::Object& object, Mono now) {
  if (const auto pod = object.as<model::Pod>()) { putPod(pod, devices_.read(*pod), now); }
  if (const auto lease = object.as<model::Lease>()) { putLease(lease, now); }
  noteFreed();
}

std::optional<Mono> Engine::nextDue() const {
  std::optional<Mono> next;
  for (const auto& due : {reclaim_.nextDue(), awaited_.nextDue(), looks_.nextDue()}) {
    if (due && (!next || *due < *next)) { next = due; }
  }
  return next;
}

void Engine::tick(Mono now) {
  reclaim_.tick(now);
  awaited_.tick(now);
  looks_.tick(now);
  noteFreed();
}

}  // namespace gs::engine
