// What a scheduler says of itself, as text: for /metrics (process/health_page.h).
#pragma once

#include <string>

#include "scheduler/scheduler.h"

namespace gs::scheduler {

/// Gauges of the machine's state in Prometheus text: gpu_scheduler_devices{node,state},
/// scheduler_pending_pods{queue}, gpu_scheduler_leading, gpu_scheduler_lease_repairs_failing,
/// gpu_scheduler_contradictions{kind}.
[[nodiscard]] std::string stateMetrics(const Scheduler& scheduler);

}  // namespace gs::scheduler
