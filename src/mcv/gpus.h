// The GPUs of this machine, as caches are made for them, and the summary of them that --gpu-info prints.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "kcache/content/compat.h"
#include "noderim/gpu_source.h"

namespace gs::mcv {

/// Without a driver there are none. Error Unavailable: there is one, and it does not answer.
/// Those that are lost, or of which the driver does not say what code they run, are left out. NVIDIA's come
/// first, each vendor's in the order of the bus.
[[nodiscard]] Result<std::vector<kcache::CacheGpu>> gpusOf(const agent::Look& look);
/// Of a machine without a driver: why no GPU is found; "" otherwise.
[[nodiscard]] std::string whyNoGpus(const agent::Look& look);
/// Two that are not there, for trying.
[[nodiscard]] std::vector<kcache::CacheGpu> stubGpus();

/// {"gpus":[{"gpuType","driverVersion","ids"}]}: GPUs alike are one group; sorted.
[[nodiscard]] json::Value fleetOf(const std::vector<kcache::CacheGpu>& gpus);
/// The same for people.
[[nodiscard]] std::string fleetText(const std::vector<kcache::CacheGpu>& gpus);
/// "[0 1]"
[[nodiscard]] std::string idsText(const std::vector<int>& ids);

}  // namespace gs::mcv
