// How a pod's limits become requests of a ResourceClaim of its own (KEP-5004): each container that asks has a
// request, or shares that of one that has the same devices before or after it (model/gpu_limits.h). The
// requests share the pod's devices as the kubelet counts them. Pure.
#pragma once

#include <vector>

#include "dra/drivers.h"
#include "model/dra.h"
#include "model/pod.h"

namespace gs::dra {

/// Of each limit, in the order of Pod::gpu_limits; empty: no container asks by a limit.
[[nodiscard]] std::vector<model::LimitRequest> limitRequests(const model::Pod& pod, const Driver& driver);
/// The first of each request: what the claim has.
[[nodiscard]] std::vector<model::LimitRequest> withoutSharers(
    const std::vector<model::LimitRequest>& requests);
/// How many devices they need.
[[nodiscard]] std::size_t devicesOf(const std::vector<model::LimitRequest>& requests);
/// What each request is allocated of the pod's `devices`, of which there are devicesOf().
[[nodiscard]] std::vector<model::AllocatedDevice> allocation(const std::vector<model::LimitRequest>& requests,
                                                             const std::vector<model::DeviceName>& devices);
/// As the pod's status says it.
[[nodiscard]] model::MappedLimits mappingOf(const std::vector<model::LimitRequest>& requests,
                                            const std::string& claim);
/// As the claim's spec says it.
[[nodiscard]] std::vector<model::DevicesRequest> claimRequests(
    const std::vector<model::LimitRequest>& requests);

}  // namespace gs::dra
