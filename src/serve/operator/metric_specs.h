// The metrics that the operator gives as effects, as the rim has to know them (k8s/metric_sink.h).
#pragma once

#include <vector>

#include "k8s/metric_sink.h"

namespace gs::serve {

[[nodiscard]] std::vector<k8s::MetricSpec> operatorMetrics();

}  // namespace gs::serve
