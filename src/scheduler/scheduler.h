// The scheduler component: pods of our schedulerName get exact devices,
// by way of leases and a Binding (R8-R47).
// A state machine without I/O: handle(Event, Now) -> Effects.
//
// Level-triggered: whatever happens, the pods it concerns are reconciled, and reconcile(uid) does the next
// right thing for that pod from what is known now (its object, its leases, its binding cycle). So events may
// be late, doubled or missing; the sweep reconciles everybody every 30 s.
//   unbound, no leases of it        -> queued (PendingPods), placed (Placer), then a binding cycle (Binder)
//   unbound, leases without a cycle -> adopted when the set is complete and fits, else fenced and deleted
//   (Leftovers)
//   bound                           -> its leases are as `allocated` says: missing ones written, others
//                                      deleted (BoundLeases)
//   ended                           -> its leases are deleted once its devices are reclaimed
// A standby applies all events and decides nothing; a new leader decides when LeaderTerm says so. Writes are
// sent leader-only (kapi/call.h); after a loss of leadership everything under way is dropped and its outcomes
// ignored.
// Each part owns its state and says in its header what it does;
// this class says who is asked in which order. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/readiness.h"
#include "engine/informers.h"
#include "scheduler/caches/fetch_first.h"
#include "scheduler/caches/node_caches.h"
#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/extender_pods.h"
#include "scheduler/extender_preemption.h"
#include "scheduler/leases/blocked_devices.h"
#include "scheduler/leases/bound_leases.h"
#include "scheduler/leases/gone_proofs.h"
#include "scheduler/leases/lease_desk.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/pending/probes.h"
#include "scheduler/pending/unschedulable.h"
#include "scheduler/placing/asked_binds.h"
#include "scheduler/placing/binder.h"
#include "scheduler/placing/holds.h"
#include "scheduler/placing/leftovers.h"
#include "scheduler/placing/nominator.h"
#include "scheduler/placing/nudges.h"
#include "scheduler/placing/placer.h"
#include "scheduler/preempt/preemptor.h"
#include "scheduler/report/claim_warnings.h"
#include "scheduler/report/contradictions.h"
#include "scheduler/report/device_health.h"
#include "scheduler/report/slice_statuses.h"
#include "scheduler/report/status_revision.h"
#include "scheduler/term/leader_term.h"
#include "scheduler/volumes/volume_desk.h"

namespace gs::scheduler {

using Event = kapi::MachineEvent;

class Scheduler {
 public:
  Scheduler(Config config, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const Event& event, Now now);
  /// The two halves of handle(), for who runs another component on the same engine
  /// (serve/combined/combined.h). After the first one leading() is as it is from now on, and nothing was
  /// decided yet: who begins to lead, too, adopts here. The second one decides on what is known, and may come
  /// again, without an event, after the engine was changed by somebody else.
  void take(const Event& event, Now now);
  [[nodiscard]] kapi::Effects decide(Now now);
  /// A pod of a kube-scheduler that asks us about it, as far as is known of the pod.
  [[nodiscard]] bool asksUs(const model::Pod& pod) const { return c_.asksUs(pod); }
  /// Why kube-schedulers are not answered now; "" they are.
  [[nodiscard]] std::string answersNobodyBecause() const;
  /// What they ask: while it is "". See ExtenderPods; after bind() decide() is to be called.
  [[nodiscard]] ExtenderPods& extenderPods(Now now) {
    c_.now = now;
    return extender_pods_;
  }
  [[nodiscard]] ExtenderPreemption& extenderPreemption(Now now) {
    c_.now = now;
    return extender_preemption_;
  }
  /// For its answers.
  [[nodiscard]] ExtenderPreemption& extenderPreemption() { return extender_preemption_; }
  [[nodiscard]] std::vector<BindAnswer> takeBindAnswers() { return asked_binds_.takeAnswers(); }
  [[nodiscard]] std::vector<FilterAnswer> takeFilterAnswers() { return extender_pods_.takeFilterAnswers(); }
  /// SIGTERM: no new decisions; what is under way goes on.
  void stopTaking() { term_.stop(); }
  /// Something that was decided has not come to its end yet: leases, a Binding, a fence.
  [[nodiscard]] bool underWay() const;

  [[nodiscard]] Readiness readiness() const;
  /// Why this process can do nothing more and must be restarted; "" while it can.
  /// It has stopped writing then.
  [[nodiscard]] const std::string& failure() const {
    return informers_.failure().empty() ? node_caches_.failure() : informers_.failure();
  }
  [[nodiscard]] bool leading() const { return term_.leads(); }
  [[nodiscard]] const std::string& name() const { return c_.config.scheduler_name; }
  /// Of which whoever runs beside it in this process takes his.
  [[nodiscard]] const controller::Owners& owners() const { return c_.owners; }
  [[nodiscard]] const engine::Engine& engine() const { return c_.engine; }
  /// For another component on the same engine; after it changed anything, decide()
  /// lets waiting pods see that.
  [[nodiscard]] engine::Engine& engine() { return c_.engine; }
  /// Pods that wait; none while it does not lead: the leader counts them.
  [[nodiscard]] sched::Queue::Sizes pending() const {
    return leading() ? queue_sizes_ : sched::Queue::Sizes{};
  }
  /// Pods behind scheduling gates.
  [[nodiscard]] std::size_t gated() const { return pending_.gated(); }
  /// Leases of running pods that are missing and cannot be written.
  [[nodiscard]] std::size_t leaseRepairsFailing() const { return bound_leases_.failing(); }
  /// Facts about GPUs that contradict each other; none while it does not lead.
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  /// How often leases or their ids were looked at, pods reconciled, and waiting pods told why: what they
  /// cost, without a clock.
  struct Work {
    std::uint64_t reconciles = 0;
    std::uint64_t looks = 0;
    std::uint64_t told = 0;
  };
  [[nodiscard]] Work workForTest() const { return {reconciles_, bound_leases_.looks(), pending_.told()}; }
  /// What is kept of pods beside the engine, for tests of what grows.
  [[nodiscard]] std::size_t rememberedForTest() const;

 private:
  // scheduler.cc: events in, effects out, leadership
  void changesApplied();
  void cachesChanged();
  void led(const kapi::Leadership& leadership);
  void expectSync();
  void begin();
  void lose();
  void dropUnderWay();
  void recover();
  void followLeadership();
  void takeCensus(const InitialSync::Census& census);
  void tick();
  void catchUp();
  void claimTouched(const model::ObjectKey& claim);
  void work();
  void beginSweep();
  void complainOfMalformedLeases();
  void sweepSome();
  void wakeAtNextDue();
  void sayTrouble(const std::string& trouble);

  // reconcile.cc: one pod, level-triggered
  void reconcileSome(int& left);
  void reconcile(const model::Uid& uid);
  void reconcileEnded(const model::Uid& uid);
  void reconcileBound(const model::Pod& pod);
  void reconcileUnbound(const model::Pod& pod);
  bool isOurTurn(const model::Pod& pod);
  void seeNominations(const model::Pod& pod);
  // preempting.cc: what the preemptor asks about a pod
  [[nodiscard]] Preemptor::Beside besidePreemptor();
  [[nodiscard]] std::optional<Preemptor::Asks> asksNow(const model::Pod& pod);
  [[nodiscard]] bool mayFitNow(const model::Pod& pod);
  [[nodiscard]] bool isBeingPlaced(const model::Uid& uid) const;
  void preempt();
  void noticed(const LeaseNotice& notice);
  void noticed(const AllocationNotice& notice);
  void noticed(const VolumeNotice& notice);
  bool pumpDesks();
  [[nodiscard]] bool podWriteOpen(const model::Uid& uid) const;

  Context c_;
  engine::Informers informers_;
  NodeCaches node_caches_;
  LeaderTerm term_;
  Slots slots_;
  StatusRevision status_revision_;
  LeaseDesk desk_;
  AllocationDesk allocations_;
  VolumeDesk volumes_;
  GoneProofs proofs_;
  PendingPods pending_;
  FetchFirst fetch_first_;
  Unschedulable unschedulable_;
  Probes probes_;
  Binder binder_;
  BoundLeases bound_leases_;
  Leftovers leftovers_;
  Nudges nudges_;
  BlockedDevices blocked_;
  DeviceHealth device_health_;
  SliceStatuses slice_statuses_;
  Contradictions contradictions_;
  ClaimWarnings claim_warnings_;
  Holds holds_;
  Nominator nominator_;
  AskedBinds asked_binds_;
  ExtenderPods extender_pods_;
  ExtenderPreemption extender_preemption_;
  Preemptor preemptor_;
  Placer placer_;

  std::uint64_t reconciles_ = 0;
  sched::Queue::Sizes queue_sizes_{};
  Mono next_sweep_{};
  std::map<model::ObjectKey, std::string> unreadable_;  // leases that were complained about, and why
  std::string trouble_;                                 // why we do not decide yet, as last logged
};

}  // namespace gs::scheduler
