// What a pod's own rules about other pods say of a node (sched/request/near_rules.h), in kube-scheduler's
// order: first PodTopologySpread, then InterPodAffinity, of which the pod's own rules come before those of
// pods that are there. A pod whose rules have no standing is refused by every node.
#pragma once

#include <optional>

#include "sched/ledger/node_state.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

[[nodiscard]] std::optional<Misfit> refuseSpread(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseNear(const NodeState& node, const PodRequest& request);

}  // namespace gs::sched
