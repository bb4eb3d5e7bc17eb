// How much is said in `Warning` headers of one answer, as a real API server bounds it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gs::apiserver {

inline constexpr std::size_t kMaxWarnings = 4096;  // characters, of all
inline constexpr std::size_t kMaxWarning = 256;    // of one, where all would be more than that

/// Each once, in the order in which they were said first. Where they are more than kMaxWarnings in all, each
/// is cut, and what comes after that much is left out.
[[nodiscard]] std::vector<std::string> boundedWarnings(std::vector<std::string> said);

}  // namespace gs::apiserver
