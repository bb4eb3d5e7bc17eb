// What an extender says of itself: for /readyz and /metrics (process/health_page.h).
#pragma once

#include <string>

#include "base/readiness.h"
#include "extender/standalone.h"

namespace gs::extender {

/// Whether requests are answered: here, or by another replica that leads.
void noteRequests(const Extender& extender, bool another_leads, Readiness& out);
/// Prometheus text of reservations{state}, leading, quotas and their use by namespace and model, and what is
/// the matter with those.
[[nodiscard]] std::string stateMetrics(const Extender& extender, const engine::Engine& engine);

}  // namespace gs::extender
