// gpu-admission's quotas as they are written: in a ConfigMap's `gpu_quota`, or in a file of the same text.
//
//   {"<namespace>": {"quota": {"<model of GPU>": <whole GPUs>, ...}, "pool": ["<pool>", ...]}, ...}
//
// Keys of ours in any case, as Go reads them; others are ignored; null is as if it were not there.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "model/quota.h"

namespace gs::kapi {

inline constexpr std::string_view kQuotaKey = "gpu_quota";

/// Error: what is wrong with which namespace, and what to write there.
[[nodiscard]] Result<model::Quotas> readQuotas(const json::View& table);
[[nodiscard]] Result<model::Quotas> parseQuotas(std::string_view text);

}  // namespace gs::kapi
