#include "serve/agent/metric_specs.h"

#include "agent/enforced/metrics.h"
#include "agent/metrics.h"

namespace gs::serve {

std::vector<k8s::MetricSpec> agentMetrics() {
  using Kind = k8s::MetricKind;
  return {
      {agent::kDevices, Kind::Gauge, "GPUs of this node, by health.", {}},
      {agent::kDriverAnswers, Kind::Gauge, "1 while the GPU driver answers.", {}},
      {agent::kContainersSeen, Kind::Gauge, "1 while the container runtime says which containers run.", {}},
      {agent::kPublishes, Kind::Counter, "Writes of the status, by result.", {}},
      {agent::kHolder, Kind::Gauge, "1 for each GPU of a container, as it was made.", {}},
      {agent::kNriConnected,
       Kind::Gauge,
       "1 while the container runtime asks about every container. With --enforce=devices.",
       {}},
      {agent::kContainers, Kind::Counter, "Containers that the runtime asked about, by answer.", {}},
      {agent::kMismatches,
       Kind::Counter,
       "Containers that have, or are told, other GPUs than they are to have, by kind.",
       {}}};
}

}  // namespace gs::serve
