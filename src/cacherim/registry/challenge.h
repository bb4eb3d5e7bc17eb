// What a registry asks for with 401: WWW-Authenticate headers (RFC 9110 11.6.1), as values. Pure; fuzzed.
// One header may hold several challenges, and values may be quoted or not. What cannot be read is left out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gs::cacherim {

struct Challenge {
  std::string scheme;                                             // lower case: "bearer", "basic"
  std::vector<std::pair<std::string, std::string>> parameters{};  // names in lower case

  /// "": there is none.
  [[nodiscard]] std::string_view parameter(std::string_view name) const;
  friend bool operator==(const Challenge&, const Challenge&) = default;
};

/// The value of one header.
[[nodiscard]] std::vector<Challenge> parseChallenges(std::string_view header);

}  // namespace gs::cacherim
