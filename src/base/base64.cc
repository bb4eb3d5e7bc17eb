#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace gs {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int digitOf(char c) {
  if (c >= 'A' && c <= 'Z') { return c - 'A'; }
  if (c >= 'a' && c <= 'z') { return c - 'a' + 26; }
  if (c >= '0' && c <= '9') { return c - '0' + 52; }
  if (c == '+') { return 62; }
  return c == '/' ? 63 : -1;
}

}  // namespace

std::string encodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t taken = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = (bits << 8) | (i < taken ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out.push_back(i <= taken ? kDigits[(bits >> (18 - 6 * i)) & 63] : '=');
    }
  }
  return out;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int digits = 0;   // in the group of four
  int padding = 0;  // '=' seen
  for (const char c : text) {
    if (c == '\r' || c == '\n') { continue; }
    if (c == '=') {
      ++padding;
      ++digits;
      if (digits < 3 || padding > 2) { return std::nullopt; }
    } else {
      const int digit = digitOf(c);
      if (digit < 0 || padding > 0) { return std::nullopt; }
      ++digits;
      bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    }
    if (digits < 4) { continue; }
    bits <<= 6 * padding;
    for (int byte = 0; byte < 3 - padding; ++byte) {
      out.push_back(static_cast<char>((bits >> (16 - 8 * byte)) & 0xff));
    }
    bits = 0;
    digits = 0;
    if (padding == 0) { continue; }
    padding = 3;  // nothing but line breaks may follow
  }
  if (digits != 0) { return std::nullopt; }
  return out;
}

}  // namespace gs
