// ResourceClaims (resource.k8s.io) of pods, as the controller-manager makes and frees them: a pod that names
// a template gets a claim of its own; who has ended or is gone no longer reserves a claim, and a claim that
// nobody reserves any more is given back; the claim of a pod that has ended goes.
//
// A claim is allocated by a scheduler only.
#pragma once

#include <string>
#include <vector>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

inline constexpr const char* kDeviceClaims = "resource.k8s.io/resourceclaims";
inline constexpr const char* kDeviceTemplates = "resource.k8s.io/resourceclaimtemplates";

/// Makes the claims that are missing, names them in the pod's status, and reserves what a bound pod uses.
[[nodiscard]] Again syncPodClaims(Client& client, const json::Value& pod);
[[nodiscard]] Again syncDeviceClaim(Client& client, const json::Value& claim);
/// Names of the claims that a pod has, as far as they are known.
[[nodiscard]] std::vector<std::string> deviceClaimsOf(const json::Value& pod);
/// It names claims, in its spec or in its status.
[[nodiscard]] bool hasDeviceClaims(const json::Value& pod);
/// It will not run any more, or never will.
[[nodiscard]] bool isDone(const json::Value& pod);

}  // namespace gs::sandbox::controllers
