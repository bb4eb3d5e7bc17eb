// Shares of GPUs on nodes of gpu-manager (tencent.com/vcuda-core): what is free there, what fits, and
// whether gpu-manager will choose the same device as we did. If it will for sure, our choice is "certain".
//
// Devices are those of the node's capacity (100 vcuda-core make one), with ids from 0. Each has an equal
// part of the node's vcuda-memory. A device that somebody holds in another way (Exclusive, or Shared
// without amounts) has nothing left.
//
// Why certain: we write a device on the pod, but gpu-manager picks one itself when the kubelet takes the
// pod, by the rule of sched/policy/tightest.h over what it has given so far. Where its pick is another one
// than ours, it fails the pod. Pods that were placed and not taken yet are "in flight"
// (NodeState::in_flight), and the kubelet may take them in any order. So a share is given only where
//   - gpu-manager comes to this choice, and to those of all pods in flight, in whatever order they are
//     taken;
//   - no container of whole GPUs comes in between. For those gpu-manager takes any untouched devices,
//     whatever the annotation says. So no share on an untouched device is certain while another pod in
//     flight has such a container, or the other way round. (A pod that asks for a share and for whole GPUs
//     itself is not kept waiting for that: waiting would not help it.)
//   - no pod is served in place of another one and left half done. The kubelet does not tell gpu-manager
//     which pod it means; gpu-manager takes the oldest pod with a container of that many cores. For pods of
//     one container that does no harm. A pod of several containers is not certain beside a pod that has a
//     container of equal cores, unless all containers of both are equal.
// Where one of these is not known, the choice counts as not certain. Source: gpu-manager's allocator
// (docs/inside/front-doors.md).
//
// Members of a gang (PodRequest::gang) are bound together, so none of them is taken before all have a node,
// and waiting for one would last for ever. So among unbound members of its own gang a pod is given the
// tightest choice, certain or not. All other pods in flight are waited for, and their choices stay certain.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/ledger/node_state.h"
#include "sched/policy/tightest.h"
#include "sched/request/reason.h"

namespace gs::sched {

/// By id. `self`: what this uid holds counts as free.
[[nodiscard]] std::vector<FreeShare> freeShares(const NodeState& node, const model::Uid& self = model::Uid{});

/// The tightest choice, if there is one and it is certain (unless the request takes others too, or only its
/// own gang is in the way). Refuses as ExceedsQuota, NoGpu,
/// ManagedByOther, TooFewFree or NotTakenYet, the first that applies, without numbers. Nothing else of a
/// request for shares is looked at: its scheduler has.
[[nodiscard]] Verdict<ShareChoice> fitShares(const NodeState& node, const PodRequest& request,
                                             const model::Uid& self = model::Uid{});

/// What of each device the pod gets, shares of one device added up; by id.
struct DeviceShare {
  int id = 0;
  Amount amount;
  friend bool operator==(const DeviceShare&, const DeviceShare&) = default;
};
[[nodiscard]] std::vector<DeviceShare> amountsOf(const SharePicks& picks);
/// Each of these devices exists and has room for its part beside what all but `self` hold.
[[nodiscard]] bool haveRoom(const NodeState& node, const model::Uid& self, const SharePicks& picks);
/// Of whole GPUs gpu-manager gives any that are untouched, whatever was annotated: those that somebody else
/// has by now are replaced by others that are, lowest id first, as far as there are some. Shares stay where
/// they are.
[[nodiscard]] SharePicks movedToUntouched(const NodeState& node, const model::Uid& self, SharePicks picks);
/// Every container has as many devices as it asks for.
[[nodiscard]] bool isComplete(const SharePicks& picks);
[[nodiscard]] SharePicks picksOf(const std::vector<ContainerShare>& asked, const ShareChoice& choice);

}  // namespace gs::sched
