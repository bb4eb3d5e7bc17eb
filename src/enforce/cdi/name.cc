#include "enforce/cdi/name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/because.h"
#include "base/utf8.h"

namespace gs::enforce::cdi {
namespace {

constexpr std::size_t kMostOfANameShown = 100;

bool isLetterOfName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isAlnumOfName(char c) { return isLetterOfName(c) || (c >= '0' && c <= '9'); }

/// Letters and digits at both ends, and those of `others` too between them.
bool isNameWith(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= kMostOfAName && isAlnumOfName(text.front()) &&
         isAlnumOfName(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return isAlnumOfName(c) || others.find(c) != std::string_view::npos;
         });
}

}  // namespace

bool isVendorOrClass(std::string_view text) {
  return isNameWith(text, "-_.") && isLetterOfName(text.front());
}

bool isDeviceName(std::string_view text) { return isNameWith(text, "-_.:"); }

Result<Kind> parseKind(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || !isVendorOrClass(text.substr(0, slash)) ||
      !isVendorOrClass(text.substr(slash + 1))) {
    return fail(Code::Invalid, fmt::format("'{}' is no kind of CDI devices; {}",
                                           utf8Prefix(text, kMostOfANameShown), kKindRule));
  }
  return Kind{std::string{text.substr(0, slash)}, std::string{text.substr(slash + 1)}};
}

Result<QualifiedName> parseQualifiedName(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::Invalid, fmt::format("'{}' is no CDI device; write VENDOR/CLASS=DEVICE such as "
                                           "nvidia.com/gpu=0",
                                           utf8Prefix(text, kMostOfANameShown)));
  }
  auto kind = parseKind(text.substr(0, equals));
  if (!kind) { return because(std::move(kind.error())); }
  const std::string_view device = text.substr(equals + 1);
  if (!isDeviceName(device)) {
    return fail(Code::Invalid, fmt::format("'{}' is no CDI device: {}", utf8Prefix(text, kMostOfANameShown),
                                           kDeviceNameRule));
  }
  return QualifiedName{*std::move(kind), std::string{device}};
}

}  // namespace gs::enforce::cdi
