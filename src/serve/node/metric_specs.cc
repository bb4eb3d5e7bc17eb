#include "serve/node/metric_specs.h"

#include "operator/metrics.h"

namespace gs::serve {

std::vector<k8s::MetricSpec> nodeMetrics() {
  return {
      {gkm::kNodeWrites,
       k8s::MetricKind::Counter,
       "Writes of the node's objects by what was written (object, label, status, finalizer, deletion) and "
       "result.",
       {}}};
}

}  // namespace gs::serve
