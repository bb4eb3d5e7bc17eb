// Answers writes of odd GpuClaims with warnings (sched/placement/claim_oddities.h), as an admission webhook
// does on a real cluster: kubectl prints them, and the write is accepted as it was.
#pragma once

#include <memory>

#include "apiserver/admission/admission.h"
#include "apiserver/storage/store.h"

namespace gs::sandbox {

/// `store` must outlive it.
[[nodiscard]] std::unique_ptr<apiserver::AdmissionPlugin> claimWarnings(const apiserver::Store& store);

}  // namespace gs::sandbox
