// The text of a selector -> its tokens, as CEL's grammar has them (the CEL specification, "Syntax").
//
// What no selector may have (numbers with a fraction, unsigned numbers, bytes, null, arithmetic, maps,
// names in backticks) is refused here already. Comments and white space are gone. The last token is End.
// Positions count bytes from 0; errors show them from 1. Error: Invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gs::cel {

enum class Kind : std::uint8_t {
  End,
  Name,    // `text`
  Text,    // a literal; `text` is what it stands for
  Number,  // `number`, without its sign; at most 2^63
  True,
  False,
  In,
  Dot,
  Comma,
  Open,
  Close,
  OpenList,
  CloseList,
  Question,
  Colon,
  Not,
  Minus,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  And,
  Or,
};

struct Token {
  Kind kind = Kind::End;
  std::size_t at = 0;
  std::string text{};
  std::uint64_t number = 0;
};

[[nodiscard]] Result<std::vector<Token>> tokensOf(std::string_view text);

/// "at 12: WHAT". For what is not CEL, or does not fit together.
[[nodiscard]] tl::unexpected<Error> wrong(std::size_t at, std::string_view what);
/// "at 12: WHAT is not served in selectors; served are ..."
[[nodiscard]] tl::unexpected<Error> notServed(std::size_t at, std::string_view what);

}  // namespace gs::cel
