// What a pod asks of a node, as kube-scheduler counts it (component-helpers PodRequests, KEP-753,
// KEP-1287, KEP-2837).
#pragma once

#include <set>
#include <string>

#include "json/document.h"
#include "model/resources.h"

namespace gs::kapi {

/// Containers and sidecars (init containers with restartPolicy Always) run together; an ordinary init
/// container runs with the sidecars before it. Overhead is added. A request that is missing takes its limit.
/// A container that is being resized counts the larger of what it asks and what it has. spec.resources
/// replaces the sum for the names it has.
/// The paths of quantities that cannot be read are added to `unreadable`; they count as 0.
[[nodiscard]] model::Resources podRequests(const json::View& pod, std::set<std::string>& unreadable);

}  // namespace gs::kapi
