// Names of the extender's metrics. Those that count events are given as effects; those that show a state are
// read from the machine when asked for (status_page.h); those of requests are counted where they are served
// (serve/extender/server.h).
#pragma once

namespace gs::extender {

inline constexpr const char* kLateForeignBinds = "gpu_admission_late_foreign_bind_total";
/// Shares that were given in a gang though gpu-manager may pick another device (sched/ledger/shares.h).
inline constexpr const char* kUncertainChoices = "gpu_admission_share_choice_uncertain_total";
/// Pods that found no node and were woken, since one may take them now (refusals.h).
inline constexpr const char* kWakes = "gpu_admission_wakes_total";
inline constexpr const char* kRequests = "gpu_admission_requests_total";
inline constexpr const char* kRequestSeconds = "gpu_admission_request_duration_seconds";
inline constexpr const char* kReservations = "gpu_admission_reservations";
inline constexpr const char* kLeading = "gpu_admission_leading";
inline constexpr const char* kStandalone = "gpu_admission_standalone";
inline constexpr const char* kQuotaLimit = "gpu_admission_quota_limit_gpus";
inline constexpr const char* kQuotaUsed = "gpu_admission_quota_used_gpus";
inline constexpr const char* kQuotaUnusable = "gpu_admission_quota_config_unusable";
inline constexpr const char* kQuotaForbidden = "gpu_admission_quota_forbidden";

}  // namespace gs::extender
