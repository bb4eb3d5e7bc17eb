// The controller of ReplicaSets: as many pods of its template as it asks for,
// and what they are in its status.
//
// A pod without a controller that its selector finds counts as its own. Missing pods are made in doubling
// batches, so that one that is refused does not make hundreds of refusals.
// Which go first when there are too many: pods.h.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncReplicaSet(Client& client, const json::Value& set);

}  // namespace gs::sandbox::controllers
