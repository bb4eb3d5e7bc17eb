#include "serve/extender/metric_specs.h"

#include "extender/grants/metrics.h"

namespace gs::serve {

using Kind = k8s::MetricKind;

std::vector<k8s::MetricSpec> extenderMetrics() {
  return {{extender::kLateForeignBinds,
           Kind::Counter,
           "Pods that were bound after their GPU shares had been given up.",
           {}},
          {extender::kUncertainChoices,
           Kind::Counter,
           "GPU shares of gangs for which gpu-manager may pick another device.",
           {}},
          {extender::kWakes,
           Kind::Counter,
           "Pods that had found no node and were woken, since one may take them now.",
           {}}};
}

}  // namespace gs::serve
