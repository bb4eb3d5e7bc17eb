// Names of CDI devices: VENDOR/CLASS=DEVICE, as in nvidia.com/gpu=0. The grammar is that of the library with
// which container runtimes read them; the limits on length are ours. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::enforce::cdi {

inline constexpr std::size_t kMostOfAName = 253;  // bytes of a vendor, a class or a device

inline constexpr const char* kKindRule =
    "write VENDOR/CLASS such as nvidia.com/gpu: each begins with a letter, ends with a letter or a digit, "
    "has "
    "letters, digits, '-', '_' and '.' between, and 253 characters at most";
inline constexpr const char* kDeviceNameRule =
    "a device's name begins and ends with a letter or a digit, has letters, digits, '-', '_', '.' and ':' "
    "between, and 253 characters at most";

/// A vendor, or a class.
[[nodiscard]] bool isVendorOrClass(std::string_view text);
[[nodiscard]] bool isDeviceName(std::string_view text);

struct Kind {
  std::string vendor;        // nvidia.com
  std::string device_class;  // gpu
  [[nodiscard]] std::string text() const { return vendor + "/" + device_class; }
  friend bool operator==(const Kind&, const Kind&) = default;
};
/// Error Invalid: names the text and the grammar.
[[nodiscard]] Result<Kind> parseKind(std::string_view text);

struct QualifiedName {
  Kind kind;
  std::string device;
  [[nodiscard]] std::string text() const { return kind.text() + "=" + device; }
  friend bool operator==(const QualifiedName&, const QualifiedName&) = default;
};
/// Error Invalid: names the text and the grammar.
[[nodiscard]] Result<QualifiedName> parseQualifiedName(std::string_view text);

}  // namespace gs::enforce::cdi
