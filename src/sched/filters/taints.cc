// Taints, and spec.unschedulable, which is one by another name.
#include "model/taints.h"

#include "sched/filters/rows.h"

namespace gs::sched {

std::optional<Misfit> refuseUnschedulable(const NodeState& n, const PodRequest& r) {
  if (!n.node.unschedulable || model::toleratesAny(r.tolerations, model::unschedulableTaint())) {
    return std::nullopt;
  }
  return Misfit{Reason::Unschedulable, "", 0, 0};
}

std::optional<Misfit> refuseTaints(const NodeState& n, const PodRequest& r) {
  const model::Taint* taint = model::untoleratedOf(n.node.taints, r.tolerations);
  if (taint == nullptr) { return std::nullopt; }
  return Misfit{Reason::UntoleratedTaint, taint->key + ": " + taint->value, 0, 0};
}

}  // namespace gs::sched
