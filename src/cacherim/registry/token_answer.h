// The answer of a token server (distribution's token specification). Pure; fuzzed.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace gs::cacherim {

struct TokenAnswer {
  std::string token;  // printable, no spaces
  Duration good_for;  // 10 s to an hour; a minute where the server says nothing
};

/// Error Invalid: never shows the text.
[[nodiscard]] Result<TokenAnswer> parseTokenAnswer(std::string_view text);

}  // namespace gs::cacherim
