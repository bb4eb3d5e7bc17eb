// Files that are read or replaced as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace gs::sandbox {

/// Error NotFound: there is no such file; Unavailable: it cannot be read, or is longer than `max_bytes`.
[[nodiscard]] Result<std::string> readWholeFile(const std::string& path, std::size_t max_bytes);
/// Writes beside it, flushes to the disk, and renames: whoever reads sees the old bytes or the new ones. Mode 0600.
[[nodiscard]] Status replaceFile(const std::string& path, const std::string& bytes);

}  // namespace gs::sandbox
