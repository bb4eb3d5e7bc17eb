// The metrics that gkm-agent's machine gives as effects, as the rim has to know them (k8s/metric_sink.h). The
// others are in node_counts.h.
#pragma once

#include <vector>

#include "k8s/metric_sink.h"

namespace gs::serve {

[[nodiscard]] std::vector<k8s::MetricSpec> nodeMetrics();

}  // namespace gs::serve
