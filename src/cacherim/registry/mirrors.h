// Which mirrors are asked before a registry, as a flag says it:
// "quay.io=https://mirror:5000,quay.io=http://other/cache".
// Of one registry in the order in which they stand; the registry itself comes last.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gs::cacherim {

using Mirrors = std::map<std::string, std::vector<std::string>>;

/// "" is none. Error Invalid: names `flag`, the part that is wrong, and what would be right.
[[nodiscard]] Result<Mirrors> parseMirrors(std::string_view flag, std::string_view text);

}  // namespace gs::cacherim
