// Builders of the writes by which the volumes of a pod are bound once it has a node. They are
// kube-scheduler's, as PATCHes with uid and resourceVersion: who else changed the object meanwhile is met by
// a 409.
#pragma once

#include "kapi/call.h"
#include "model/volumes.h"

namespace gs::kapi {

/// PATCH (merge) of a volume: it is meant for that claim, and is bound to it by kube-controller-manager. Was
/// it meant for a claim of that name before, it stays so by whomever that was said.
[[nodiscard]] Call bindVolume(const model::PersistentVolume& volume,
                              const model::PersistentVolumeClaim& claim);
/// PATCH (merge) of a claim: its volume is to be made where that node reaches it, by whoever makes volumes of
/// its class.
[[nodiscard]] Call selectNode(const model::PersistentVolumeClaim& claim, const model::NodeName& node);

}  // namespace gs::kapi
