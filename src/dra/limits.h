// How a pod's limits become requests of a ResourceClaim of its own (KEP-5004): each container that asks has a
// request, and the requests share the pod's devices as the kubelet counts them. Containers and sidecars have
// devices of their own; an ordinary init container has those that come after the sidecars before it, which
// others get once it has ended. So all requests together need as many devices as the pod counts
// (kapi/pod_requests.h). Pure.
#pragma once

#include <vector>

#include "dra/drivers.h"
#include "model/dra.h"
#include "model/pod.h"

namespace gs::dra {

/// In the order of Pod::gpu_limits; empty: no container asks by a limit.
[[nodiscard]] std::vector<model::LimitRequest> limitRequests(const model::Pod& pod, const Driver& driver);
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
