// /healthz, /readyz and /metrics of an extender that runs alone: texts of its state.
#pragma once

#include <string>

#include "extender/alone.h"

namespace gs::extender {

/// One line per check; the first character is 1 when it is ready, else 0.
[[nodiscard]] std::string readinessText(const Alone& machine);
/// Prometheus text of gpu_admission_reservations{state} and gpu_admission_leading.
[[nodiscard]] std::string stateMetrics(const Alone& machine);

}  // namespace gs::extender
