// Names of the webhook's metrics (docs/use/webhook.md).
#pragma once

namespace gs::webhook {

/// `path`: /mutate, /validate. `result`: allowed, patched, denied, invalid (no review, answered 400).
inline constexpr const char* kRequests = "gpu_scheduler_webhook_requests_total";
/// `path`: /mutate, /validate.
inline constexpr const char* kRequestSeconds = "gpu_scheduler_webhook_request_seconds";

}  // namespace gs::webhook
