#include "cacherim/registry/token_answer.h"

#include <algorithm>

#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostOfAnAnswer = std::size_t{1} << 20;
constexpr std::size_t kMostOfAToken = std::size_t{64} << 10;
constexpr std::int64_t kShortest = 10;
constexpr std::int64_t kLongest = 3600;
constexpr std::int64_t kUnsaid = 60;

}  // namespace

Result<TokenAnswer> parseTokenAnswer(std::string_view text) {
  const auto parsed = json::parse(text, kMostOfAnAnswer);
  if (!parsed) { return fail(Code::Invalid, "the token server's answer is no JSON"); }
  std::string_view token = (*parsed)["token"].str();
  if (token.empty()) { token = (*parsed)["access_token"].str(); }
  const bool good = !token.empty() && token.size() <= kMostOfAToken &&
                    std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!good) { return fail(Code::Invalid, "the token server's answer has no token that could be used"); }
  const std::int64_t seconds = (*parsed)["expires_in"].intOr(kUnsaid);
  return TokenAnswer{std::string{token},
                     std::chrono::seconds{seconds <= 0 ? kUnsaid : std::clamp(seconds, kShortest, kLongest)}};
}

}  // namespace gs::cacherim
