// Paths that come from outside and are compared or joined as text.
#pragma once

#include <string_view>

namespace gs {

/// Absolute, not "/" itself, without "//", "." and "..", without '/' at the end and without a NUL byte.
[[nodiscard]] bool isCleanPath(std::string_view path);

}  // namespace gs
