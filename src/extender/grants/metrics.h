// Names of the extender's metrics. Those that count events are given as effects; those that show a state are
// read from the machine when asked for (status_page.h); those of requests are counted where they are served
// (serve/extender/server.h).
#pragma once

namespace gs::extender {

/// Where it gives devices twice, the pod has an event LateForeignBinding.
inline constexpr const char* kLateForeignBinds = "gpu_admission_late_foreign_bind_total";
/// Such a pod may be refused by its kubelet, and its owner makes it anew (sched/ledger/shares.h).
inline constexpr const char* kUncertainChoices = "gpu_admission_share_choice_uncertain_total";
/// By the annotation gpu.scheduling/wake (refusals.h).
inline constexpr const char* kWakes = "gpu_admission_wakes_total";
/// `verb`: the end of the path, such as predicates, bind, allocateFunc. `result`: placed, misfit,
/// untouched (it asks for no GPUs of ours), done, failed, unavailable, invalid.
inline constexpr const char* kRequests = "gpu_admission_requests_total";
/// `verb`: as of the requests.
inline constexpr const char* kRequestSeconds = "gpu_admission_request_duration_seconds";
/// `state`: writing (its annotations are being written), written, removing.
inline constexpr const char* kReservations = "gpu_admission_reservations";
inline constexpr const char* kLeading = "gpu_admission_leading";
inline constexpr const char* kStandalone = "gpu_admission_standalone";
/// `namespace`: its name. `model`: of the GPUs, as the ConfigMap names it.
inline constexpr const char* kQuotaLimit = "gpu_admission_quota_limit_gpus";
/// `namespace`: its name. `model`: of the GPUs, as the ConfigMap names it.
inline constexpr const char* kQuotaUsed = "gpu_admission_quota_used_gpus";
inline constexpr const char* kQuotaUnusable = "gpu_admission_quota_config_unusable";
inline constexpr const char* kQuotaForbidden = "gpu_admission_quota_forbidden";

}  // namespace gs::extender
