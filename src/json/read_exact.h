// The slower reader behind Document: takes all that is JSON (integers beyond 64 bits too), and its error says
// where a text is not.
#pragma once

#include <string_view>

#include "json/value.h"

namespace gs::json {

inline constexpr std::size_t kMaxDepth = 100;

[[nodiscard]] Result<Value> readExact(std::string_view text);

}  // namespace gs::json
