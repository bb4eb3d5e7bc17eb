// YAML -> JSON text: the one door to the YAML library. Types by YAML 1.2's core schema (unquoted true/false,
// numbers, null, ~; quoted scalars stay strings); anchors are resolved; at most `max_bytes` in and 16 times
// that out (alias bombs), depth 100.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gs::yaml {

/// One JSON text per document. Error Invalid: line and column, what is wrong.
[[nodiscard]] Result<std::vector<std::string>> toJson(std::string_view text,
                                                      std::size_t max_bytes = std::size_t{4} << 20);

}  // namespace gs::yaml
