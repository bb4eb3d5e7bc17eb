// What the rows of the table ask (filter.h), each in a file of its own: why this node does not take such a
// pod; nullopt: for no reason of theirs.
#pragma once

#include <optional>
#include <vector>

#include "sched/ledger/node_state.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

// Facts of the node.
[[nodiscard]] std::optional<Misfit> refuseOtherName(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseUnnamed(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseUnschedulable(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseTaints(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseLabels(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseNotReady(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseClaimSelector(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseEnforcer(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseDra(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseKeptRoom(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseTriedInVain(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseQuota(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseMissingFeatures(const NodeState& node, const PodRequest& request);
// And of volumes: what changes these is told to the ledger as if it were one (Ledger::volumesChanged()).
[[nodiscard]] std::optional<Misfit> refuseVolumeBinding(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseVolumeZone(const NodeState& node, const PodRequest& request);

// What pods use there.
[[nodiscard]] std::optional<Misfit> refuseHostPorts(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseResources(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseVolumeRestrictions(const NodeState& node,
                                                             const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseVolumeLimits(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseSpread(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseNear(const NodeState& node, const PodRequest& request);
[[nodiscard]] std::optional<Misfit> refuseExistingAntiAffinity(const NodeState& node,
                                                               const PodRequest& request);

/// All that refuseResources() has to say: each amount of which too little is left, but for nvidia.com/gpu
/// (refuseCounted() in sched/placement/fit.h), in the order of reasons, then of resources.
[[nodiscard]] std::vector<Misfit> shortOf(const NodeState& node, const PodRequest& request);

}  // namespace gs::sched
