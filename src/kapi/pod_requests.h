// What a pod asks of a node, as kube-scheduler counts it (component-helpers PodRequests, KEP-753,
// KEP-1287, KEP-2837).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "json/document.h"
#include "model/resources.h"

namespace gs::kapi {

/// As kube-scheduler counts from 1.37 on, and as it did until 1.36.
struct PodRequests {
  model::Resources now;
  std::vector<model::Resources> until_36;  // one, where that is another; else none
};

/// Containers and sidecars (init containers with restartPolicy Always) run together; an ordinary init
/// container runs with the sidecars before it. Overhead is added. A request that is missing takes its limit,
/// as the API server writes it. spec.resources.requests replaces the sum for the names that it has: cpu,
/// memory, hugepages.
/// Of a bound pod, which may be being resized, the larger counts of what it asks, what its kubelet promised
/// and what it has given; of one whose resize is infeasible the larger of the last two. That is
/// kube-scheduler's count from 1.37 on. Until 1.36 it took the largest container by container: more, while
/// two containers of a pod are resized in opposite directions; and it did not heed what was promised before
/// something was given.
/// The paths of quantities that cannot be read are added to `unreadable`; they count as 0.
[[nodiscard]] PodRequests podRequests(const json::View& pod, std::set<std::string>& unreadable);

}  // namespace gs::kapi
