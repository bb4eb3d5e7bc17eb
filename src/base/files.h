// Reading whole files that somebody else writes, and replacing one as a whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs {

inline constexpr std::size_t kMostOfAFile = std::size_t{4} << 20;

/// Error NotFound: there is none; Unavailable: it cannot be read; Invalid: it has more than `max_bytes`.
/// Names the file.
[[nodiscard]] Result<std::string> readFile(const std::string& path, std::size_t max_bytes = kMostOfAFile);

/// Writes beside it, flushes to the disk, and renames: whoever reads sees the old bytes or the new ones,
/// after a crash too. `mode`: its permissions. Error Unavailable: names the file.
[[nodiscard]] Status replaceFile(const std::string& path, std::string_view bytes, unsigned mode = 0600);
/// Where replaceFile() writes first: in the same folder, with a dot before the name.
[[nodiscard]] std::string besideOf(const std::string& path);

}  // namespace gs
