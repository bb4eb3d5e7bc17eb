#include "cel/text_literal.h"

#include <cstdint>
#include <optional>

#include "cel/tokens.h"

namespace gs::cel {
namespace {

void appendUtf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
  const auto tail = [&](unsigned shift) { byte(0x80U | ((c >> shift) & 0x3FU)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0U | (c >> 6U));
    tail(0);
  } else if (c < 0x10000) {
    byte(0xE0U | (c >> 12U));
    tail(6);
    tail(0);
  } else {
    byte(0xF0U | (c >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// What `digits` digits in base 8 or 16 say; nothing when there are fewer.
std::optional<std::uint32_t> digitsAt(std::string_view source, std::size_t at, std::size_t digits,
                                      unsigned base) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    const char c = i < source.size() ? source[i] : ' ';
    unsigned digit = base;
    if (c >= '0' && c <= '9') { digit = static_cast<unsigned>(c - '0'); }
    if (c >= 'a' && c <= 'f') { digit = static_cast<unsigned>(c - 'a') + 10; }
    if (c >= 'A' && c <= 'F') { digit = static_cast<unsigned>(c - 'A') + 10; }
    if (digit >= base) { return std::nullopt; }
    number = number * base + digit;
  }
  return number;
}

std::optional<char> simpleEscape(char c) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"`?";
  constexpr std::string_view kMean = "\a\b\f\n\r\t\v\\'\"`?";
  const std::size_t i = kLetters.find(c);
  return i == std::string_view::npos ? std::nullopt : std::optional{kMean[i]};
}

/// Appends the escape whose backslash is at `at`; the position behind it, or nothing.
std::optional<std::size_t> escape(std::string_view source, std::size_t at, std::string& out) {
  const char c = at + 1 < source.size() ? source[at + 1] : ' ';
  if (const auto simple = simpleEscape(c)) {
    out += *simple;
    return at + 2;
  }
  std::size_t from = at + 2;
  std::size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  const bool octal = c >= '0' && c <= '3';
  if (octal) {
    from = at + 1;
    digits = 3;
  }
  if (digits == 0) { return std::nullopt; }
  const auto code = digitsAt(source, from, digits, octal ? 8 : 16);
  if (!code || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) { return std::nullopt; }
  appendUtf8(out, *code);
  return from + digits;
}

}  // namespace

Result<TextLiteral> textLiteral(std::string_view source, std::size_t at, bool raw) {
  const char quote = source[at];
  const std::string three(3, quote);
  const bool long_form = source.substr(at, 3) == three;
  const std::string_view end = long_form ? std::string_view{three} : source.substr(at, 1);
  TextLiteral out;
  for (std::size_t i = at + end.size(); i < source.size();) {
    const char c = source[i];
    if (source.substr(i, end.size()) == end) {
      out.end = i + end.size();
      return out;
    }
    if ((c == '\n' || c == '\r') && !long_form) { break; }
    if (c == '\\' && !raw) {
      const auto behind = escape(source, i, out.text);
      if (!behind) { return wrong(i, "an escape that CEL does not have"); }
      i = *behind;
      continue;
    }
    if (c == '\r') {
      out.text += '\n';
      i += source.substr(i, 2) == "\r\n" ? 2 : 1;
      continue;
    }
    out.text += c;
    ++i;
  }
  return wrong(at, "a text without its closing quote");
}

}  // namespace gs::cel
