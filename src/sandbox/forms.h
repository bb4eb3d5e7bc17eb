// The text forms of times and quantities that the API server reads and writes back in one canonical form, and ages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace gs::sandbox {

/// "2025-06-15T15:06:40Z"
[[nodiscard]] std::string timeText(Wall at);
/// "2025-06-15T15:06:40.000001Z"
[[nodiscard]] std::string microTimeText(Wall at);
/// RFC 3339 with any fraction and offset; nothing when malformed.
[[nodiscard]] std::optional<Wall> parseTime(std::string_view text);

/// As Quantity.String() gives it ("0.5" -> "500m", "1024Mi" -> "1Gi", "1000m" -> "1"); nothing when malformed.
[[nodiscard]] std::optional<std::string> canonicalQuantity(std::string_view text);
/// The quantity rounded up to milli units, for comparing; nothing when malformed.
[[nodiscard]] std::optional<std::int64_t> quantityInMilli(std::string_view text);

/// "2m13s", "3h", "2y325d" as the server writes AGE.
[[nodiscard]] std::string ageText(Duration age);
/// The age of an RFC 3339 time; "<unknown>" when it cannot be read.
[[nodiscard]] std::string ageSince(std::string_view time, Wall now);

}  // namespace gs::sandbox
