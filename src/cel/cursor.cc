#include "cel/cursor.h"

#include <fmt/core.h>

#include <algorithm>

namespace gs::cel {

const Token& Cursor::peek(std::size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

const Token& Cursor::take() {
  const Token& token = peek();
  next_ = std::min(next_ + 1, tokens_.size() - 1);
  return token;
}

bool Cursor::accept(Kind kind) {
  if (peek().kind != kind) { return false; }
  take();
  return true;
}

tl::unexpected<Error> Cursor::unexpected(std::string_view wanted) const {
  const std::size_t at = peek().at;
  if (peek().kind == Kind::End) { return wrong(at, fmt::format("it ends where {} should be", wanted)); }
  if (peek().kind == Kind::Minus) { return notServed(at, "'-' between two values"); }
  if (peek().kind == Kind::Question && wanted.starts_with("a ")) {
    return notServed(at, "'?' of optional values");
  }
  return wrong(at, fmt::format("{} should be here", wanted));
}

}  // namespace gs::cel
