// The status of PodDisruptionBudgets, as the controller-manager counts it: how many of the pods there should
// be, how many are Ready, and how many of these may go. Who should be there is said by the pods' controllers,
// but for a minAvailable that is a number.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncBudget(Client& client, const json::Value& budget);

}  // namespace gs::sandbox::controllers
