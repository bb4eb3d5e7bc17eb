#include "scheduler/extender_preemption.h"

#include <iterator>
#include <utility>

#include "sched/ledger/quota.h"
#include "sched/placement/fit.h"

namespace gs::scheduler {

ExtenderPreemption::ExtenderPreemption(Context& context, const PendingPods& pending, const Holds& holds)
    : c_{context},
      pending_{pending},
      preemption_{context.engine, sched::fitsOn,
                  [&holds](const auto& uid, const auto& node) { return holds.makesRoom(uid, node); }} {}

/// What kube-scheduler knows of the pod may be older than what we do, never other.
void ExtenderPreemption::ask(Request request) {
  const auto known = c_.cache().pods().find(request.pod->uid);
  const model::PodPtr pod = known == c_.cache().pods().end() ? request.pod : known->second;
  auto door = pending_.readDoor(*pod);
  auto* wish = std::get_if<sched::PodRequest>(&door);
  if (wish == nullptr) {
    answers_.push_back({request.id});
    return;
  }
  const bool at_once = preemption_.next() == nullptr;
  const std::int64_t milli = sched::gpuMilli(*wish);
  preemption_.ask({request.id, pod, std::move(*wish), milli, std::move(request.nodes),
                   std::move(request.victims), request.until});
  if (at_once) { tick(); }
}

std::vector<ExtenderPreemption::Answer> ExtenderPreemption::takeAnswers() {
  auto out = std::exchange(answers_, {});
  auto found = preemption_.takeAnswers();
  std::move(found.begin(), found.end(), std::back_inserter(out));
  return out;
}

std::optional<Mono> ExtenderPreemption::nextDue() const {
  return preemption_.next() != nullptr ? std::optional{c_.now.mono} : std::nullopt;
}

void ExtenderPreemption::reset() {
  const auto ids = preemption_.drop();
  dropped_.insert(dropped_.end(), ids.begin(), ids.end());
}

}  // namespace gs::scheduler
