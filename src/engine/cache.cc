#include "engine/cache.h"

#include "sched/doors/door.h"
#include "sched/doors/exact.h"

namespace gs::engine {
namespace {

template <class Map, class Key>
auto* findIn(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : it->second.get();
}

template <class Index, class Key, class Item>
void eraseIndexed(Index& index, const Key& key, const Item& item) {
  const auto it = index.find(key);
  if (it == index.end()) { return; }
  it->second.erase(item);
  if (it->second.empty()) { index.erase(it); }
}

model::ObjectKey claimKey(const model::Pod& pod) { return {pod.key.ns, sched::claimName(pod)}; }

Cache::ClaimPod claimPod(const model::PodPtr& pod) {
  const auto ids = sched::allocatedIds(*pod);
  return {pod, pod->bound(), pod->finished(), ids ? std::optional{ids->size()} : std::nullopt, pod->bound_at};
}

}  // namespace

const model::Pod* Cache::pod(const model::Uid& uid) const { return findIn(pods_, uid); }
const model::GpuClaim* Cache::claim(const model::ObjectKey& key) const { return findIn(claims_, key); }
const model::GpuNodeStatus* Cache::status(const model::NodeName& name) const {
  return findIn(statuses_, name);
}
const DeviceIndex* Cache::devices(const model::NodeName& name) const {
  const auto it = devices_.find(name);
  return it == devices_.end() ? nullptr : &it->second;
}
const model::Lease* Cache::lease(const model::ObjectKey& key) const { return findIn(leases_, key); }

const Cache::Pods& Cache::podsOfClaim(const model::ObjectKey& claim) const {
  static const Pods none;
  const auto it = pods_of_claim_.find(claim);
  return it == pods_of_claim_.end() ? none : it->second;
}

const std::set<model::ObjectKey>& Cache::leasesOf(const model::Uid& pod) const {
  static const std::set<model::ObjectKey> none;
  const auto it = leases_of_.find(pod);
  return it == leases_of_.end() ? none : it->second;
}

Cache::PodChange Cache::putPod(model::PodPtr pod) {
  if (gone_.covers(pod->uid, pod->revision)) { return {}; }
  auto& slot = pods_[pod->uid];
  if (slot && slot->revision >= pod->revision) { return {slot, false}; }
  model::PodPtr before = std::move(slot);
  if (before && !claimKey(*before).name.empty()) {
    eraseIndexed(pods_of_claim_, claimKey(*before), before->uid);
  }
  if (!claimKey(*pod).name.empty()) { pods_of_claim_[claimKey(*pod)][pod->uid] = claimPod(pod); }
  slot = std::move(pod);
  return {std::move(before), true};
}

model::PodPtr Cache::removePod(const model::Uid& uid) {
  gone_.add(uid);
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return nullptr; }
  model::PodPtr before = std::move(it->second);
  pods_.erase(it);
  if (!claimKey(*before).name.empty()) { eraseIndexed(pods_of_claim_, claimKey(*before), uid); }
  return before;
}

bool Cache::ended(const model::Uid& uid) const {
  const model::Pod* known = pod(uid);
  return known == nullptr || known->finished();
}

bool Cache::putClaim(model::Ptr<model::GpuClaim> claim) {
  auto& slot = claims_[claim->key];
  if (slot && slot->uid == claim->uid && slot->revision >= claim->revision) { return false; }
  slot = std::move(claim);
  return true;
}

bool Cache::removeClaim(const model::ObjectKey& key) { return claims_.erase(key) > 0; }

model::Ptr<model::GpuNodeStatus> Cache::statusPtr(const model::NodeName& name) const {
  const auto it = statuses_.find(name);
  return it == statuses_.end() ? nullptr : it->second;
}

bool Cache::putStatus(model::Ptr<model::GpuNodeStatus> status) {
  auto& slot = statuses_[status->node];
  if (slot && *slot == *status) { return false; }
  slot = std::move(status);
  devices_.insert_or_assign(slot->node, DeviceIndex{*slot});
  return true;
}

bool Cache::removeStatus(const model::NodeName& name) {
  devices_.erase(name);
  return statuses_.erase(name) > 0;
}

void Cache::indexLease(const model::Lease& lease, bool add) {
  if (!lease.malformed.empty() && add) { malformed_.insert(lease.key); }
  if (!add) { malformed_.erase(lease.key); }
  for (const auto& uid : lease.uids()) {
    if (add) {
      leases_of_[uid].insert(lease.key);
    } else {
      eraseIndexed(leases_of_, uid, lease.key);
    }
  }
}

Cache::LeaseChange Cache::putLease(model::Ptr<model::Lease> lease) {
  if (gone_.covers(lease->uid, lease->revision)) { return {}; }
  auto& slot = leases_[lease->key];
  if (slot && slot->revision >= lease->revision) { return {slot, false}; }
  model::Ptr<model::Lease> before = std::move(slot);
  if (before) { indexLease(*before, false); }
  indexLease(*lease, true);
  slot = std::move(lease);
  return {std::move(before), true};
}

model::Ptr<model::Lease> Cache::removeLease(const model::ObjectKey& key, const model::Uid& uid,
                                            model::Revision revision) {
  const auto it = leases_.find(key);
  if (it == leases_.end() || (!uid.empty() && it->second->uid != uid)) {
    if (!uid.empty()) { gone_.add(uid, revision); }
    return nullptr;
  }
  if (revision != 0 && it->second->revision > revision) { return nullptr; }  // it is there again
  model::Ptr<model::Lease> before = std::move(it->second);
  leases_.erase(it);
  indexLease(*before, false);
  gone_.add(before->uid, std::max(revision, before->revision));
  return before;
}

}  // namespace gs::engine
