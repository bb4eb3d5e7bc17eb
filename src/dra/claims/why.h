// Why a node cannot serve the claims, after a search that found nothing.
#pragma once

#include "dra/claims/claim_plan.h"
#include "dra/claims/plan.h"
#include "dra/claims/view.h"

namespace gs::dra {

/// Devices or Together, with the text. Of several requests that find too few devices, the first. Where the
/// steps are used up it knows less.
[[nodiscard]] Picked whyNot(const Plan& plan, View& view, Steps& steps);

}  // namespace gs::dra
