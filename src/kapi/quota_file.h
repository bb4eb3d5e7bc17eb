// The file of --config: where the quotas are, and which node labels they mean. JSON, the ancestor's keys,
// in any case:
//
//   {"QuotaConfigMapName": "gpuquota", "QuotaConfigMapNamespace": "kube-system",
//    "GPUModelLabel": "gaia.tencent.com/gpu-model", "GPUPoolLabel": "gaia.tencent.com/gpu-pool",
//    "gpu_quota": {...}}
//
// The first two have these defaults, the labels are needed. `gpu_quota` is ours: the quotas themselves
// (kapi/quota.h), for where the ConfigMap may not be read. Other keys are ignored (SkipBindTime: nothing
// waits for binds here).
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/quota.h"

namespace gs::kapi {

[[nodiscard]] Result<model::QuotaConfig> readQuotaFile(std::string_view text);

}  // namespace gs::kapi
