// Names of nodes that a pod says.
#include "sched/filters/rows.h"

namespace gs::sched {

/// Of a pod with a map: the node that maps mean by that name. (One with spec.nodeName is bound already.)
std::optional<Misfit> refuseOtherName(const NodeState& n, const PodRequest& r) {
  if (r.on_node.empty() || n.answersTo(r.on_node)) { return std::nullopt; }
  return Misfit{Reason::OtherName, r.on_node, 0, 0};
}

/// Whose required node affinity names nodes in each of its terms, and not this one, as pods of DaemonSets.
/// kube-scheduler does not look at other nodes at all, so that is told even where they are unschedulable.
std::optional<Misfit> refuseUnnamed(const NodeState& n, const PodRequest& r) {
  if (model::mayBeNamed(r.node_affinity, n.node.name.text)) { return std::nullopt; }
  return Misfit{Reason::SelectorMismatch, "", 0, 0};
}

}  // namespace gs::sched
