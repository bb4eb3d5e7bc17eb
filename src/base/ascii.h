// Text by ASCII alone: names whose case does not count (HTTP headers, keys as Go reads them),
// white space at the ends, lists, lines.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gs {

[[nodiscard]] constexpr char lowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string inLowerCase(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), lowerAscii);
  return out;
}

[[nodiscard]] inline bool equalInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lowerAscii(x) == lowerAscii(y); });
}

/// Without white space at both ends.
[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Of "a, b": "a" and "b"; what is empty is left out.
[[nodiscard]] inline std::vector<std::string> commaList(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = trim(text.substr(at, end - at));
    if (!part.empty()) { out.emplace_back(part); }
    at = end + 1;
  }
  return out;
}

/// Lines, without empty ones; one that begins with a space goes on with the line before.
[[nodiscard]] inline std::vector<std::string> foldedLines(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(' ') && !out.empty()) {
      out.back() += line;
    } else if (!line.empty()) {
      out.emplace_back(line);
    }
    at = end + 1;
  }
  return out;
}

}  // namespace gs
