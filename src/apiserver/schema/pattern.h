// Regular expressions of CRD schemas (RE2 syntax, the common part), matched in time linear in the text.
//
// Problem: std::regex is slow and recurses without bound; patterns and texts come from outside. Here a pattern becomes
// a small program that is run over all threads of the match at once, so no input makes it slow.
// Known: literals . [a-z] [^a] [[:alpha:]] \d \w \s \D \W \S \. ( ) (?: ) | * + ? {m,n} and their lazy forms, ^ $ \A \z.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gs::apiserver {

class Pattern {
 public:
  /// Nothing: malformed, or uses what is not known here, or its program would be too large.
  [[nodiscard]] static std::optional<Pattern> compile(std::string_view text);
  /// Whether it matches anywhere in `text` (UTF-8; a broken byte counts as one character).
  [[nodiscard]] bool matches(std::string_view text) const;

  using Ranges = std::vector<std::pair<char32_t, char32_t>>;
  enum class Op : std::uint8_t { Char, Split, Jump, Begin, End, Match };
  struct Instruction {
    Op op = Op::Match;
    std::uint32_t x = 0;  // Char: index into sets; Split, Jump: target
    std::uint32_t y = 0;  // Split: second target
  };

 private:
  void follow(std::vector<std::uint32_t>& threads, std::vector<std::uint32_t>& mark, std::uint32_t generation,
              std::uint32_t start, bool at_begin, bool at_end) const;

  std::vector<Instruction> program_;
  std::vector<Ranges> sets_;
};

/// The next code point of UTF-8 `text`, taken off its front. Broken bytes come as themselves.
[[nodiscard]] char32_t takeCodePoint(std::string_view& text);
[[nodiscard]] std::size_t codePoints(std::string_view text);

}  // namespace gs::apiserver
