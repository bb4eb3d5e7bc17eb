#include "sched/policy/spread.h"

#include <algorithm>

#include "sched/policy/first_set.h"

namespace gs::sched {

std::optional<Mask> spread(const Topology& t, const std::vector<int>& order, const Terms& terms) {
  if (terms.required) { return firstSet(t, order, terms); }
  if (static_cast<int>(order.size()) < terms.count) { return std::nullopt; }
  Mask set = 0;
  while (countOf(set) < terms.count) {
    Mask visited = 0;  // islands that gave one in this round
    addSteps(terms.meter, order.size());
    for (const int i : order) {
      if ((set & bit(i)) != 0 || (visited & bit(i)) != 0) { continue; }
      set |= bit(i);
      visited |= t.islandOf(i);
      if (countOf(set) == terms.count) { break; }
    }
  }
  return set;
}

int islandsOf(const Topology& t, Mask set) {
  return static_cast<int>(std::count_if(t.islands().begin(), t.islands().end(),
                                        [&](Mask island) { return (island & set) != 0; }));
}

}  // namespace gs::sched
