#include "extender/grants/grant.h"

#include <algorithm>

#include "sched/doors/vcuda.h"

namespace gs::extender {

std::map<int, std::vector<int>> idsOf(const sched::SharePicks& picks) {
  std::map<int, std::vector<int>> ids;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (!picks[i].ids.empty()) { ids[static_cast<int>(i)] = picks[i].ids; }
  }
  return ids;
}

bool asksFor(const Grant& g, const model::Pod& pod) {
  const sched::SharePicks now = sched::vcudaPicks(pod);
  return g.write.isOrphan() || std::equal(now.begin(), now.end(), g.picks.begin(), g.picks.end(),
                                          [](const auto& a, const auto& b) { return a.asked == b.asked; });
}

model::VcudaNote noteOn(const model::Pod& pod) {
  return model::readVcudaNote(pod.annotations, pod.share_limits.size());
}

}  // namespace gs::extender
