// Paths that come from outside and are compared or joined as text.
#pragma once

#include <string>
#include <string_view>

namespace gs {

/// Absolute, not "/" itself, without "//", "." and "..", without '/' at the end and without a NUL byte.
[[nodiscard]] bool isCleanPath(std::string_view path);

/// What is meant by a path that is written with '/' at its end, twice, or not at its front, or with "." and
/// "..". By its text alone: links are not followed.
[[nodiscard]] std::string cleanedPath(std::string_view written);

}  // namespace gs
