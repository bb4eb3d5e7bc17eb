// What the webhook says to a GpuClaim that is created or changed: refused is what no pod could be placed by,
// beyond what the CRD's schema checks; warned is of what is accepted and not followed
// (model/claim_oddities.h).
//
// A claim that was wrong before may be changed in all but its spec: labels, finalizers. Pure.
#pragma once

#include "admission/review.h"

namespace gs::webhook {

[[nodiscard]] admission::Verdict checkClaim(const admission::Review& review);

}  // namespace gs::webhook
