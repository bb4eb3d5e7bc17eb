// PersistentVolumes and PersistentVolumeClaims, as the controller-manager binds and protects them: a claim
// and a volume that name each other (spec.volumeName, spec.claimRef) are bound; a claim that names none gets
// the smallest volume that serves it, unless its class waits for a pod, and one is asked for of its class's
// provisioner (provisioner.h) where there is none; a volume whose claim is gone is Released; what is deleted
// goes when no pod uses the claim, and when no claim has the volume.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncVolume(Client& client, const json::Value& volume);
[[nodiscard]] Again syncVolumeClaim(Client& client, const json::Value& claim);
/// Names of the claims that a pod's volumes are of, those that are made for it too.
[[nodiscard]] std::vector<std::string> claimsOf(const json::Value& pod);
/// What the claim of a pod's ephemeral volume is called.
[[nodiscard]] std::string ephemeralClaim(const json::Value& pod, const json::Value& volume);

}  // namespace gs::sandbox::controllers
