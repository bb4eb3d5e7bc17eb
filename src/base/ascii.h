// Comparing names whose case does not count (HTTP headers, keys as Go reads them), by ASCII alone.
#pragma once

#include <algorithm>
#include <string_view>

namespace gs {

[[nodiscard]] constexpr char lowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline bool equalInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lowerAscii(x) == lowerAscii(y); });
}

}  // namespace gs
