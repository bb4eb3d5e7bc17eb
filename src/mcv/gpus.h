// The summary of a machine's GPUs (noderim/cache_gpus.h) that --gpu-info prints.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "kcache/content/compat.h"

namespace gs::mcv {

/// Two that are not there, for trying.
[[nodiscard]] std::vector<kcache::CacheGpu> stubGpus();

/// {"gpus":[{"gpuType","driverVersion","ids"}]}: GPUs alike are one group; sorted.
[[nodiscard]] json::Value fleetOf(const std::vector<kcache::CacheGpu>& gpus);
/// The same for people.
[[nodiscard]] std::string fleetText(const std::vector<kcache::CacheGpu>& gpus);
/// "[0 1]"
[[nodiscard]] std::string idsText(const std::vector<int>& ids);

}  // namespace gs::mcv
