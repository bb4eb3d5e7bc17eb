// What the preemptor asks about a pod of ours (scheduler/preempt/preemptor.h), and its turn.
#include "scheduler/scheduler.h"

namespace gs::scheduler {
namespace {

constexpr int kMostFailures = 3;  // Bindings in a row; nobody goes for a pod that cannot be written

}  // namespace

Preemptor::Beside Scheduler::besidePreemptor() {
  return {.asks = [this](const model::Pod& pod) { return asksNow(pod); },
          .fits_now = [this](const model::Pod& pod) { return mayFitNow(pod); },
          .is_being_placed = [this](const model::Uid& uid) { return isBeingPlaced(uid); },
          .is_being_written =
              [this](const model::Uid& uid) {
                return pending_.isBeingTold(uid) || binder_.writes(uid) || probes_.underWay(uid) ||
                       leftovers_.writes(uid);
              }};
}

/// Nobody goes for a pod that would not be placed then: one that is blocked, whose namespace's pods cannot be
/// written, whose Bindings fail, or for which no lease can be written.
std::optional<Preemptor::Asks> Scheduler::asksNow(const model::Pod& pod) {
  if (!c_.places(pod) || !term_.taking() || pod.bound() || pod.deleting) { return std::nullopt; }
  if (pending_.attempts(pod.uid) >= kMostFailures) { return std::nullopt; }
  if (slots_.anyStuck(pod.key.ns) && !probes_.wentThrough(pod.uid)) { return std::nullopt; }
  auto door = pending_.readDoor(pod);
  auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr || (request->devices && !term_.record().ours())) { return std::nullopt; }
  request->kept_off.clear();  // the search knows itself whose room is kept
  Preemptor::Asks asks;
  asks.milli = sched::gpuMilli(*request);
  if (asks.milli > 0) { asks.quota = c_.engine.quotaRoom(pod.key.ns); }
  asks.request = std::move(*request);
  return asks;
}

/// By what is known of the nodes now; one that has no place in the queue is about to be decided on.
bool Scheduler::mayFitNow(const model::Pod& pod) {
  const auto pod_class = pending_.classOf(pod.uid);
  return !pod_class || c_.engine.decider().look(*pod_class, Unschedulable::kLooksPerTurn) !=
                           sched::Decider::Standing::Nowhere;
}

bool Scheduler::isBeingPlaced(const model::Uid& uid) const {
  const model::Pod* pod = c_.cache().pod(uid);
  return binder_.has(uid) || probes_.underWay(uid) || leftovers_.removing(uid) ||
         (pod != nullptr && leftovers_.has(*pod));
}

void Scheduler::preempt() {
  preemptor_.work();
  for (const auto& uid : preemptor_.takeSaid()) {
    const model::Pod* pod = c_.cache().pod(uid);
    const auto pod_class = pending_.classOf(uid);
    if (pod != nullptr && pod_class) { unschedulable_.joined(*pod, *pod_class); }
  }
}

}  // namespace gs::scheduler
