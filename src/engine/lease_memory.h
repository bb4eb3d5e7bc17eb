// What leases said that the cache does not say: which device a lease of an ancestor is for, and what was said
// by leases that are gone.
//
// Problem: the cache has each lease as it stands now. Three facts of leases are in no object:
//   - the device of an ancestor's lease. It has no annotations; whoever finds it under the name of a device
//     says which that is (place());
//   - the UUID of a device that a pod was given, once its lease went while the pod lived. The pod's
//     annotations name ids only, so the last versions of such leases are kept. Of an unbound pod, those of
//     its last decision only: an earlier one came to nothing;
//   - whether a pod shares its devices: as its last lease said, be it gone.
// Kept for pods that have not ended, until ended() says that one has. Calls come after the cache knows the
// change. The cache must outlive it. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/cache.h"

namespace gs::engine {

class LeaseMemory {
 public:
  using Device = std::pair<model::NodeName, int>;

  explicit LeaseMemory(const Cache& cache) : cache_{cache} {}

  /// An ancestor's lease stands under the name of this device, until it goes.
  void place(const model::ObjectKey& key, const Device& device) { placed_[key] = device; }
  /// This version of a lease stands, and names this pod.
  void stands(const model::Uid& uid, const model::Lease& lease);
  void went(const model::Ptr<model::Lease>& lease);
  void ended(const model::Uid& pod);

  /// The device that the lease is for; nullopt: nobody knows.
  [[nodiscard]] std::optional<Device> deviceOf(const model::Lease& lease) const;
  /// Whether the pod shares its devices, as its last lease said; nullopt: none was seen.
  [[nodiscard]] std::optional<bool> shares(const model::Uid& pod) const;
  /// The UUID of the device that it was given under that id, as its lease there says, or said before it went;
  /// "" not known.
  [[nodiscard]] std::string givenUuid(const model::Uid& pod, const model::NodeName& node, int id) const;
  /// It has a lease under that id there, or had one that went while it lived.
  [[nodiscard]] bool wasLeased(const model::Uid& pod, const model::NodeName& node, int id) const;
  /// Visits the pod's leases: those that are there, and the last versions of those that went while it lived.
  template <class Visit>
  void eachLeaseOf(const model::Uid& pod, const Visit& visit) const {
    for (const auto& key : cache_.leasesOf(pod)) { visit(*cache_.lease(key)); }
    const auto lost = lost_.find(pod);
    if (lost == lost_.end()) { return; }
    for (const auto& [key, lease] : lost->second) { visit(*lease); }
  }

 private:
  void forgetEarlier(const model::Uid& uid, const model::Lease& newer);

  const Cache& cache_;
  std::unordered_map<model::ObjectKey, Device> placed_;
  std::unordered_map<model::Uid, bool> shares_;
  /// Last versions of leases that went, by pod.
  std::unordered_map<model::Uid, std::map<model::ObjectKey, model::Ptr<model::Lease>>> lost_;
};

}  // namespace gs::engine
