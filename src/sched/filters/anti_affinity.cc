// Pods that are there and want no such pod beside them (sched/ledger/anti_affinity.h).
#include <algorithm>

#include "base/mutant.h"
#include "sched/filters/rows.h"

namespace gs::sched {

std::optional<Misfit> refuseExistingAntiAffinity(const NodeState& n, const PodRequest& r) {
  const bool is_kept_away = std::any_of(r.kept_away_by.begin(), r.kept_away_by.end(),
                                        [&](const auto& term) { return n.closedTo(term); });
  return is_kept_away && !GS_MUTANT(ForgetsResidents)
             ? std::optional{Misfit{Reason::ExistingAntiAffinity, "", 0, 0}}
             : std::nullopt;
}

}  // namespace gs::sched
