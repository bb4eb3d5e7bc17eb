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

std::string_view utf8Prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) { return text; }
  for (std::size_t at = most; at > 0 && most - at < 3; --at) {  // of a character of up to four bytes
    const std::size_t begin = at - 1;
    const std::size_t length = utf8Length(text.substr(begin));
    if (length > 0) { return text.substr(0, begin + length > most ? begin : most); }
  }
  return text.substr(0, most);
}

std::size_t codePoints(std::string_view text) {
  std::size_t n = 0;
  for (; !text.empty(); ++n) { text.remove_prefix(std::max<std::size_t>(utf8Length(text), 1)); }
  return n;
}

}  // namespace gs
