// `kubectl logs`: what a simulated container wrote. One whose command has `printenv NAME` wrote what that
// variable was when it started. All others ran `nvidia-smi -L`, so it is the list of GPUs that they see:
// those that CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES of the env that they really got name (none, when
// that is empty). Without either, a container that asked for nvidia.com/gpu sees those that its node gave
// it, and others none.
#pragma once

#include <optional>

#include "apiserver/handlers/api.h"
#include "sandbox/node/kubelet.h"

namespace gs::sandbox {

/// nullopt: not a GET of pods/<name>/log.
[[nodiscard]] std::optional<apiserver::Response> podLog(const apiserver::Api& api, const Kubelet& kubelet,
                                                        const apiserver::Request& request, Now now);

}  // namespace gs::sandbox
