#include "model/dra.h"

#include <algorithm>
#include <charconv>

namespace gs::model {
namespace {

bool isDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Without leading zeros.
std::optional<std::uint64_t> numberOf(std::string_view s) {
  if (!isDigits(s) || (s.size() > 1 && s[0] == '0')) { return std::nullopt; }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), number);
  if (error != std::errc{} || number > (std::uint64_t{1} << 63U)) { return std::nullopt; }
  return number;
}

bool isIdentifier(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = s.find('.');
    parts.push_back(s.substr(0, dot));
    if (dot == std::string_view::npos) { return parts; }
    s.remove_prefix(dot + 1);
  }
}

std::strong_ordering compareIdentifiers(const std::string& a, const std::string& b) {
  const bool a_counts = isDigits(a);
  if (a_counts != isDigits(b)) {
    return a_counts ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_counts && a.size() != b.size()) { return a.size() <=> b.size(); }
  return a.compare(b) <=> 0;
}

}  // namespace

std::optional<SemVer> parseSemVer(std::string_view text) {
  SemVer out;
  out.text = std::string{text};
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    for (const auto part : split(text.substr(plus + 1))) {
      if (!isIdentifier(part)) { return std::nullopt; }
    }
    text = text.substr(0, plus);
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    for (const auto part : split(text.substr(dash + 1))) {
      if (!isIdentifier(part) || (isDigits(part) && !numberOf(part))) { return std::nullopt; }
      out.pre.emplace_back(part);
    }
    text = text.substr(0, dash);
  }
  const auto numbers = split(text);
  if (numbers.size() != 3) { return std::nullopt; }
  std::uint64_t* const fields[] = {&out.major, &out.minor, &out.patch};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = numberOf(numbers[i]);
    if (!number) { return std::nullopt; }
    *fields[i] = *number;
  }
  return out;
}

std::strong_ordering precedence(const SemVer& a, const SemVer& b) {
  if (const auto c = a.major <=> b.major; c != 0) { return c; }
  if (const auto c = a.minor <=> b.minor; c != 0) { return c; }
  if (const auto c = a.patch <=> b.patch; c != 0) { return c; }
  if (a.pre.empty() != b.pre.empty()) {
    return a.pre.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  return std::lexicographical_compare_three_way(a.pre.begin(), a.pre.end(), b.pre.begin(), b.pre.end(),
                                                compareIdentifiers);
}

}  // namespace gs::model
