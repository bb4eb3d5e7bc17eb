#include "sched/ledger/quota.h"

#include "sched/filters/rows.h"

namespace gs::sched {

std::optional<Misfit> refuseQuota(const NodeState& n, const PodRequest& r) {
  if (!r.quota || passesQuota(n.node, r.quota->terms)) { return std::nullopt; }
  return Misfit{Reason::ExceedsQuota, "", 0, 0};
}

}  // namespace gs::sched
