// What the node is, and what was found out about it.
#include <algorithm>

#include "sched/doors/door.h"
#include "sched/filters/rows.h"

namespace gs::sched {

std::optional<Misfit> refuseNotReady(const NodeState& n, const PodRequest& /*r*/) {
  return n.node.ready ? std::nullopt : std::optional{Misfit{Reason::NotReady, "", 0, 0}};
}

std::optional<Misfit> refuseEnforcer(const NodeState& n, const PodRequest& r) {
  if (isKeptBy(r.door, n.enforcer)) { return std::nullopt; }
  return Misfit{Reason::ManagedByOther, enforcerName(n.enforcer), 0, 0};
}

std::optional<Misfit> refuseTriedInVain(const NodeState& n, const PodRequest& r) {
  if (!std::binary_search(r.not_on.begin(), r.not_on.end(), n.node.name)) { return std::nullopt; }
  return Misfit{Reason::TriedInVain, "", 0, 0};
}

/// More important pods wait for what is free there (sched/preemption/nominations.h).
std::optional<Misfit> refuseKeptRoom(const NodeState& n, const PodRequest& r) {
  if (!std::binary_search(r.kept_off.begin(), r.kept_off.end(), n.node.name)) { return std::nullopt; }
  return Misfit{Reason::RoomKept, "", 0, 0};
}

/// As kube-scheduler's NodeDeclaredFeatures (from 1.36 on).
std::optional<Misfit> refuseMissingFeatures(const NodeState& n, const PodRequest& r) {
  const auto& declared = n.node.features;
  if (std::includes(declared.begin(), declared.end(), r.node_features.begin(), r.node_features.end())) {
    return std::nullopt;
  }
  return Misfit{Reason::MissesFeatures, "", 0, 0};
}

}  // namespace gs::sched
