#include "pattern/pattern.h"

#include <re2/re2.h>

#include <string>
#include <utility>

namespace gs {
namespace {

constexpr std::size_t kMaxLength = 20'000;
/// A quarter of it is for the program, 65,536 instructions; the rest for what matching remembers.
constexpr std::int64_t kMaxMemory = 4 << 20;

}  // namespace

std::optional<Pattern> Pattern::compile(std::string_view text) {
  if (text.size() > kMaxLength) { return std::nullopt; }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMaxMemory);
  auto program = std::make_shared<const re2::RE2>(re2::StringPiece{text.data(), text.size()}, options);
  if (!program->ok()) { return std::nullopt; }
  return Pattern{std::move(program)};
}

std::optional<Pattern> Pattern::compileWhole(std::string_view text) {
  if (!compile(text)) { return std::nullopt; }  // "a)|(b" would be one between parentheses
  return compile("\\A(?:" + std::string{text} + ")\\z");
}

bool Pattern::matches(std::string_view text) const {
  return program_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace gs
