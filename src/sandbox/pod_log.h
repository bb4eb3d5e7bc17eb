// `kubectl logs`: what a simulated container wrote. It ran `nvidia-smi -L`, so this is the list of GPUs that it sees: those
// that CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES of the env that it really got name; without either, those that its
// node gave it.
#pragma once

#include <optional>

#include "sandbox/api.h"
#include "sandbox/world.h"

namespace gs::sandbox {

/// nullopt: not a GET of pods/<name>/log.
[[nodiscard]] std::optional<Response> podLog(World& world, const Request& request);

}  // namespace gs::sandbox
