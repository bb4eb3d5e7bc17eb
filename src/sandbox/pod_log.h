// `kubectl logs`: what a simulated container wrote. It ran `nvidia-smi -L`, so this is the list of GPUs that it sees: those
// that CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES of the env that it really got name (none, when that is empty).
// Without either, a container that asked for nvidia.com/gpu sees those that its node gave it, and others none.
#pragma once

#include <optional>

#include "sandbox/api.h"
#include "sandbox/world.h"

namespace gs::sandbox {

/// nullopt: not a GET of pods/<name>/log.
[[nodiscard]] std::optional<Response> podLog(World& world, const Request& request);

}  // namespace gs::sandbox
