// Names of the scheduler's metrics; kube-scheduler's where one exists. Those that count events are given as
// effects, those that show a state (devices, pending pods, leading)
// are read from the machine when asked for (scheduler/status_page.h).
#pragma once

namespace gs::scheduler {

inline constexpr const char* kScheduleAttempts = "scheduler_schedule_attempts_total";
inline constexpr const char* kSchedulingSli = "scheduler_pod_scheduling_sli_duration_seconds";
inline constexpr const char* kFences = "gpu_scheduler_fences_total";
inline constexpr const char* kAdoptions = "gpu_scheduler_adoptions_total";
inline constexpr const char* kExtenderBinds = "gpu_scheduler_extender_binds_total";
inline constexpr const char* kPendingPods = "scheduler_pending_pods";
inline constexpr const char* kDevices = "gpu_scheduler_devices";
inline constexpr const char* kLeaseRepairsFailing = "gpu_scheduler_lease_repairs_failing";
inline constexpr const char* kContradictions = "gpu_scheduler_contradictions";
inline constexpr const char* kLeading = "gpu_scheduler_leading";

}  // namespace gs::scheduler
