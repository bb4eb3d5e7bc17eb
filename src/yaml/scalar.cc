#include "yaml/scalar.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/quoted.h"

namespace gs::yaml {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool isOneOf(std::string_view s, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), s) != words.end();
}

bool isNull(std::string_view s) { return isOneOf(s, {"", "~", "null", "Null", "NULL"}); }
bool isTrue(std::string_view s) { return isOneOf(s, {"true", "True", "TRUE"}); }
bool isFalse(std::string_view s) { return isOneOf(s, {"false", "False", "FALSE"}); }

bool isInfinityOrNan(std::string_view s) {
  if (isOneOf(s, {".nan", ".NaN", ".NAN"})) { return true; }
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) { s.remove_prefix(1); }
  return isOneOf(s, {".inf", ".Inf", ".INF"});
}

std::size_t digitsAt(std::string_view s, std::size_t at) {
  std::size_t n = 0;
  while (at + n < s.size() && isDigit(s[at + n])) { ++n; }
  return n;
}

std::string_view withoutZeros(std::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0') { digits.remove_prefix(1); }
  return digits;
}

/// 0o17 and 0x1F; nullopt when it is neither or over 64 bits.
std::optional<std::string> otherBase(std::string_view s) {
  if (s.size() < 3 || s[0] != '0' || (s[1] != 'o' && s[1] != 'x')) { return std::nullopt; }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), number, s[1] == 'o' ? 8 : 16);
  if (error != std::errc{} || end != s.data() + s.size()) { return std::nullopt; }
  return std::to_string(number);
}

/// [-+]?(digits[.digits]|.digits)[e[-+]digits] in the form that JSON has for it;
/// nullopt when it is no number.
std::optional<std::string> decimal(std::string_view s) {
  std::string out;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) {
    if (s[0] == '-') { out = "-"; }
    s.remove_prefix(1);
  }
  const std::size_t whole = digitsAt(s, 0);
  std::size_t at = whole;
  std::size_t fraction = 0;
  if (at < s.size() && s[at] == '.') {
    fraction = digitsAt(s, ++at);
    at += fraction;
  }
  if (whole + fraction == 0) { return std::nullopt; }
  const bool has_point = at > whole;
  out += whole == 0 ? "0" : withoutZeros(s.substr(0, whole));
  if (has_point) {
    out += '.';
    out += fraction == 0 ? "0" : s.substr(whole + 1, fraction);
  }
  if (at == s.size()) { return out; }
  if (s[at] != 'e' && s[at] != 'E') { return std::nullopt; }
  const bool has_sign = at + 1 < s.size() && (s[at + 1] == '+' || s[at + 1] == '-');
  const std::size_t power = at + (has_sign ? 2 : 1);
  if (digitsAt(s, power) == 0 || power + digitsAt(s, power) != s.size()) { return std::nullopt; }
  return out += s.substr(at);
}

std::optional<std::string> number(std::string_view s) {
  auto other = otherBase(s);
  return other ? other : decimal(s);
}

Result<std::string> plain(std::string_view value) {
  if (isNull(value)) { return "null"; }
  if (isTrue(value)) { return "true"; }
  if (isFalse(value)) { return "false"; }
  if (isInfinityOrNan(value)) {
    return fail(Code::Invalid, fmt::format("{} has no form in JSON; write a number, or quote it", value));
  }
  if (auto n = number(value)) { return *n; }
  return quoted(value);
}

}  // namespace

Result<std::string> scalarToJson(std::string_view tag, std::string_view value) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "?") { return plain(value); }
  if (tag == "!") { return quoted(value); }
  const std::string_view type =
      tag.substr(0, kStandard.size()) == kStandard ? tag.substr(kStandard.size()) : "";
  if (type == "str" || type == "binary") { return quoted(value); }
  const auto n = number(value);
  const bool is_bool = isTrue(value) || isFalse(value);
  if ((type == "null" && isNull(value)) || (type == "bool" && is_bool)) { return plain(value); }
  if (type == "float" && n) { return *n; }
  if (type == "int" && n && n->find_first_of(".eE") == std::string::npos) { return *n; }
  return fail(Code::Invalid, fmt::format("the tag {} is not supported for '{}'", tag, value.substr(0, 80)));
}

std::string quoted(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

}  // namespace gs::yaml
