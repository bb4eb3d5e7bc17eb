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
//   an allocated ResourceClaim          Source::Claim for those whose it is (allocated_claims.h); for a bound
//                                       pod until it ends, though the claim gives it nothing more
//   a bound, unfinished pod             its resources, and what the doors read of it (sched::Holdings):
//                                       Source::BoundPod for devices by id (held_devices.h) and for shares,
//                                       which are in flight until the kubelet took it; devices that are
//                                       counted only: anonymous
//   an ended pod                        Source::Draining until the agent proves its containers gone
//                                       (device_reclaim.h)
// Each kind of object has a handler, which says what a change of it means; what they share is EngineState.
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/reflector.h"
#include "dra/drivers.h"
#include "engine/claim_handler.h"
#include "engine/engine_state.h"
#include "engine/lease_handler.h"
#include "engine/node_handler.h"
#include "engine/pod_handler.h"
#include "engine/quota_table.h"
#include "engine/resource_claim_handler.h"
#include "engine/volume_handler.h"
#include "sched/ledger/quota.h"
#include "sched/placement/decider.h"
#include "sched/placement/queue.h"
#include "sched/policy/meter.h"
#include "sched/preemption/request_if.h"

namespace gs::engine {

class Engine {
 public:
  /// `doors`: the conventions by which pods ask for GPUs (sched/doors/door.h); they live longer.
  /// `drivers`: the DRA drivers whose devices are GPUs.
  explicit Engine(sched::Doors doors = sched::kDoors, dra::Drivers drivers = dra::knownDrivers())
      : state_{doors, std::move(drivers)}, decider_{state_.ledger} {
    state_.reclaim.setComplete(false, Mono{});
  }

  /// A change that a watch or a consistent list brought.
  void apply(const controller::Change& change, Mono now);
  /// An object in the answer to a call of ours; older than what is known: ignored.
  void learn(const model::Object& object, Mono now);
  /// A live GET said that this pod is gone (404 or another uid).
  void podGone(const model::Uid& uid, Mono now) { pods_.gone(uid, now); }
  /// A pod that is gone may have run there, for all that was sent: as if it had ended uncleanly, unless its
  /// end was seen.
  /// `uuids`: of these devices, "" not known.
  void mayHaveRun(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                  const std::vector<std::string>& uuids, Mono now) {
    state_.ends.mayHaveRun(uid, node, ids, uuids, now);
  }
  /// Our DELETE was applied, or the lease was not there.
  void leaseGone(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision = 0) {
    leases_.gone(key, uid, revision);
  }
  /// An ancestor's lease (no annotations) stands under the name of this device: count it as holding it.
  void placeLease(const model::ObjectKey& key, const model::NodeName& node, int gpu) {
    leases_.place(key, node, gpu);
  }
  /// A pod was decided to come to that node and to have GPUs by their number: until it is there, and the
  /// agent has named them, none is given by its id there (AwaitedLooks).
  void expectsCounted(const model::NodeName& node, const model::Uid& pod, Mono now) {
    state_.unnamed.expects(node, pod, now);
  }
  /// It came, or will not come.
  void expectsNoMore(const model::NodeName& node, const model::Uid& pod) {
    state_.unnamed.expectsNoMore(node, pod);
  }
  /// Every kind is listed, or not served. Until then no device becomes free, for which nodes have agents is
  /// not known. From then on a uid in `inUseBy` that is not among the pods is an ended pod's.
  void synced(Mono now);
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// See DeviceReclaim::wantsFloor().
  void tellStatusRevision(std::uint64_t number, model::Revision revision) {
    state_.reclaim.setFloor(number, revision);
  }

  [[nodiscard]] sched::Doors doors() const { return state_.doors; }
  [[nodiscard]] const dra::Drivers& drivers() const { return state_.node_devices.drivers(); }
  [[nodiscard]] const Cache& cache() const { return state_.cache; }
  /// ResourceClaims: what their watch brought, and answers to calls of ours.
  [[nodiscard]] const AllocatedClaims& allocatedClaims() const { return state_.claims; }
  /// What agents report and DRA drivers publish, each by itself and both together.
  [[nodiscard]] const NodeDevices& nodeDevices() const { return state_.node_devices; }
  /// What pods with spec.resourceClaims ask for.
  [[nodiscard]] DeviceClaims& deviceClaims() { return state_.device_claims; }
  /// What deciding took so far, reading and giving what ResourceClaims ask for, and following what pods say
  /// of each other, in looks (Decider::looks).
  [[nodiscard]] std::uint64_t looks() const {
    return decider_.looks() + state_.device_claims.steps() / sched::kStepsPerLook +
           state_.near.looks() / sched::Near::kPerLook;
  }
  /// Classes that nobody waits with are to be retired: they keep rules of other pods (Near::isCrowded).
  [[nodiscard]] bool hasManyRules() const { return state_.near.isCrowded(); }
  /// A live read, or the watch, said that this one is not there; `uid` empty: whatever was.
  void resourceClaimGone(const model::ObjectKey& key, const model::Uid& uid, Mono now) {
    resource_claims_.gone(key, uid, now);
  }
  /// Persistent volumes and claims of them, and what is chosen of these for pods.
  [[nodiscard]] const sched::Volumes& volumes() const { return state_.volumes; }
  [[nodiscard]] VolumeHandler& volumeChoices() { return volumes_; }
  /// For sched::readPod(): what the volumes of a pod ask for.
  [[nodiscard]] sched::VolumeSelections::Said askedOfVolumes(const model::Pod& pod) {
    return volumes_.asked(pod);
  }
  /// The server is Kubernetes 1.`minor`: filters are as of its kube-scheduler; without it, as of the newest.
  /// Before anything is brought.
  void setServer(int minor) {
    constexpr int kSumsResizes = 37;
    state_.volumes.setRules(sched::volumeRulesOf(minor));
    state_.held.countAsUntil36(minor < kSumsResizes);
  }
  /// Their watch brought everything up to there.
  void resourceClaimsNotServed() { state_.claims.notServed(); }
  void sawResourceClaims(model::Revision revision) { state_.claims.saw(revision); }
  /// A list was answered: whether we may list that kind. Pods that need ResourceClaims, DeviceClasses or
  /// what is of volumes are told so.
  void mayList(kapi::Kind kind, bool may);
  [[nodiscard]] const LeaseMemory& leaseMemory() const { return state_.leases; }
  [[nodiscard]] const PodDevices& podDevices() const { return state_.devices; }
  /// The devices of its node that this pod holds, by what is written and by what its agent sees; ascending.
  [[nodiscard]] std::vector<int> heldBy(const model::Pod& pod) const { return state_.held.heldBy(pod); }
  [[nodiscard]] const DeviceReclaim& reclaim() const { return state_.reclaim; }
  /// Devices that count as held because nobody knows by whom.
  [[nodiscard]] DeviceBlocks& blocks() { return state_.blocks; }
  /// GPUs of which nobody knows how many there are.
  [[nodiscard]] Uuids& uuids() { return state_.uuids; }
  [[nodiscard]] sched::Ledger& ledger() { return state_.ledger; }
  [[nodiscard]] const sched::Ledger& ledger() const { return state_.ledger; }
  [[nodiscard]] const sched::AntiAffinity& antiAffinity() const { return state_.anti_affinity; }
  /// For preemption of our own: which pods are on which node, and what protects them. From now on they are
  /// kept: before the first pod is known.
  void keepResidents() { state_.keeps_residents = true; }
  [[nodiscard]] const sched::Residents& residents() const { return state_.residents; }
  [[nodiscard]] sched::Budgets& budgets() { return state_.budgets; }
  /// Who knows what pods say of each other.
  [[nodiscard]] sched::PodsThere podsThere() const { return {&state_.anti_affinity, &state_.near}; }
  /// What a request has to know of other pods: to be asked whenever one was read with sched::Filters::Ours.
  [[nodiscard]] std::optional<sched::Blocked> askNear(const model::Pod& pod, sched::PodRequest& request) {
    return state_.near_pods.ask(pod, request);
  }
  [[nodiscard]] DefaultSpreads& defaultSpreads() { return state_.default_spreads; }
  [[nodiscard]] sched::Decider& decider() { return decider_; }
  [[nodiscard]] sched::Queue& queue() { return queue_; }

  /// Pods that something changed for (itself, its claim, its leases, its reclaim),
  /// since the last call; ascending.
  [[nodiscard]] std::set<model::Uid> takeTouched() { return state_.touched.takePods(); }
  /// Claims whose spec or whose pods changed, since the last call.
  [[nodiscard]] std::set<model::ObjectKey> takeTouchedClaims() { return state_.touched.takeClaims(); }
  /// Nodes of whose GPUs something else may be said than their GpuNodeStatus says, since the last call.
  [[nodiscard]] std::set<model::NodeName> takeTouchedNodes() { return state_.touched.takeNodes(); }
  /// Those that it will give.
  [[nodiscard]] const std::set<model::NodeName>& touchedNodes() const { return state_.touched.nodes(); }
  void forgetTouched();
  /// For the extender, from noteShares() on: as takeTouched(), of pods that ask for shares. Also of pods that
  /// went and that only the extender's callers knew.
  void noteShares() { state_.touched.noteShares(); }
  [[nodiscard]] std::set<model::Uid> takeTouchedShares() { return state_.touched.takeShares(); }
  /// What all of this has cost so far: pods whose holdings were derived, and waiting pods that were passed,
  /// with anti-affinity terms that they were compared with.
  struct Work {
    std::uint64_t derived = 0;
    std::uint64_t compared = 0;
  };
  [[nodiscard]] Work work() const { return {state_.held.derived(), state_.near_pods.compared()}; }

  /// The quotas of GPUs that bind pods of every door.
  void configureQuota(model::QuotaConfig config);
  [[nodiscard]] QuotaTable& quota() { return quota_; }
  [[nodiscard]] const QuotaTable& quota() const { return quota_; }
  /// The quota that binds a pod of this namespace which counts `milli`; nullopt: none. What the pod itself
  /// holds must not be in the ledger.
  [[nodiscard]] std::optional<sched::QuotaBound> quotaBound(const std::string& ns, std::int64_t milli) const;
  [[nodiscard]] std::optional<sched::QuotaRoom> quotaRoom(const std::string& ns) const;

 private:
  void handle(const controller::Change& change, Mono now);

  EngineState state_;
  PodHandler pods_{state_};
  LeaseHandler leases_{state_};
  NodeHandler nodes_{state_};
  ClaimHandler claims_{state_};
  ResourceClaimHandler resource_claims_{state_};
  VolumeHandler volumes_{state_};
  QuotaTable quota_;
  sched::Decider decider_;
  sched::Queue queue_;
  bool synced_ = false;
};

}  // namespace gs::engine
