// Builders of the writes by which a pod gets the devices of a DRA driver: the claim, the mapping of its
// limits to it, the claim's allocation, and back (docs/inside/decisions/0011-gpus-by-dra.md). As in
// kapi/write.h each is complete, with its preconditions in the body.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kapi/call.h"
#include "model/dra.h"
#include "model/pod.h"

namespace gs::kapi {

/// The claim of a pod of ours: one name for each pod, so that whoever decides for it meets the others there.
[[nodiscard]] model::ObjectKey claimKeyOf(const model::Pod& pod);
/// POST of that claim. Its owner is the pod, so that it goes with it; its finalizer keeps anybody's DELETE
/// from taking it from under a running container; by its annotation kube-scheduler and the resource claim
/// controller know it as one for limits. `requests`: each once (dra::withoutSharers()).
[[nodiscard]] Call createClaim(const model::Pod& pod, const std::vector<model::LimitRequest>& requests,
                               const std::string& reservation);
/// PATCH pods/p/status (merge) with uid and resourceVersion: the mapping of limits to that claim and a new
/// fence value. Whoever fenced the pod meanwhile is met by a 409.
[[nodiscard]] Call mapPod(const model::Pod& pod, const std::vector<model::LimitRequest>& requests,
                          const std::string& fence);
/// PATCH (merge) of a claim that we did not make, with uid and resourceVersion: the finalizer that allocated
/// claims have.
[[nodiscard]] Call protectClaim(const model::ResourceClaim& claim);
[[nodiscard]] bool isProtected(const model::ResourceClaim& claim);
/// PUT of the claim's status with uid and resourceVersion: these devices of `node`, for `pod`.
[[nodiscard]] Call allocateClaim(const model::ResourceClaim& claim, const model::Pod& pod,
                                 const model::NodeName& node,
                                 const std::vector<model::AllocatedDevice>& devices,
                                 const std::vector<model::DeviceConfig>& config = {});
/// PATCH (strategic merge) of the claim's status with uid and resourceVersion: it is reserved for `pod` too,
/// or for that one no longer. What it is allocated stays.
[[nodiscard]] Call reserveClaim(const model::ResourceClaim& claim, const model::Pod& pod);
[[nodiscard]] Call unreserveClaim(const model::ResourceClaim& claim, const model::Uid& pod);
/// PUT of an empty status with uid and resourceVersion: no container starts with it.
[[nodiscard]] Call emptyClaim(const model::ResourceClaim& claim);
/// PATCH (merge) with the uid: changes the resourceVersion that each PUT of ours names, so that none that
/// was sent before can land.
[[nodiscard]] Call fenceClaim(const model::ResourceClaim& claim, const std::string& value);

}  // namespace gs::kapi
