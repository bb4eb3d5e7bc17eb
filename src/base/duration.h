// Lengths of time as Go writes them, which is how the flags of Kubernetes' components take them:
// "5s", "500ms", "1m30s".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace gs {

/// Units ms, s, m, h; more than nothing and at most a day. Error Invalid: says what is wrong with the text.
[[nodiscard]] Result<Duration> parseDuration(std::string_view text);

/// As parseDuration() reads it, to the millisecond: "1m30s", "500ms"; "0s".
[[nodiscard]] std::string printDuration(Duration duration);

}  // namespace gs
