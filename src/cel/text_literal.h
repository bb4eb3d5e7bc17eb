// A text between quotes -> what it stands for: the two quotes, single or three at a time, escapes, and raw
// texts, in which a backslash is a backslash. Line ends inside of one read as \n, as in cel-go.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::cel {

struct TextLiteral {
  std::string text;
  std::size_t end = 0;  // the position behind it
};
/// The literal of `source` whose first quote is at `at`. Error Invalid: without an end, or an escape that CEL
/// does not have.
[[nodiscard]] Result<TextLiteral> textLiteral(std::string_view source, std::size_t at, bool raw);

}  // namespace gs::cel
