// The file that says where the quotas are (kapi/quota_file.h), for the flags that name one.
#pragma once

#include <string>

#include "base/result.h"
#include "model/quota.h"

namespace gs::process {

/// `path` "": there are no quotas. Error: which file, and what is wrong with it.
[[nodiscard]] Result<model::QuotaConfig> readQuotaConfig(const std::string& path);

}  // namespace gs::process
