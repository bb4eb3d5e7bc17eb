// The manifests of examples/, by file name: what docs/use/tour.md and the demo apply.
#pragma once

#include <map>
#include <string>

namespace gs::sandbox {

[[nodiscard]] const std::map<std::string, std::string>& examples();

}  // namespace gs::sandbox
