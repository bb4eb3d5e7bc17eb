// The GPUs of this machine, as kernel caches are made for them: what mcv and gkm-agent make of a look.
#pragma once

#include <string>
#include <vector>

#include "agent/hardware.h"
#include "base/result.h"
#include "kcache/content/compat.h"

namespace gs::noderim {

/// Without a driver there are none. Error Unavailable: there is one, and it does not answer.
/// Those that are lost, or of which the driver does not say what code they run, are left out. NVIDIA's come
/// first, each vendor's in the order of the bus.
[[nodiscard]] Result<std::vector<kcache::CacheGpu>> cacheGpusOf(const agent::Look& look);
/// Of a machine without a driver: why no GPU is found; "" otherwise.
[[nodiscard]] std::string whyNoGpus(const agent::Look& look);

}  // namespace gs::noderim
