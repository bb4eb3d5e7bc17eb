#include "cacherim/registry/challenge.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostChallenges = 16;
constexpr std::size_t kMostParameters = 32;

bool isTokenChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"!#$%&'*+-.^_`|~/:"}.find(c) != std::string_view::npos;
}

std::string lowerCase(std::string_view text) {
  std::string out{text};
  for (char& c : out) { c = lowerAscii(c); }
  return out;
}

/// Reads forward; every function leaves it behind what it took.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_{text} {}
  [[nodiscard]] bool atEnd() const { return rest_.empty(); }
  void skip(std::string_view of) { rest_.remove_prefix(std::min(rest_.find_first_not_of(of), rest_.size())); }
  bool takeChar(char c) {
    if (!rest_.starts_with(c)) { return false; }
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view token() {
    std::size_t end = 0;
    while (end < rest_.size() && isTokenChar(rest_[end])) { ++end; }
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return out;
  }
  /// nullopt: its end is missing.
  std::optional<std::string> value() {
    if (!rest_.starts_with('"')) { return std::string{token()}; }
    std::string out;
    for (std::size_t at = 1; at < rest_.size(); ++at) {
      if (rest_[at] == '"') {
        rest_.remove_prefix(at + 1);
        return out;
      }
      if (rest_[at] == '\\' && at + 1 < rest_.size()) { ++at; }
      out += rest_[at];
    }
    return std::nullopt;
  }
  void dropToComma() { rest_.remove_prefix(std::min(rest_.find(','), rest_.size())); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string_view Challenge::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) { return value; }
  }
  return {};
}

std::vector<Challenge> parseChallenges(std::string_view header) {
  std::vector<Challenge> out;
  HeaderReader in{header};
  while (true) {
    in.skip(" \t,");
    if (in.atEnd()) { return out; }
    const std::string_view word = in.token();
    if (word.empty()) {  // nothing that may stand here
      in.dropToComma();
      continue;
    }
    in.skip(" \t");
    if (!in.takeChar('=')) {  // a scheme
      if (out.size() == kMostChallenges) { return out; }
      out.push_back({lowerCase(word)});
      continue;
    }
    in.skip(" \t");
    const auto value = in.value();
    if (!value) { return out; }
    if (!out.empty() && out.back().parameters.size() < kMostParameters) {
      out.back().parameters.emplace_back(lowerCase(word), *value);
    }
  }
}

}  // namespace gs::cacherim
