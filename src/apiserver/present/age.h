// Ages as the API server's tables write them.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace gs::apiserver {

/// "2m13s", "3h", "2y325d"
[[nodiscard]] std::string ageText(Duration age);
/// The age of an RFC 3339 time; "<unknown>" when it cannot be read.
[[nodiscard]] std::string ageSince(std::string_view time, Wall now);

}  // namespace gs::apiserver
