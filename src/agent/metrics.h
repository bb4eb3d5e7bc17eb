// Names of the agent's metrics (docs/use/agent.md).
#pragma once

namespace gs::agent {

/// `health`: Healthy, Unhealthy, Unknown.
inline constexpr const char* kDevices = "gpu_scheduler_agent_devices";
inline constexpr const char* kDriverAnswers = "gpu_scheduler_agent_driver_answers";
inline constexpr const char* kContainersSeen = "gpu_scheduler_agent_containers_seen";
/// `result`: written, failed.
inline constexpr const char* kPublishes = "gpu_scheduler_agent_publishes_total";

}  // namespace gs::agent
