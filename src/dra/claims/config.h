// What an allocation tells drivers besides its devices: the config of the classes and of the claim that it
// was made for. Pure.
#pragma once

#include <vector>

#include "dra/claims/claim_plan.h"
#include "model/dra.h"

namespace gs::dra {

/// For a claim that is allocated `devices`: of each class that was taken its config once, for all requests
/// that took it; then the claim's own, of the requests that were.
[[nodiscard]] std::vector<model::DeviceConfig> configOf(const model::ResourceClaim& claim,
                                                        const Classes& classes,
                                                        const std::vector<model::AllocatedDevice>& devices);

}  // namespace gs::dra
