#include "serve/operator/metric_specs.h"

#include "operator/metrics.h"

namespace gs::serve {

std::vector<k8s::MetricSpec> operatorMetrics() {
  using Kind = k8s::MetricKind;
  return {{gkm::kCaches, Kind::Gauge, "Kernel caches by the state that their status says.", {}},
          {gkm::kDeletingCaches, Kind::Gauge, "Kernel caches that are being deleted.", {}},
          {gkm::kNodeObjects, Kind::Gauge, "GKMCacheNodes and ClusterGKMCacheNodes.", {}},
          {gkm::kLostNodeObjects, Kind::Gauge, "Those whose Node is not known to be there.", {}},
          {gkm::kWrites,
           Kind::Counter,
           "Writes by what was written (status, finalizer, claim, volume, release, deletion) and result.",
           {}}};
}

}  // namespace gs::serve
