// What an extender says of itself, as texts: for /readyz and /metrics (process/health_page.h).
#pragma once

#include <string>

#include "extender/standalone.h"

namespace gs::extender {

/// '1' when it is ready, else '0', then a line for each check. It is ready when it knows the cluster and
/// requests are answered: here, or by another replica that leads.
[[nodiscard]] std::string readinessText(const Standalone& machine, bool another_leads);
/// The line of that check: "ok", or why requests are refused.
[[nodiscard]] std::string requestsText(const Extender& extender, bool another_leads);
/// Prometheus text of reservations{state}, leading, quotas and their use by namespace and model, and what is
/// the matter with those.
[[nodiscard]] std::string stateMetrics(const Extender& extender, const engine::Engine& engine);

}  // namespace gs::extender
