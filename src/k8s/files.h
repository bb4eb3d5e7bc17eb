// Reading small files that somebody else writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::k8s {

/// Error NotFound: there is none; Unavailable: it cannot be read; Invalid: over `max_bytes`. Names the file.
[[nodiscard]] Result<std::string> readFile(const std::string& path,
                                           std::size_t max_bytes = std::size_t{4} << 20);
/// Without white space at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

}  // namespace gs::k8s
