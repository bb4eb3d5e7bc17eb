// Any bytes as a WWW-Authenticate header and as a location of a redirect: no crash, no hang; limits hold, and
// a URL that is accepted is read again as the same.
#include <cstdint>
#include <string_view>

#include "cacherim/registry/challenge.h"
#include "net/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto challenges = gs::cacherim::parseChallenges(text);
  if (challenges.size() > 16) { __builtin_trap(); }
  for (const auto& challenge : challenges) {
    if (challenge.scheme.empty() || challenge.parameters.size() > 32) { __builtin_trap(); }
  }
  const auto base = gs::net::parseUrl("https://a.example:5000/v2/a");
  if (const auto url = gs::net::resolveUrl(*base, text)) {
    const auto again = gs::net::parseUrl(url->text());
    if (!again || again->origin() != url->origin() || url->origin().find('@') != std::string::npos) {
      __builtin_trap();
    }
  }
  return 0;
}
