// SHA-256, for names that must fit a length (leases, labels) and for content digests.
#pragma once

#include <string>
#include <string_view>

namespace gs {

/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256Hex(std::string_view bytes);

}  // namespace gs
