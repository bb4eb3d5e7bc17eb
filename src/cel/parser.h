// Tokens -> a program, by CEL's grammar: one expression, which says true or false.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "cel/tree.h"

namespace gs::cel {

/// Error Invalid: says where ("at 12: ...") and what is wrong or not served. `patterns_left`: as
/// Selector::parse() has it.
[[nodiscard]] Result<Program> parse(std::string text, std::size_t& patterns_left);

}  // namespace gs::cel
