// Claims of a StatefulSet's pods, as the controller-manager makes them from volumeClaimTemplates: one of each
// for each ordinal, called TEMPLATE-SET-ORDINAL, which stays when its pod goes.
// (persistentVolumeClaimRetentionPolicy is kept and not acted on.)
#pragma once

#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

/// Makes those of this ordinal that are missing, and has the pod use them. False: one was refused, and an
/// Event about the set says why.
[[nodiscard]] bool giveClaims(Client& client, const json::Value& set, std::int64_t ordinal, json::Value& pod);

}  // namespace gs::sandbox::controllers
