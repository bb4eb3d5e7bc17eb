// The placer: which pod next, and where. It takes pods from the queue while there are slots, has the
// allocator decide, and gives what was decided to the binder; what fits nowhere is rejected by class
// (unschedulable.h). One thread.
//
// A pod that is nominated to a node is tried there first. Whoever would take room that is kept for a
// nominated pod (Preemptor::admits) is decided on again without the nodes with such room; these are let go
// once a second at most, so that who waits is not read anew for each pod that comes.
//
// Order: the queue's (priority, creation, uid). A pod whose namespace has no slot is held back, so that
// others go on without it, and comes back as slots are freed.
#pragma once

#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/pending/probes.h"
#include "scheduler/pending/unschedulable.h"
#include "scheduler/placing/binder.h"
#include "scheduler/placing/leftovers.h"
#include "scheduler/placing/nominator.h"
#include "scheduler/preempt/preemptor.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

class Placer {
 public:
  struct Beside {
    const LeaseRecord& record;
    Slots& slots;
    PendingPods& pending;
    Unschedulable& unschedulable;
    Probes& probes;
    Binder& binder;
    Leftovers& leftovers;
    Nominator& nominator;
    Preemptor& preemptor;
  };
  Placer(Context& context, Beside beside) : c_{context}, b_{beside} {}

  /// It waits for a node: into the queue, or told why not.
  void enqueue(const model::Pod& pod);
  /// Places whoever has a turn now, some at a time: `left` decisions at most, which it counts down.
  void placeSome(int& left);
  /// Other quotas bind other pods, so everybody who waits is read anew;
  /// what is used of them moves whole classes.
  void followQuotas();
  /// More could be placed at once.
  [[nodiscard]] bool hasMore() const;
  /// When a pod that backed off is due.
  [[nodiscard]] std::optional<Mono> nextDue() const;

 private:
  [[nodiscard]] bool heldBack(const sched::Queue::Item& item);
  void bringBack();
  /// Where that takes more looks than are left `until` then, it is put back into the queue.
  void decide(const sched::Queue::Item& item, std::uint64_t until);
  void place(const model::Pod& pod, const sched::Queue::Item& item, const sched::Placed& placed);
  [[nodiscard]] std::optional<sched::Placed> onNominatedNode(const model::Pod& pod,
                                                             const sched::PodRequest& request) const;
  void letKeptGo();

  Context& c_;
  Beside b_;
  bool ran_out_ = false;               // of decisions: what they led to is looked at by another event
  bool brought_back_ = false;          // some who were held back, the last time
  std::uint64_t quota_version_ = 0;    // of the table of quotas, as unschedulable classes know it
  std::uint64_t gpu_use_version_ = 0;  // of what is used of them
  Mono next_let_go_{};
};

}  // namespace gs::scheduler
