// Where a text stops being JSON, for telling who sent it: cut off on its way, or no JSON at all. Pure.
//
// Asked of texts that a reader refused, which may be a hundred MB of nothing but brackets: it keeps a bit for
// each that is open. Not looked at: whether strings are UTF-8, and how large numbers are.
#pragma once

#include <cstddef>
#include <string_view>

namespace gs::extender {

struct JsonCheck {
  enum class Kind { Whole, CutOff, Wrong };
  Kind kind{};
  std::size_t at = 0;              // Wrong: the first byte that cannot stand there; else the size of the text
  std::string_view expected = "";  // Wrong: what could
};
[[nodiscard]] JsonCheck checkJson(std::string_view text);

}  // namespace gs::extender
