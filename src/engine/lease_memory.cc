#include "engine/lease_memory.h"

namespace gs::engine {

std::optional<LeaseMemory::Device> LeaseMemory::deviceOf(const model::Lease& lease) const {
  if (!lease.node.empty() && lease.gpu >= 0) { return std::pair{lease.node, lease.gpu}; }
  const auto it = placed_.find(lease.key);
  return it == placed_.end() ? std::nullopt : std::optional{it->second};
}

std::optional<bool> LeaseMemory::shares(const model::Uid& pod) const {
  const auto it = shares_.find(pod);
  return it == shares_.end() ? std::nullopt : std::optional{it->second};
}

std::string LeaseMemory::givenUuid(const model::Uid& pod, const model::NodeName& node, int id) const {
  std::string uuid;
  eachLeaseOf(pod, [&](const model::Lease& lease) {
    if (lease.node == node && lease.gpu == id && uuid.empty()) { uuid = lease.uuid; }
  });
  return uuid;
}

bool LeaseMemory::wasLeased(const model::Uid& pod, const model::NodeName& node, int id) const {
  bool was = false;
  eachLeaseOf(pod, [&](const model::Lease& lease) { was = was || (lease.node == node && lease.gpu == id); });
  return was;
}

void LeaseMemory::stands(const model::Uid& uid, const model::Lease& lease) {
  if (cache_.ended(uid)) { return; }
  shares_[uid] = lease.shared();
  forgetEarlier(uid, lease);
  const auto lost = lost_.find(uid);
  if (lost == lost_.end() || lease.uuid.empty()) { return; }
  lost->second.erase(lease.key);
  if (lost->second.empty()) { lost_.erase(lost); }
}

/// One without a UUID has nothing to be remembered for.
void LeaseMemory::went(const model::Ptr<model::Lease>& lease) {
  placed_.erase(lease->key);
  if (lease->uuid.empty()) { return; }
  for (const auto& uid : lease->uids()) {
    if (cache_.ended(uid)) { continue; }
    forgetEarlier(uid, *lease);
    lost_[uid][lease->key] = lease;
  }
}

void LeaseMemory::ended(const model::Uid& pod) {
  shares_.erase(pod);
  lost_.erase(pod);
}

/// An unbound pod has a lease of a newer decision, so the earlier one came to nothing, and its leases need
/// not be remembered.
void LeaseMemory::forgetEarlier(const model::Uid& uid, const model::Lease& newer) {
  const auto lost = lost_.find(uid);
  const model::Pod* pod = cache_.pod(uid);
  if (lost == lost_.end() || (pod != nullptr && pod->bound())) { return; }
  const auto reservation = [&](const model::Lease& lease) {
    const auto part = lease.partOf(uid);
    return part ? part->reservation : model::ReservationId{};
  };
  std::erase_if(lost->second,
                [&](const auto& known) { return reservation(*known.second) != reservation(newer); });
  if (lost->second.empty()) { lost_.erase(lost); }
}

}  // namespace gs::engine
