// The chart's CRDs (charts/gpu-scheduler/crds/crds.yaml), built in.
#pragma once

#include <vector>

#include "json/value.h"

namespace gs::sandbox {

/// The file's text.
[[nodiscard]] const char* crdsText();
/// Its documents; read once.
[[nodiscard]] const std::vector<json::Value>& crds();

}  // namespace gs::sandbox
