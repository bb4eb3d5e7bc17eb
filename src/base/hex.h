// Bytes as hex digits, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gs {

/// Lower case.
[[nodiscard]] std::string encodeHex(std::string_view bytes);
/// nullopt: not pairs of hex digits. Either case.
[[nodiscard]] std::optional<std::string> decodeHex(std::string_view text);

}  // namespace gs
