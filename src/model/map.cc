#include "model/map.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace gs::model {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// As Python's int(): a sign, digits, single underscores between them. nullopt: it is none, or has more than
/// 64 bits.
std::optional<std::int64_t> wholeNumber(std::string_view text) {
  text = trim(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) { text.remove_prefix(1); }
  std::string digits{negative ? "-" : ""};
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' ? !after_digit : !isDigit(c)) { return std::nullopt; }
    after_digit = c != '_';
    if (after_digit) { digits.push_back(c); }
  }
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return after_digit && error == std::errc{} ? std::optional{out} : std::nullopt;
}

/// The text before the first `mark`, and the one behind it; nullopt: there is no such.
std::optional<std::pair<std::string_view, std::string_view>> partedBy(char mark, std::string_view text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) { return std::nullopt; }
  return std::pair{trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

}  // namespace

std::map<std::int64_t, MapEntry> parseMap(std::string_view text) {
  std::map<std::int64_t, MapEntry> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto line = partedBy('=', trim(text.substr(at, end - at)));
    at = end + 1;
    if (!line) { continue; }
    const auto ordinal = wholeNumber(line->first);
    if (!ordinal) { break; }
    const auto entry = partedBy(':', line->second);
    if (!entry || (out.size() == kMostMapEntries && !out.contains(*ordinal))) { continue; }
    out.insert_or_assign(*ordinal, MapEntry{std::string{entry->first}, std::string{entry->second}});
  }
  return out;
}

std::optional<std::int64_t> ordinalOf(std::string_view name, std::string_view generate_name) {
  if (!generate_name.empty() && name.starts_with(generate_name)) {
    if (const auto ordinal = wholeNumber(name.substr(generate_name.size()))) { return ordinal; }
  }
  const auto at = name.rfind('-');
  return at == std::string_view::npos ? std::nullopt : wholeNumber(name.substr(at + 1));
}

}  // namespace gs::model
