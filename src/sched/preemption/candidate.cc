#include "sched/preemption/candidate.h"

#include <algorithm>

namespace gs::sched {

bool staysRather(const model::Pod& a, const model::Pod& b) {
  if (a.priority != b.priority) { return a.priority > b.priority; }
  const Wall start_a = startOf(a);
  const Wall start_b = startOf(b);
  return start_a != start_b ? start_a < start_b : a.uid < b.uid;
}

PreemptionCost costOf(const Candidate& candidate) {
  PreemptionCost out;
  out.broken = candidate.broken;
  for (const auto& pod : candidate.victims) {
    const std::int64_t priority = pod->priority;
    const std::int64_t age = ageOf(startOf(*pod));
    out.age = priority > out.highest ? age : priority == out.highest ? std::max(out.age, age) : out.age;
    out.highest = std::max(out.highest, priority);
    out.sum += priority + PreemptionCost::kRaise;
    ++out.victims;
  }
  return out;
}

}  // namespace gs::sched
