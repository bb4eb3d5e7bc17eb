// Regular expressions that come from outside (schemas of CRDs, policies): what Go's regexp takes, which is
// RE2's language, matched by RE2 in time linear in the text.
//
// Problem: patterns and texts come from outside, and std::regex is slow and recurses without bound. Both the
// length of a pattern and the memory of its program are bounded here.
// Compiled once, when what holds it is read; copies share the program. Immutable; any thread. The only header
// that stands before RE2.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

namespace re2 {
class RE2;
}

namespace gs {

class Pattern {
 public:
  /// Nothing: malformed, or too large.
  [[nodiscard]] static std::optional<Pattern> compile(std::string_view text);
  /// One that matches whole texts only, whether or not it says so by ^ and $. Nothing: as compile().
  [[nodiscard]] static std::optional<Pattern> compileWhole(std::string_view text);
  /// Whether it matches anywhere in `text`, which is UTF-8: a byte that is not matches nothing.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> program) : program_{std::move(program)} {}

  std::shared_ptr<const re2::RE2> program_;
};

}  // namespace gs
