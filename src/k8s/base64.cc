#include "k8s/base64.h"

#include <cstdint>

namespace gs::k8s {
namespace {

int digitOf(char c) {
  if (c >= 'A' && c <= 'Z') { return c - 'A'; }
  if (c >= 'a' && c <= 'z') { return c - 'a' + 26; }
  if (c >= '0' && c <= '9') { return c - '0' + 52; }
  if (c == '+') { return 62; }
  return c == '/' ? 63 : -1;
}

}  // namespace

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

}  // namespace gs::k8s
