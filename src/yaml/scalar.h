// One YAML scalar -> JSON text, by YAML 1.2's core schema. Used by yaml.cc only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::yaml {

/// `tag` as yaml-cpp gives it: "?" or "" for a plain scalar, "!" for a quoted one, else the full tag.
/// Error Invalid: what has no JSON form (.inf, .nan), an unknown tag,
/// or a value that is not of the type its tag says.
[[nodiscard]] Result<std::string> scalarToJson(std::string_view tag, std::string_view value);
/// A JSON string. `text` is UTF-8.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace gs::yaml
