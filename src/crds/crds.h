// The CRDs of the chart (charts/gpu-scheduler/crds/crds.yaml), built in: programs bring a cluster to their
// version, and the sandbox has them from the start. Any thread.
#pragma once

#include <vector>

#include "json/value.h"

namespace gs::crds {

/// The file's text.
[[nodiscard]] const char* text();
/// Its documents; read once.
[[nodiscard]] const std::vector<json::Value>& all();

}  // namespace gs::crds
