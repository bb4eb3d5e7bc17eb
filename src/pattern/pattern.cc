#include "pattern/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>

namespace gs {
namespace {

constexpr std::size_t kMaxLength = 20'000;
/// RE2 takes a program with an instruction for each 16 bytes of its memory; the rest is for what matching
/// remembers, without which it is slow.
constexpr std::size_t kMemoryOfInstruction = 16;
constexpr std::size_t kLeastMemory = std::size_t{64} << 10U;
/// Any pattern takes a few kilobytes, however short it is.
constexpr std::size_t kLeastSize = 64;
/// Reading \p{L}, or another class of Unicode, takes as long as so many instructions.
constexpr std::size_t kSizeOfClass = 256;
/// RE2 refuses more repetitions.
constexpr std::size_t kMostTimes = 1000;

/// What can be told of a pattern before RE2 reads it, which reads all of it before it counts.
struct Estimate {
  std::size_t read = 0;   // reading it takes as much, in instructions
  std::size_t times = 0;  // the counts of {} together: no fewer instructions, unless "{" is meant as such

  explicit Estimate(std::string_view text) : read{std::max(text.size(), kLeastSize)} {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
        const char escaped = i < text.size() ? text[i] : '\0';
        if (escaped == 'p' || escaped == 'P') { read += kSizeOfClass; }
        if (escaped == 'x' && text.substr(i + 1, 1) == "{") { ++i; }  // a character by its number
      } else if (text[i] == '{') {
        times += timesAt(text.substr(i + 1));
      }
    }
  }

 private:
  /// Of "3}...", "3,}..." or "3,5}...": the larger number. 0: no repetition begins there.
  static std::size_t timesAt(std::string_view text) {
    if (text.starts_with(',')) { return 0; }
    std::size_t most = 0;
    std::size_t number = 0;
    for (const char c : text) {
      if (c == '}') { return std::max(most, number); }
      if (c == ',') {
        most = std::max(most, std::exchange(number, 0));
      } else if (c >= '0' && c <= '9') {
        number = std::min(number * 10 + static_cast<std::size_t>(c - '0'), kMostTimes + 1);
      } else {
        return 0;
      }
    }
    return 0;
  }
};

}  // namespace

std::optional<Pattern> Pattern::compile(std::string_view text, std::size_t most) {
  if (text.size() > kMaxLength) { return std::nullopt; }
  const Estimate estimate{text};
  if (std::max(estimate.read, estimate.times) > most) { return std::nullopt; }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(static_cast<std::int64_t>(
      std::max(std::min(most, kMostInstructions) * kMemoryOfInstruction, kLeastMemory)));
  auto program = std::make_shared<const re2::RE2>(re2::StringPiece{text.data(), text.size()}, options);
  if (!program->ok()) { return std::nullopt; }
  const std::size_t size = std::max(estimate.read, static_cast<std::size_t>(program->ProgramSize()));
  if (size > most) { return std::nullopt; }
  return Pattern{std::move(program), size};
}

std::optional<Pattern> Pattern::compileWhole(std::string_view text) {
  if (!compile(text)) { return std::nullopt; }  // "a)|(b" would be one between parentheses
  return compile("\\A(?:" + std::string{text} + ")\\z");
}

bool Pattern::matches(std::string_view text) const {
  return program_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

std::uint64_t Pattern::cost(std::size_t bytes) const {
  return static_cast<std::uint64_t>(program_->ProgramSize()) * (bytes + 1);
}

}  // namespace gs
