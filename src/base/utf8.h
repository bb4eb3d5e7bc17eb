// UTF-8, byte by byte. A byte that belongs to no character counts as one of its own, as in Go.
#pragma once

#include <cstddef>
#include <string_view>

namespace gs {

/// Bytes of the character at the start of `text`, which is not empty; 0: none begins there. No overlong
/// forms, no surrogates, nothing over U+10FFFF.
[[nodiscard]] constexpr std::size_t utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned b = byte(0);
  if (b < 0x80) { return 1; }
  if (b >= 0xC2 && b <= 0xDF) { return tail(1) ? 2 : 0; }
  if (b >= 0xE0 && b <= 0xEF) {
    const unsigned low = b == 0xE0 ? 0xA0 : 0x80;   // no overlong form
    const unsigned high = b == 0xED ? 0x9F : 0xBF;  // no surrogate
    return byte(1) >= low && byte(1) <= high && tail(2) ? 3 : 0;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    const unsigned low = b == 0xF0 ? 0x90 : 0x80;
    const unsigned high = b == 0xF4 ? 0x8F : 0xBF;  // nothing over U+10FFFF
    return byte(1) >= low && byte(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

[[nodiscard]] bool isUtf8(std::string_view text);
/// As much of its start as fits into so many bytes, without a part of a character.
[[nodiscard]] std::string_view utf8Prefix(std::string_view text, std::size_t most);
/// How many characters.
[[nodiscard]] std::size_t codePoints(std::string_view text);

}  // namespace gs
