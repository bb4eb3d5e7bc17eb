// What a scheduler says of itself, as texts: for /readyz and /metrics (process/health_page.h).
#pragma once

#include <string>

#include "scheduler/scheduler.h"

namespace gs::scheduler {

/// '1' when it is ready, else '0', then a line for each check.
[[nodiscard]] std::string readinessText(const Scheduler& scheduler);
/// Gauges of the machine's state in Prometheus text: gpu_scheduler_devices{node,state},
/// scheduler_pending_pods{queue}, gpu_scheduler_leading, gpu_scheduler_lease_repairs_failing,
/// gpu_scheduler_contradictions{kind}.
[[nodiscard]] std::string stateMetrics(const Scheduler& scheduler);

}  // namespace gs::scheduler
