// The metrics that the scheduler gives as effects, as the rim has to know them (k8s/metric_sink.h).
#pragma once

#include <vector>

#include "k8s/metric_sink.h"

namespace gs::serve {

/// The extender's too: it may run in the same process.
[[nodiscard]] std::vector<k8s::MetricSpec> schedulerMetrics();

}  // namespace gs::serve
