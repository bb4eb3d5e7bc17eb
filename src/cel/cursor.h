// A place in a selector's tokens, for the parser: looks ahead, takes, and says what should be there instead.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cel/tokens.h"

namespace gs::cel {

class Cursor {
 public:
  /// The last one is End; what is behind it reads as End too.
  explicit Cursor(std::vector<Token> tokens) : tokens_{std::move(tokens)} {}

  /// Good as long as the cursor.
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  /// Takes one of this kind, if it is next.
  bool accept(Kind kind);
  /// For a token that is not what the grammar wants there.
  [[nodiscard]] tl::unexpected<Error> unexpected(std::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

}  // namespace gs::cel
