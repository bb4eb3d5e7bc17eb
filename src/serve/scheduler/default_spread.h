// The flag --default-spread-constraints of gpu-scheduler: spread for pods that say none of their own.
#pragma once

#include <string>

#include "base/result.h"
#include "model/default_spread.h"

namespace gs::serve {

/// "": none. "System": what kube-scheduler has by default. Else a list in YAML or JSON, as it stands in
/// KubeSchedulerConfiguration (defaultConstraints of PodTopologySpreadArgs): topologyKey, maxSkew and
/// whenUnsatisfiable of each. Error: the flag, the entry, what is wrong with it, and what to write.
[[nodiscard]] Status readDefaultSpread(const std::string& text, model::DefaultSpread& into);

}  // namespace gs::serve
