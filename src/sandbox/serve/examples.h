// The manifests of examples/, by file name: what the README's tour and the demo apply.
#pragma once

#include <map>
#include <string>

namespace gs::sandbox {

[[nodiscard]] const std::map<std::string, std::string>& examples();

}  // namespace gs::sandbox
