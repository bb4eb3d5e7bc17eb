#include "kcache/image/digest.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"
#include "base/utf8.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kHexDigits = 64;

bool isLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Result<Digest> Digest::parse(std::string_view text) {
  const std::string_view hex = text.substr(std::min(kPrefix.size(), text.size()));
  if (text.starts_with(kPrefix) && hex.size() == kHexDigits &&
      std::all_of(hex.begin(), hex.end(), isLowerHex)) {
    return Digest{std::string{text}};
  }
  return fail(Code::Invalid, fmt::format("'{}' is no digest: write sha256: and 64 lower-case hex digits",
                                         utf8Prefix(text, kPrefix.size() + kHexDigits + 1)));
}

Digest Digest::of(std::string_view bytes) { return Digest{std::string{kPrefix} + sha256Hex(bytes)}; }

}  // namespace gs::kcache
