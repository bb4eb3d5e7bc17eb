// The status of a Deployment: counts over its ReplicaSets, and the conditions Available,
// Progressing and ReplicaFailure.
#pragma once

#include <string>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/deployment_sets.h"

namespace gs::sandbox::controllers {

/// Sets a condition as this controller does: one of the same status and reason stays as it is; one of the
/// same status keeps its time of transition.
void setDeploymentCondition(json::Value& status, const char* type, const char* is, const char* reason,
                            const std::string& message, Now now);

/// Counts and Available alone: of a Deployment that is paused, scaled or deleted.
[[nodiscard]] Again writeDeploymentStatus(Client& client, const json::Value& deployment,
                                          const DeploymentSets& sets);
/// The same, and whether the rollout comes on: Progressing ends as NewReplicaSetAvailable, or as
/// ProgressDeadlineExceeded when nothing moved for spec.progressDeadlineSeconds.
[[nodiscard]] Again writeRolloutStatus(Client& client, const json::Value& deployment,
                                       const DeploymentSets& sets);
/// The pods are all of the newest template, and available.
[[nodiscard]] bool isComplete(const json::Value& deployment, const json::Value& status);

}  // namespace gs::sandbox::controllers
