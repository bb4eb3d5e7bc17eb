// What kube-scheduler asks about pods that it places and that ask for GPUs of ours: on which nodes there is
// room for one once others have left, and who has to leave (engine/preemption.h). Nothing is reserved. A part
// of the scheduler's that makes no calls; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/preemption.h"
#include "scheduler/core/context.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/placing/holds.h"

namespace gs::scheduler {

class ExtenderPreemption {
 public:
  ExtenderPreemption(Context& context, const PendingPods& pending, const Holds& holds);

  struct Request {
    std::uint64_t id = 0;  // its caller's
    model::PodPtr pod;
    std::vector<std::optional<sched::Ledger::NodeIndex>> nodes;  // nullopt: none that is known
    std::shared_ptr<const std::vector<engine::Preemption::Uids>> victims;
    Mono until = Mono::max();  // nobody waits for the answer any more
  };
  void ask(Request request);
  using Answer = engine::Preemption::Answer;
  [[nodiscard]] std::vector<Answer> takeAnswers();
  /// Of those that will not be answered.
  [[nodiscard]] std::vector<std::uint64_t> takeDropped() { return std::exchange(dropped_, {}); }

  void tick() { preemption_.work(c_.now.mono); }
  [[nodiscard]] std::optional<Mono> nextDue() const;
  void reset();
  [[nodiscard]] std::size_t size() const { return preemption_.size(); }

 private:
  Context& c_;
  const PendingPods& pending_;
  engine::Preemption preemption_;
  std::vector<Answer> answers_;
  std::vector<std::uint64_t> dropped_;
};

}  // namespace gs::scheduler
