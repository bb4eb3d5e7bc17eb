// Regular expressions that come from outside (schemas of CRDs, policies, selectors of DRA): what Go's regexp
// takes, which is RE2's language, matched by RE2.
//
// Problem: patterns and texts come from outside, and std::regex is slow and recurses without bound. RE2 does
// neither, but it is not linear in the text alone: while its automaton grows, and for good where it outgrows
// its memory, each byte of a text costs up to the whole program. "(a[ab]{999}|b)c" has 15 bytes, a program of
// 1,000 instructions, and takes 25 ms for a text of 4,000 bytes. So who serves others bounds size() when it
// compiles and adds up cost() when it matches; how long a pattern is says nothing.
// Memory is bounded: some 16 bytes for each instruction that was allowed, at least 64 KiB.
// Compiled once, when what holds it is read; copies share the program. Immutable; any thread. The only header
// that stands before RE2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace re2 {
class RE2;
}

namespace gs {

class Pattern {
 public:
  static constexpr std::size_t kMostInstructions = 262'144;

  /// Nothing: malformed, or larger than `most`. That is found out at a cost of about `most`, whatever the
  /// text is.
  [[nodiscard]] static std::optional<Pattern> compile(std::string_view text,
                                                      std::size_t most = kMostInstructions);
  /// One that matches whole texts only, whether or not it says so by ^ and $. Nothing: as compile().
  [[nodiscard]] static std::optional<Pattern> compileWhole(std::string_view text);
  /// Whether it matches anywhere in `text`, which is UTF-8: a byte that is not matches nothing.
  [[nodiscard]] bool matches(std::string_view text) const;

  /// What it took to compile, in instructions of its program: no less than these, or than its text is long.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// What matches() takes at most, for a text of so many bytes: instructions walked over, some ns for each.
  [[nodiscard]] std::uint64_t cost(std::size_t bytes) const;

 private:
  Pattern(std::shared_ptr<const re2::RE2> program, std::size_t size)
      : program_{std::move(program)}, size_{size} {}

  std::shared_ptr<const re2::RE2> program_;
  std::size_t size_;
};

}  // namespace gs
