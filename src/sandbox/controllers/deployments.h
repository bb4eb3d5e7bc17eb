// The controller of Deployments: one ReplicaSet for each template that it had, named by the template's hash;
// a change of the template moves the pods from the old ones to the new one, as spec.strategy says.
//
// Each turn does one step, scaling up or down, and writes the status; what the ReplicaSets make of it is the
// next turn's cause. Going back to an earlier template finds its ReplicaSet again,
// which becomes the newest revision.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncDeployment(Client& client, const json::Value& deployment);

inline constexpr const char* kRevision = "deployment.kubernetes.io/revision";

}  // namespace gs::sandbox::controllers
