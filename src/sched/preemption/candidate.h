// A node on which a pod has room once some others went, and which of two such nodes is better: the rules of
// kube-scheduler's preemption. The first that differs decides:
//   1. fewer victims whose going breaks a PodDisruptionBudget;
//   2. the most important victim has the lower priority;
//   3. the smaller sum of the victims' priorities, each raised above 0, so that fewer are better;
//   4. fewer victims;
//   5. of the victims of the highest priority, the one that started first started later.
// Then ours: where the pod was told to wait before, then the node's name.
// A node on which nobody has to be told to go is better than any other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {

/// What kube-scheduler means by a pod's start. One that its kubelet has not taken starts now: after all
/// others.
[[nodiscard]] inline Wall startOf(const model::Pod& pod) {
  return pod.started == Wall{} ? Wall::max() : pod.started;
}
/// Which of two may rather stay: of higher priority, else the one that started earlier; then by uid.
[[nodiscard]] bool staysRather(const model::Pod& a, const model::Pod& b);

struct Candidate {
  Ledger::NodeIndex node = 0;
  /// Who has to go, the most important first. Some may be going already. None: room comes by itself.
  std::vector<model::PodPtr> victims;
  std::int64_t broken = 0;  // of these, those whose going breaks a budget
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Points 1 to 5. The smaller one is better.
struct PreemptionCost {
  static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();
  /// So much is added to each priority.
  static constexpr std::int64_t kRaise = std::int64_t{1} << 31U;

  std::int64_t broken = 0;
  std::int64_t highest = kNobody;
  std::int64_t sum = 0;
  std::int64_t victims = 0;
  std::int64_t age = kNobody;  // the later the start, the smaller
  friend auto operator<=>(const PreemptionCost&, const PreemptionCost&) = default;
};
[[nodiscard]] inline std::int64_t ageOf(Wall start) { return -start.time_since_epoch().count(); }
[[nodiscard]] PreemptionCost costOf(const Candidate& candidate);

}  // namespace gs::sched
