// The file that says where the quotas are (kapi/quota_file.h), for the flags that name one.
#pragma once

#include <string>

#include "base/result.h"
#include "model/quota.h"

namespace gs::serve {

/// `path` "": there are no quotas. Error: which file, and what is wrong with it.
[[nodiscard]] Result<model::QuotaConfig> readQuotaConfig(const std::string& path);
/// For the log: "ConfigMap kube-system/gpuquota, of quota.json", or "none".
[[nodiscard]] std::string quotaSource(const model::QuotaConfig& config, const std::string& path);

}  // namespace gs::serve
