// Whether a node that is yet to come could take a pod that no node takes now: what autoscalers are told by
// the reason of its condition (sched/request/pod_reason.h). Pure.
#pragma once

#include <optional>
#include <span>

#include "sched/request/pod_reason.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

/// What nodes say that refused for these reasons, none: there is no node. Unschedulable when another node
/// would do instead of one of them.
[[nodiscard]] PodReason podReasonOf(std::span<const Reason> said);
/// And for this pod. Whatever the nodes there are say, it is not Unschedulable where a new one could be none
/// of those that may take it: quota used up, volumes that are in use, nodes that it names ...
[[nodiscard]] PodReason podReasonOf(std::span<const Reason> said, const PodRequest& request);

}  // namespace gs::sched
