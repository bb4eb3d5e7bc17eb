// PersistentVolumes and PersistentVolumeClaims, as the controller-manager binds and protects them: a claim
// and a volume that name each other (spec.volumeName, spec.claimRef) are bound; a volume whose claim is gone
// is Released; what is deleted goes when no pod uses the claim, and when no claim has the volume. Volumes
// are neither chosen by size nor made: there are no storage classes here.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncVolume(Client& client, const json::Value& volume);
[[nodiscard]] Again syncVolumeClaim(Client& client, const json::Value& claim);
/// Names of the claims that a pod's volumes are of.
[[nodiscard]] std::vector<std::string> claimsOf(const json::Value& pod);

}  // namespace gs::sandbox::controllers
