// The binder: binding cycles, each on its way from its leases to the Binding, and back (binding_cycle.h has
// the states).
//
// It owns every decision that is under way: nobody else changes a binding cycle. It gets there by the lease
// desk, by the volume desk, on nodes of a DRA driver by the allocation desk and a mapping, by a Binding, and
// by a fence where the outcome of a Binding is unknown. Once a pod is bound as decided, or everything was
// given back, the cycle is gone, and the pod is reconciled. Where a Binding was sent whose cycle is gone
// before anybody knew what came of it is kept, over a loss of leadership too: the pod may have run there. A
// part of the scheduler's; one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/keyed_calls.h"
#include "scheduler/caches/node_caches.h"
#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/leases/allocation_desk.h"
#include "scheduler/leases/gone_proofs.h"
#include "scheduler/leases/lease_desk.h"
#include "scheduler/pending/binding_cycle.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/volumes/volume_desk.h"

namespace gs::scheduler {

class Binder : public controller::Part {
 public:
  struct Beside {
    LeaseDesk& desk;
    AllocationDesk& allocations;
    VolumeDesk& volumes;
    Slots& slots;
    PendingPods& pending;
    GoneProofs& proofs;
    const NodeCaches& node_caches;
  };
  Binder(Context& context, const Beside& beside)
      : c_{context},
        desk_{beside.desk},
        allocations_{beside.allocations},
        volumes_{beside.volumes},
        slots_{beside.slots},
        pending_{beside.pending},
        proofs_{beside.proofs},
        node_caches_{beside.node_caches},
        calls_{c_.parts.add(*this)} {}

  /// Reserves what was decided, and takes the leases of it. The pod is decided on again where its volumes
  /// cannot be had there any more.
  void begin(const model::Pod& pod, const sched::PodRequest& request, const sched::Placed& placed);
  /// Takes over leases that an earlier leader wrote for this pod. They are written anew:
  /// its late deletions miss them. False: its volumes cannot be had there.
  [[nodiscard]] bool adopt(const model::Pod& pod, const model::NodeName& node, const std::vector<int>& ids,
                           const sched::PodRequest& request);
  [[nodiscard]] bool has(const model::Uid& uid) const { return cycles_.contains(uid); }
  /// How far its binding cycle is; nullopt: it has none. For tests of the way there.
  [[nodiscard]] std::optional<Stage> stageOf(const model::Uid& uid) const;
  /// Where its binding cycle takes the pod.
  [[nodiscard]] std::optional<model::NodeName> nodeOf(const model::Uid& uid) const;
  /// Somebody waits for what comes of the pod's binding cycle.
  void askedFor(const model::Uid& uid);
  /// Nobody waits any more: what no Binding was sent for is given back.
  void notAskedForAnyMore(const model::Uid& uid);
  struct Ended {
    model::Uid uid;
    bool bound = false;  // as decided
    std::string why{};   // else
  };
  /// Binding cycles that somebody asked for and that came to their end since.
  [[nodiscard]] std::vector<Ended> takeEnded() { return std::exchange(ended_, {}); }
  /// The next step of a pod's binding cycle, if it has one; the pod is unbound as far as we know. Called
  /// whenever anything about it may have changed. False: it has none.
  bool advance(const model::Uid& uid);
  /// What came of a lease. False: no binding cycle waits for it.
  bool noticed(const LeaseNotice& notice);
  /// What came of a pod's ResourceClaim. False: no binding cycle waits for it.
  bool noticed(const AllocationNotice& notice);
  /// What came of a pod's volumes. False: it has no binding cycle.
  bool noticed(const VolumeNotice& notice);
  /// Its pod is bound, to what the cycle asked for or not. False: wait, the answer to its Binding is on the
  /// way and says which.
  [[nodiscard]] bool bound(const model::Pod& pod);
  void podEnded(const model::Uid& uid) override;
  /// A Binding or a fence of that pod may be open, so nothing else is written to it.
  [[nodiscard]] bool writes(const model::Uid& uid) const;
  /// Its Binding is unresolved for so long that the claim's phase says so (R45).
  [[nodiscard]] bool reserved(const model::Uid& uid) const;
  /// Its event is overdue when its Binding was applied so long ago: the pod is read.
  void readOverdue(const model::Uid& uid);
  /// At the beginning of a term: pods that came to something while we did not lead.
  void settleBoundPerhaps();

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  /// What was decided is forgotten. Its leases stay, and are adopted or fenced by whoever leads next,
  /// we ourselves perhaps.
  void reset() override;
  /// Something that was decided has not come to its end yet.
  [[nodiscard]] bool underWay() const;
  [[nodiscard]] std::size_t cycles() const { return cycles_.size(); }
  [[nodiscard]] std::size_t size() const override { return cycles_.size() + bound_perhaps_.size(); }

 private:
  static constexpr Duration kReservedAfter = std::chrono::seconds{1};
  enum class Purpose : std::uint8_t { Map, Bind, ReadAfterConflict, Fence, ReadBound };
  struct Placing {
    model::NodeName node;
    std::vector<int> ids;
    std::vector<std::string> uuids;
  };
  BindingCycle make(const model::Pod& pod, const model::NodeName& node, std::vector<int> ids,
                    const sched::PodRequest& request);
  void advance(BindingCycle& cycle, const model::Pod& pod);
  bool gaveUpFor(BindingCycle& cycle, const model::Pod& pod);
  bool gaveUpRenumbered(BindingCycle& cycle);
  void call(BindingCycle& cycle, kapi::Call what, Purpose purpose);
  void tryLater(BindingCycle& cycle, Duration retry_after);
  [[nodiscard]] bool waitShortly(BindingCycle& cycle, Duration retry_after);
  void takeLeases(BindingCycle& cycle, bool confirm);
  [[nodiscard]] bool leasesFail(const BindingCycle& cycle) const;
  [[nodiscard]] bool isLeasingTooLong(const BindingCycle& cycle) const;
  [[nodiscard]] bool isOvertaken(const BindingCycle& cycle) const;
  [[nodiscard]] bool hasMoved(const BindingCycle& cycle) const;
  [[nodiscard]] bool isRenumbered(const BindingCycle& cycle) const;
  [[nodiscard]] bool holdsAllLeases(const BindingCycle& cycle) const;
  [[nodiscard]] bool awaitsBinding(const BindingCycle& cycle) const;
  [[nodiscard]] bool boundByOthers(const BindingCycle& cycle) const;
  [[nodiscard]] sched::Annotations annotationsOf(const BindingCycle& cycle, const model::Pod& pod) const;
  // binding_volumes.cc
  [[nodiscard]] bool chooseVolumes(const model::Pod& pod, const model::NodeName& node);
  void bindVolumes(BindingCycle& cycle);
  void advanceVolumes(BindingCycle& cycle, const model::Pod& pod);
  // allocating.cc: what a DRA driver is to prepare
  [[nodiscard]] Allocation allocationForLimits(const model::Pod& pod, const BindingCycle& cycle) const;
  [[nodiscard]] Allocations allocationsFor(const model::Pod& pod, const BindingCycle& cycle) const;
  [[nodiscard]] static bool needsMapping(const BindingCycle& cycle);
  [[nodiscard]] bool isByDra(const BindingCycle& cycle) const;
  [[nodiscard]] bool allocatesAsDecided(const BindingCycle& cycle) const;
  [[nodiscard]] const Allocation* allocationOf(const BindingCycle& cycle, int id) const;
  [[nodiscard]] std::optional<model::ObjectKey> sharedBy(const BindingCycle& cycle, int id) const;
  [[nodiscard]] bool isSharedWithOthers(const BindingCycle& cycle) const;
  [[nodiscard]] bool isSeen(const BindingCycle& cycle) const;
  [[nodiscard]] bool isAllocated(const BindingCycle& cycle) const;
  [[nodiscard]] bool isAllocatingTooLong(const BindingCycle& cycle) const;
  [[nodiscard]] bool isContended(const model::NodeName& node) const;
  [[nodiscard]] bool awaitsOthers(BindingCycle& cycle);
  void metOthers(const BindingCycle& cycle);
  void allocate(BindingCycle& cycle);
  void advanceAllocating(BindingCycle& cycle, const model::Pod& pod);
  void map(BindingCycle& cycle, const model::Pod& pod);
  void isMapped(BindingCycle& cycle, const model::Pod& pod);
  void mapAnswered(BindingCycle& cycle, const kapi::Outcome& outcome);
  void giveLeases(BindingCycle& cycle);
  void bindOrTakeAgain(BindingCycle& cycle);
  void bind(BindingCycle& cycle);
  void bindAnswered(BindingCycle& cycle, const kapi::Outcome& outcome);
  void bindApplied(BindingCycle& cycle);
  void bindLater(BindingCycle& cycle, const kapi::Outcome& outcome);
  void conflictRead(BindingCycle& cycle, const kapi::Outcome& outcome);
  void fence(BindingCycle& cycle);
  void fenceAnswered(BindingCycle& cycle, const kapi::Outcome& outcome);
  void judgeLivePod(BindingCycle& cycle, const model::Pod& pod, bool after_fence);
  void giveUp(BindingCycle& cycle, std::string why);
  void giveBut(const BindingCycle& cycle, const model::Pod& pod);
  void release(BindingCycle& cycle, std::string why);
  void finishRelease(const BindingCycle& cycle);
  void scheduledEvent(const BindingCycle& cycle);
  [[nodiscard]] bool mayUseOthers(const BindingCycle& cycle, const model::Pod& pod) const;
  void warnOfUntold(const BindingCycle& cycle);
  void warnOfOrder(const BindingCycle& cycle);
  void warnOfPicked(const BindingCycle& cycle);
  void logBound(const BindingCycle& cycle, std::optional<Mono> since);
  [[nodiscard]] std::vector<int> boundTo(const BindingCycle& cycle) const;
  std::vector<int> openLeases(BindingCycle& cycle);
  void keepBoundPerhaps(const BindingCycle& cycle);
  void endBoundPerhaps(const model::Uid& uid);
  void tellCaller(const BindingCycle& cycle, bool bound, std::string why = {});
  BindingCycle* find(const model::Uid& uid);
  [[nodiscard]] const BindingCycle* find(const model::Uid& uid) const;
  void forget(const model::Uid& uid);

  Context& c_;
  LeaseDesk& desk_;
  AllocationDesk& allocations_;
  VolumeDesk& volumes_;
  Slots& slots_;
  PendingPods& pending_;
  GoneProofs& proofs_;
  const NodeCaches& node_caches_;
  controller::KeyedCalls<model::Uid, Purpose> calls_;
  std::map<model::Uid, BindingCycle> cycles_;
  std::map<model::Uid, Placing> bound_perhaps_;
  std::map<model::NodeName, Mono> contended_until_;  // others allocate devices of these nodes
  std::vector<Ended> ended_;
};

}  // namespace gs::scheduler
