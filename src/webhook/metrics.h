// Names of the webhook's metrics (docs/use/webhook.md).
#pragma once

namespace gs::webhook {

inline constexpr const char* kRequests = "gpu_scheduler_webhook_requests_total";
inline constexpr const char* kRequestSeconds = "gpu_scheduler_webhook_request_seconds";

}  // namespace gs::webhook
