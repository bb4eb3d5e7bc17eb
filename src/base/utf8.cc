#include "base/utf8.h"

#include <algorithm>

namespace gs {

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0) { return false; }
    text.remove_prefix(length);
  }
  return true;
}

std::size_t codePoints(std::string_view text) {
  std::size_t n = 0;
  for (; !text.empty(); ++n) { text.remove_prefix(std::max<std::size_t>(utf8Length(text), 1)); }
  return n;
}

}  // namespace gs
