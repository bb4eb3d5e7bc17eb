// Tokens -> a program, by CEL's grammar: one expression, which says true or false.
#pragma once

#include <string>

#include "base/result.h"
#include "cel/tree.h"

namespace gs::cel {

/// Error Invalid: says where ("at 12: ...") and what is wrong or not served.
[[nodiscard]] Result<Program> parse(std::string text);

}  // namespace gs::cel
