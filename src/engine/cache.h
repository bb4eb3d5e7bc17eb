// The objects that the watches brought, as values, with the indexes that decisions need. One thread.
//
// Two sources feed it: watch changes and answers to our own calls (which may be newer than the watch). An
// object is replaced only by a higher revision; a pod or lease that is known to be gone is not brought back
// by older events or answers (Tombstones). A pod that is gone was said to be gone by the API server (a
// DELETED event, a consistent list, or a live GET answered 404 or with another uid): uids never come back.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/reflector.h"
#include "engine/device_index.h"
#include "model/claim.h"
#include "model/lease.h"
#include "model/node.h"
#include "model/object.h"
#include "model/pod.h"

namespace gs::engine {

/// Uids that are known to be gone, so that an answer or event that is late cannot bring them back. Remembers
/// each for `kLife` at least (a call takes a minute at most), and twice that at most; when there are very
/// many, at least the last `kGeneration` of them, and at most twice that.
class Tombstones {
 public:
  static constexpr Duration kLife = std::chrono::minutes{2};
  static constexpr std::size_t kGeneration = 1 << 16;
  static constexpr model::Revision kForEver = std::numeric_limits<model::Revision>::max();

  /// What is said of that uid up to `revision` is out of date.
  void add(const model::Uid& uid, model::Revision revision = kForEver) {
    if (young_.size() >= kGeneration) { old_ = std::exchange(young_, {}); }
    model::Revision& until = young_[uid];
    until = std::max(until, revision);
  }
  void forgetOld(Mono now) {
    if (now - turned_ < kLife) { return; }
    old_ = std::exchange(young_, {});
    turned_ = now;
  }
  [[nodiscard]] bool covers(const model::Uid& uid, model::Revision revision) const {
    const auto in = [&](const auto& generation) {
      const auto it = generation.find(uid);
      return it != generation.end() && revision <= it->second;
    };
    return in(young_) || in(old_);
  }

 private:
  std::unordered_map<model::Uid, model::Revision> young_;
  std::unordered_map<model::Uid, model::Revision> old_;
  Mono turned_{};
};

class Cache {
 public:
  /// From time to time: what is gone for long is forgotten.
  void forgetOld(Mono now) { gone_.forgetOld(now); }

  [[nodiscard]] const model::Pod* pod(const model::Uid& uid) const;
  /// It has finished, or is not there (any more).
  [[nodiscard]] bool ended(const model::Uid& pod) const;
  [[nodiscard]] const model::GpuClaim* claim(const model::ObjectKey& key) const;
  [[nodiscard]] const model::GpuNodeStatus* status(const model::NodeName& name) const;
  [[nodiscard]] model::Ptr<model::GpuNodeStatus> statusPtr(const model::NodeName& name) const;
  [[nodiscard]] const model::Lease* lease(const model::ObjectKey& key) const;
  /// Of the node's status; nullptr without one.
  [[nodiscard]] const DeviceIndex* devices(const model::NodeName& name) const;

  /// What is asked of all pods of a claim: there may be very many, and reading each pod anew would mostly be
  /// waiting for memory.
  struct ClaimPod {
    model::PodPtr pod;
    bool bound = false;
    bool over = false;                // finished
    std::optional<std::size_t> gpus;  // of a bound one, where its annotation says which (sched::allocatedIds)
    Wall bound_at{};
  };
  /// Pods of the namespace that name this claim, by uid.
  using Pods = std::map<model::Uid, ClaimPod>;
  [[nodiscard]] const Pods& podsOfClaim(const model::ObjectKey& claim) const;
  /// Leases (keys) in which this pod is the holder or one of the holders, ascending.
  [[nodiscard]] const std::set<model::ObjectKey>& leasesOf(const model::Uid& pod) const;
  [[nodiscard]] const std::set<model::ObjectKey>& malformedLeases() const { return malformed_; }
  /// leasesOf() every pod that is in some lease.
  [[nodiscard]] const std::unordered_map<model::Uid, std::set<model::ObjectKey>>& leasesByHolder() const {
    return leases_of_;
  }
  [[nodiscard]] const std::unordered_map<model::Uid, model::PodPtr>& pods() const { return pods_; }
  [[nodiscard]] const std::unordered_map<model::ObjectKey, model::Ptr<model::Lease>>& leases() const {
    return leases_;
  }
  [[nodiscard]] const std::unordered_map<model::ObjectKey, model::Ptr<model::GpuClaim>>& claims() const {
    return claims_;
  }

  [[nodiscard]] const std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>>& statuses()
      const {
    return statuses_;
  }

  // Each returns what was there before (nullptr: nothing), and whether anything changed.
  struct PodChange {
    model::PodPtr before;
    bool changed = false;
  };
  PodChange putPod(model::PodPtr pod);
  /// Gone for good; false when it was not known.
  model::PodPtr removePod(const model::Uid& uid);
  bool putClaim(model::Ptr<model::GpuClaim> claim);
  bool removeClaim(const model::ObjectKey& key);
  /// What is known of the node's devices now (NodeDevices).
  bool putStatus(model::Ptr<model::GpuNodeStatus> status);
  bool removeStatus(const model::NodeName& name);
  struct LeaseChange {
    model::Ptr<model::Lease> before;
    bool changed = false;
  };
  LeaseChange putLease(model::Ptr<model::Lease> lease);
  /// `uid` empty: whatever is there. A lease may come back with a higher revision: one that lost our label
  /// leaves the watch as if it were deleted, and one with a finalizer outlives its deletion.
  model::Ptr<model::Lease> removeLease(const model::ObjectKey& key, const model::Uid& uid,
                                       model::Revision revision);
  [[nodiscard]] bool knownGone(const model::Uid& pod) const {
    return gone_.covers(pod, Tombstones::kForEver);
  }

 private:
  void indexLease(const model::Lease& lease, bool add);

  std::unordered_map<model::Uid, model::PodPtr> pods_;
  std::unordered_map<model::ObjectKey, Pods> pods_of_claim_;
  std::unordered_map<model::ObjectKey, model::Ptr<model::GpuClaim>> claims_;
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> statuses_;
  std::unordered_map<model::NodeName, DeviceIndex> devices_;  // of statuses_
  std::unordered_map<model::ObjectKey, model::Ptr<model::Lease>> leases_;
  std::unordered_map<model::Uid, std::set<model::ObjectKey>> leases_of_;
  std::set<model::ObjectKey> malformed_;
  Tombstones gone_;  // pods and leases
};

}  // namespace gs::engine
