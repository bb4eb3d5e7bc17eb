// DaemonSets: a pod on each node that they are for, renewed node by node when the template changes.
#pragma once

#include "json/value.h"
#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

/// One turn of one set: pods that are missing, too many or of an old template, and its status. maxSurge is
/// taken as 0, and maxUnavailable then as 1 at least.
[[nodiscard]] Again syncDaemonSet(Client& client, const json::Value& set);

}  // namespace gs::sandbox::controllers
