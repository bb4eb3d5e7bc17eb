#include "serve/agent/metric_specs.h"

#include "agent/metrics.h"

namespace gs::serve {

std::vector<k8s::MetricSpec> agentMetrics() {
  using Kind = k8s::MetricKind;
  return {
      {agent::kDevices, Kind::Gauge, "GPUs of this node, by health.", {}},
      {agent::kDriverAnswers, Kind::Gauge, "1 while the GPU driver answers.", {}},
      {agent::kContainersSeen, Kind::Gauge, "1 while the container runtime says which containers run.", {}},
      {agent::kPublishes, Kind::Counter, "Writes of the status, by result.", {}}};
}

}  // namespace gs::serve
