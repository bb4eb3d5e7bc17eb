// What an extender says of itself, as texts: for /readyz and /metrics (serve/health_page.h).
#pragma once

#include <string>

#include "extender/alone.h"

namespace gs::extender {

/// '1' when it is ready, else '0', then a line for each check.
[[nodiscard]] std::string readinessText(const Alone& machine);
/// Prometheus text of reservations{state}, leading, quotas and their use by namespace and model, and what is the matter with
/// those.
[[nodiscard]] std::string stateMetrics(const Extender& extender, const engine::Engine& engine);

}  // namespace gs::extender
