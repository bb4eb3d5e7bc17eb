// Shares of GPUs on nodes that gpu-manager manages: what is free there, what fits,
// and whether the choice is certain.
//
// Devices are those of the node's capacity (100 vcuda-core make one), ids from 0; all have the same part of
// its vcuda-memory. Who holds a device otherwise (Exclusive, or Shared without amounts) leaves nothing of it.
//
// Certain: gpu-manager picks the device of a share itself when the kubelet takes the pod, by the rule of
// policy/tightest.h over what it has given so far, and fails the pod when its pick is not the annotated one.
// Pods that were placed but not taken yet are in flight (NodeState::in_flight); the kubelet may take them in
// any order. A choice is certain when gpu-manager comes to it, and to those of all pods in flight, whichever
// of them it has taken by then. For containers of whole GPUs it takes any untouched ones, whatever the
// annotation says: so no share is certain on an untouched device beside those of other pods; a pod that asks
// for both in one has to be lucky, waiting would not help it. The check errs towards not certain.
// The kubelet names no pod: gpu-manager serves the oldest with a container of so many cores. Pods of one
// container may so be served in each other's place, and nothing comes of it; one of several would be left
// half done, so such a pod is not certain beside one that has a container of equal cores, unless all theirs
// are equal. Source: gpu-manager's allocator (docs/front-doors.md).
//
// Members of a gang (PodRequest::gang) are bound together, so none is taken before all have a node, and
// waiting for one of them would be for ever. Among unbound members of its own gang a pod is therefore given
// the tightest choice, certain or not; all other pods in flight are waited for,
// and their own choices stay certain.
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
