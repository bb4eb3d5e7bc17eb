// The metrics that our machines give as effects, as the rim has to know them (k8s/metric_sink.h).
#pragma once

#include <vector>

#include "k8s/metric_sink.h"

namespace gs::serve {

[[nodiscard]] std::vector<k8s::MetricSpec> extenderMetrics();
/// The extender's too: it may run beside the scheduler.
[[nodiscard]] std::vector<k8s::MetricSpec> schedulerMetrics();

}  // namespace gs::serve
