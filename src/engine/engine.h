// The engine: caches, ledger, device reclaim, decider and queue, wired together. What all doors sit on.
//
// It turns changes of the API's objects into holdings of the ledger, level-triggered: after any change the
// holdings of the pods concerned are derived anew from the cache (pod, leases) and only the difference is
// applied. So the ledger is a function of the cache, whatever order the changes came in: the same objects
// given to a new engine make the same ledger (test/world/rebuilt.h).
// What each object holds:
//   a lease with node and gpu known     Source::Lease for each holder; when the id has another GPU by now,
//                                       the id (it has the lease's name) wholly, and the device under its
//                                       present id
//   a bound, unfinished pod             its resources, and what the doors read of it (sched::Holdings):
//                                       Source:: BoundPod for devices by id (held_devices.h) and for shares,
//                                       which are in flight until the kubelet took it; devices that are
//                                       counted only: anonymous
//   an ended pod                        Source::Draining until the agent proves its containers gone
//                                       (device_reclaim.h)
// One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/awaited_looks.h"
#include "engine/awaited_status.h"
#include "engine/cache.h"
#include "engine/derived_holds.h"
#include "engine/device_blocks.h"
#include "engine/device_reclaim.h"
#include "engine/lease_memory.h"
#include "engine/pod_devices.h"
#include "engine/quota_table.h"
#include "engine/uuids.h"
#include "sched/doors/door.h"
#include "sched/ledger/anti_affinity.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/quota.h"
#include "sched/placement/decider.h"
#include "sched/placement/queue.h"

namespace gs::engine {

class Engine {
 public:
  /// `doors`: the conventions by which pods ask for GPUs (sched/doors/door.h); they live longer.
  explicit Engine(sched::Doors doors = sched::kDoors);

  /// A change that a watch or a consistent list brought.
  void apply(const controller::Change& change, Mono now);
  /// An object in the answer to a call of ours; older than what is known: ignored.
  void learn(const model::Object& object, Mono now);
  /// A live GET said that this pod is gone (404 or another uid).
  void podGone(const model::Uid& uid, Mono now);
  /// A pod that is gone may have run there, for all that was sent: as if it had ended uncleanly, unless its
  /// end was seen.
  /// `uuids`: of these devices, "" not known.
  void mayHaveRun(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                  const std::vector<std::string>& uuids, Mono now);
  /// Our DELETE was applied, or the lease was not there.
  void leaseGone(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision = 0);
  /// An ancestor's lease (no annotations) stands under the name of this device: count it as holding it.
  void placeLease(const model::ObjectKey& key, const model::NodeName& node, int gpu);
  /// Devices that count as held because nobody knows by whom.
  [[nodiscard]] DeviceBlocks& blocks() { return blocks_; }
  [[nodiscard]] const LeaseMemory& leaseMemory() const { return leases_; }
  [[nodiscard]] const PodDevices& podDevices() const { return devices_; }
  /// The devices of its node that this pod holds, by what is written and by what its agent sees; ascending.
  [[nodiscard]] std::vector<int> heldBy(const model::Pod& pod) const { return held_.heldBy(pod); }
  /// A pod was decided to come to that node and to have GPUs by their number: until it is there, and the
  /// agent has named them, none is given by its id there (AwaitedLooks).
  void expectsCounted(const model::NodeName& node, const model::Uid& pod, Mono now);
  /// It came, or will not come.
  void expectsNoMore(const model::NodeName& node, const model::Uid& pod);
  /// GPUs of which nobody knows how many there are.
  [[nodiscard]] Uuids& uuids() { return uuids_; }
  [[nodiscard]] const Uuids& uuids() const { return uuids_; }
  /// Every kind is listed, or not served. Until then no device becomes free, for which nodes have agents is
  /// not known. From then on a uid in `inUseBy` that is not among the pods is an ended pod's.
  void synced(Mono now);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// See DeviceReclaim.
  [[nodiscard]] std::optional<std::uint64_t> wantsStatusRevision() const { return reclaim_.wantsFloor(); }
  void tellStatusRevision(std::uint64_t number, model::Revision revision) {
    reclaim_.setFloor(number, revision);
  }

  /// The pod ended (finished or gone for good).
  [[nodiscard]] bool ended(const model::Uid& uid) const { return cache_.ended(uid); }
  [[nodiscard]] bool reclaimed(const model::Uid& uid) const { return reclaim_.reclaimed(uid); }

  [[nodiscard]] sched::Doors doors() const { return doors_; }
  [[nodiscard]] const Cache& cache() const { return cache_; }
  [[nodiscard]] sched::Ledger& ledger() { return ledger_; }
  [[nodiscard]] const sched::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] sched::Decider& decider() { return decider_; }
  [[nodiscard]] const sched::AntiAffinity& antiAffinity() const { return anti_affinity_; }
  [[nodiscard]] sched::Queue& queue() { return queue_; }

  /// Pods that something changed for (itself, its claim, its leases, its reclaim),
  /// since the last call; ascending.
  [[nodiscard]] std::set<model::Uid> takeTouched();
  /// Claims whose spec or whose pods changed, since the last call.
  [[nodiscard]] std::set<model::ObjectKey> takeTouchedClaims() { return std::exchange(touched_claims_, {}); }
  void forgetTouched();
  /// What all of this has cost so far: pods whose holdings were derived, and anti-affinity terms that waiting
  /// pods were compared with.
  struct Work {
    std::uint64_t derived = 0;
    std::uint64_t compared = 0;
  };
  [[nodiscard]] Work work() const { return {held_.derived(), compared_}; }
  /// For the extender, from noteShares() on: as takeTouched(), of pods that ask for shares. Also of pods that
  /// went and that only the extender's callers knew.
  void noteShares() { notes_shares_ = true; }
  [[nodiscard]] std::set<model::Uid> takeTouchedShares() { return std::exchange(touched_shares_, {}); }

  /// The quotas of GPUs that bind pods of every door.
  void configureQuota(model::QuotaConfig config);
  [[nodiscard]] QuotaTable& quota() { return quota_; }
  [[nodiscard]] const QuotaTable& quota() const { return quota_; }
  /// The quota that binds a pod of this namespace which counts `milli`; nullopt: none. What the pod itself
  /// holds must not be in the ledger.
  [[nodiscard]] std::optional<sched::QuotaBound> quotaBound(const std::string& ns, std::int64_t milli) const;
  [[nodiscard]] std::optional<sched::QuotaRoom> quotaRoom(const std::string& ns) const;

 private:
  /// `said`: what `after` says that it holds, or `before` where that is null.
  void podChanged(const model::PodPtr& before, const model::Pod* after, const sched::Holdings& said,
                  Mono now);
  /// `said`: by the version that is known; null: not read yet.
  void podGone(const model::Uid& uid, const sched::Holdings* said, Mono now);
  void antiAffinity(const model::Pod& pod, bool waits, bool runs);
  void touchMeantBy(const model::Pod& pod);
  void putPod(const model::PodPtr& pod, const sched::Holdings& said, Mono now);
  void putLease(const model::Ptr<model::Lease>& lease, Mono now);
  void leaseRemoved(const model::Ptr<model::Lease>& before);
  void applyAsItsKind(const controller::Change& change, Mono now);
  void applyPod(const controller::Change& change, Mono now);
  void applyNode(const controller::Change& change, Mono now);
  void applyStatus(const controller::Change& change, Mono now);
  [[nodiscard]] bool isThere(const model::NodeName& name) const;
  [[nodiscard]] bool isOfItsNode(const model::GpuNodeStatus& status) const;
  void settleStatus(const model::NodeName& name, Mono now);
  void takeStatus(const model::Ptr<model::GpuNodeStatus>& status, Mono now);
  void dropStatus(const model::NodeName& name, Mono now);
  void applyClaim(const controller::Change& change);
  void applyLease(const controller::Change& change, Mono now);
  void renumbered(const model::NodeName& node);
  void touchHolders(const model::NodeName& name, const std::vector<int>& ids);
  [[nodiscard]] bool endIsKnown(const model::Uid& uid) const;
  void reclaimAll(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now);
  void assumeEnded(const model::Uid& uid, Mono now);
  void noteFreed();
  void userChanged(const model::Uid& uid);
  void leasesChanged(const model::Uid& uid);
  void reclaimUnknown(const model::GpuNodeStatus& status, Mono now);
  [[nodiscard]] bool agentLooks(const model::NodeName& node) const;
  [[nodiscard]] std::int64_t unnamedOf(const model::NodeName& node, const model::Uid& pod) const;
  void awaitLook(const model::PodPtr& before, const model::Pod* after, Mono now);
  void awaitLooksOfLately(Mono now);
  void seenWith(const model::Pod& pod);
  void touch(const model::Uid& uid) { touched_.push_back(uid); }
  void touchClaimOf(const model::Pod& pod);

  sched::Doors doors_;
  Cache cache_;
  LeaseMemory leases_;
  sched::Ledger ledger_;
  DeviceBlocks blocks_;
  PodDevices devices_;
  DerivedHolds held_;
  sched::AntiAffinity anti_affinity_;
  DeviceReclaim reclaim_;
  AwaitedStatus awaited_;
  AwaitedLooks looks_;
  Uuids uuids_;
  Tombstones orderly_;  // pods whose end we saw, with all that they held, or that they held nothing
  Tombstones assumed_;  // others that are gone: all that was known to be theirs drains, or has drained
  /// Statuses that count for nothing: their owner is not the Node of that name that is known.
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> aside_;
  sched::Decider decider_;
  sched::Queue queue_;
  bool synced_ = false;
  std::set<model::Uid> unbound_;  // pods that wait for a node, anybody's
  std::vector<model::Uid>
      touched_;  // as they came: a list of all pods would pay for order that nobody asks for
  std::set<model::ObjectKey> touched_claims_;
  bool notes_shares_ = false;
  std::set<model::Uid> touched_shares_;
  QuotaTable quota_;
  std::uint64_t compared_ = 0;
};

}  // namespace gs::engine
