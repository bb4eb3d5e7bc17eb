// Names of the webhook's metrics (docs/use/gkm-operator.md).
#pragma once

namespace gs::gkm {

inline constexpr const char* kReviews = "gkm_operator_webhook_requests_total";
inline constexpr const char* kReviewSeconds = "gkm_operator_webhook_request_seconds";
inline constexpr const char* kResolves = "gkm_operator_resolves_total";

}  // namespace gs::gkm
