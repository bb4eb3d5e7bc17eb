// The eviction of a pod: the API server deletes it, unless a PodDisruptionBudget says no (429).
#pragma once

#include "kapi/call.h"
#include "model/ids.h"

namespace gs::kapi {

/// POST pods/p/eviction with the uid, and the pod's own grace.
[[nodiscard]] Call evictPod(const model::ObjectKey& key, const model::Uid& uid);

}  // namespace gs::kapi
