// Times as Kubernetes writes them (RFC 3339, UTC) <-> Wall. Leases and events carry microseconds,
// all else whole seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace gs::kapi {

/// "2025-06-15T15:06:40Z"; years 1 to 9999.
[[nodiscard]] std::string timeText(Wall t);
/// "2025-06-15T15:06:40.123456Z"
[[nodiscard]] std::string microTimeText(Wall t);
/// With or without a fraction, with Z or an offset; digits beyond microseconds are cut.
[[nodiscard]] std::optional<Wall> parseTime(std::string_view text);

}  // namespace gs::kapi
