// A program, for one device. Nothing is evaluated twice, so it costs what the selector's text is long (and
// its patterns, which RE2 matches in linear time).
#pragma once

#include <string_view>

#include "cel/value.h"

namespace gs::cel {

/// True, false, or a Fault; what says neither true nor false is a Fault too.
[[nodiscard]] Value evaluate(const Program& program, std::string_view driver,
                             const model::SliceDevice& device);

}  // namespace gs::cel
