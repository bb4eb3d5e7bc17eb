// What the condition PodScheduled=False of a waiting pod says as its reason (R34). Autoscalers add nodes for
// pods that say Unschedulable, and for no others: it is said where a node that is yet to come could take the
// pod, and nowhere else. Which reason of a node means which of these stands in sched/filters/reasons.cc, what
// keeps a pod from all nodes in the table of pod_reason.cc, and what is said where nodes say several in
// sched/filters/new_node.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gs::sched {

/// Where nodes say several, the first in this order is said.
enum class PodReason : std::uint8_t {
  Unschedulable,      // no node can take it now, and a new node of some kind could
  QuotaExceeded,      // its namespace has used up its quota of GPUs
  InvalidRequest,     // what the pod or its claim says no node can give
  ClaimNotFound,      // a GpuClaim, ResourceClaim or DeviceClass that it needs is not there
  NotSupported,       // it asks for what gpu-scheduler does not serve
  VolumeNotReady,     // a PersistentVolumeClaim of it is missing or not bound, or its volume is gone
  WaitsForNode,       // none of the nodes that its map, its selectors or its volumes name can take it now
  WaitsForPod,        // another pod must end, or come, before it
  WaitsForAgent,      // a node's agent is about to say what GPUs there are, or who has them
  SchedulerNotReady,  // gpu-scheduler lacks a right, a CRD or the quotas
  SchedulerError,     // what was decided could not be written; it is tried again
};
inline constexpr std::size_t kPodReasons = static_cast<std::size_t>(PodReason::SchedulerError) + 1;

[[nodiscard]] const char* nameOf(PodReason reason);
/// What keeps a pod from all nodes: `kind` is that of a Blocked (sched/doors/door.h), or of what the
/// scheduler says itself. Never Unschedulable.
[[nodiscard]] PodReason podReasonOf(std::string_view kind);

}  // namespace gs::sched
