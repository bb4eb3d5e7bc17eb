// Reading whole files that somebody else writes. (Replacing one as a whole: sandbox/serve/whole_file.h.)
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace gs {

inline constexpr std::size_t kMostOfAFile = std::size_t{4} << 20;

/// Error NotFound: there is none; Unavailable: it cannot be read; Invalid: it has more than `max_bytes`.
/// Names the file.
[[nodiscard]] Result<std::string> readFile(const std::string& path, std::size_t max_bytes = kMostOfAFile);

}  // namespace gs
