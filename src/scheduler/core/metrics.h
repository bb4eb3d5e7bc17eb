// Names of the scheduler's metrics; kube-scheduler's where one exists. Those that count events are given as
// effects, those that show a state (devices, pending pods, leading)
// are read from the machine when asked for (scheduler/status_page.h).
#pragma once

namespace gs::scheduler {

/// `result`: scheduled, unschedulable, error (the Binding was refused). `profile`: the --scheduler-name.
/// Equal pods that fit nowhere count as one attempt.
inline constexpr const char* kScheduleAttempts = "scheduler_schedule_attempts_total";
/// Equal pods for which nobody was found count as one, while nothing changes.
inline constexpr const char* kPreemptionAttempts = "scheduler_preemption_attempts_total";
/// Of each node that was chosen.
inline constexpr const char* kPreemptionVictims = "scheduler_preemption_victims";
/// `attempts`: Bindings that were sent for the pod. Of pods that this process saw as leader.
inline constexpr const char* kSchedulingSli = "scheduler_pod_scheduling_sli_duration_seconds";
/// `why`: binding (one without an answer), leases (left by somebody else), probe (others of its namespace
/// cannot be written).
inline constexpr const char* kFences = "gpu_scheduler_fences_total";
/// Writes by which kubelets try again to have a pod's devices prepared.
inline constexpr const char* kNudges = "gpu_scheduler_nudges_total";
/// Of pods that were seen to wait for that; less than it takes to see it counts as nothing.
inline constexpr const char* kDevicesWait = "gpu_scheduler_devices_wait_seconds";
/// Of pods whose claims were not bound yet when they had a node.
inline constexpr const char* kVolumesWait = "gpu_scheduler_volumes_wait_seconds";
inline constexpr const char* kAdoptions = "gpu_scheduler_adoptions_total";
/// `result`: bound, failed, raced, busy.
inline constexpr const char* kExtenderBinds = "gpu_scheduler_extender_binds_total";
/// `queue`: active, backoff, unschedulable, gated (they have scheduling gates).
inline constexpr const char* kPendingPods = "scheduler_pending_pods";
/// `node`: its name. `state`: free, held, gone (held, and no longer in the GpuNodeStatus), draining (its pod
/// has ended, and the agent still sees a container on it), unhealthy (also one whose UUID stands twice).
inline constexpr const char* kDevices = "gpu_scheduler_devices";
/// /readyz?verbose says why (lease-repairs).
inline constexpr const char* kLeaseRepairsFailing = "gpu_scheduler_lease_repairs_failing";
/// `kind`: in-use-by-other (GPUs that a pod uses and another one's lease names), allocated-twice (GPUs that
/// two ResourceClaims were allocated), uuid-twice-in-node, uuid-on-two-nodes (UUIDs that stand at several
/// GPUs). /readyz?verbose names one (contradictions).
inline constexpr const char* kContradictions = "gpu_scheduler_contradictions";
inline constexpr const char* kLeading = "gpu_scheduler_leading";

}  // namespace gs::scheduler
