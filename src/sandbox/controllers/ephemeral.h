// Claims of ephemeral volumes, as the controller-manager makes them: one for each such volume of a pod,
// called POD-VOLUME and owned by the pod, with which it goes.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] bool hasEphemeral(const json::Value& pod);
/// Makes those that are missing.
[[nodiscard]] Again syncEphemeral(Client& client, const json::Value& pod);

}  // namespace gs::sandbox::controllers
