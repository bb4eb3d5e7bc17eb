// Names of the webhook's metrics (docs/use/gkm-operator.md).
#pragma once

namespace gs::gkm {

/// `path`: /mutate-gkm-io-v1alpha1-gkmcache, /validate-gkm-io-v1alpha1-gkmcache, and the same of
/// clustergkmcache. `result`: allowed, patched, denied, invalid (no review).
inline constexpr const char* kReviews = "gkm_operator_webhook_requests_total";
/// `path`: as of the requests.
inline constexpr const char* kReviewSeconds = "gkm_operator_webhook_request_seconds";
/// `result`: resolved, failed (the registry), refused (nobody vouches for the image), busy (its turn did
/// not come).
inline constexpr const char* kResolves = "gkm_operator_resolves_total";

}  // namespace gs::gkm
