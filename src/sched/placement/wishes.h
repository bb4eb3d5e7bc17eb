// How nodes are compared by what the pod would like of them, when the devices that they would give are
// equally good: kube-scheduler's scores, computed as it computes them, each from 0 to 100 over the nodes
// that are compared, and added with the weights of its default profile:
//
//   3  TaintToleration    taints with PreferNoSchedule that the pod does not tolerate: the fewer the better
//   2  NodeAffinity       weights of the preferred terms of nodeAffinity that the node matches
//   2  PodTopologySpread  of the constraints with ScheduleAnyway: fewer like it in the node's domains
//   2  InterPodAffinity   weights of preferred affinity and anti-affinity, of the pod and of those that are
//                         there, and 1 for each that has to be near it
//
// Its scores of resources are none of ours: the fuller node is better (sched/placement/decider.h). Nor is
// ImageLocality, of weight 1: every pod names an image, so pods that differ in nothing else would share no
// work, and each decision would be a pass over all nodes, as it is for pods with wishes; of each node up to
// 50 images would be kept, and counted anew when one is pulled. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/request/near_standing.h"

namespace gs::sched {

/// What a node has of it.
struct NodeWish {
  std::int64_t avoided = 0;  // taints, model::avoidedOf()
  std::int64_t liked = 0;    // model::preferredWeight()
  NearWish near{};
};

/// One for each node; the highest is best. O(nodes).
[[nodiscard]] std::vector<std::int64_t> weigh(const std::vector<NodeWish>& nodes);

}  // namespace gs::sched
