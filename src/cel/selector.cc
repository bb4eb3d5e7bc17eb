#include "cel/selector.h"

#include <fmt/core.h>

#include <utility>
#include <variant>

#include "base/utf8.h"
#include "cel/evaluate.h"
#include "cel/parser.h"

namespace gs::cel {
namespace {

/// As Kubernetes bounds it where selectors are stored.
constexpr std::size_t kMaxText = 10 * 1024;

tl::unexpected<Error> refused(std::string_view text, std::string_view why) {
  constexpr std::size_t kShown = 120;
  const bool long_text = text.size() > kShown;
  return fail(Code::Invalid,
              fmt::format("selector `{}{}`: {}", utf8Prefix(text, kShown), long_text ? "..." : "", why));
}

}  // namespace

Selector::Selector(std::shared_ptr<const Program> program) : program_{std::move(program)} {}

Result<Selector> Selector::parse(std::string_view text) {
  std::size_t patterns_left = kMaxPatterns;
  return parse(text, patterns_left);
}

Result<Selector> Selector::parse(std::string_view text, std::size_t& patterns_left) {
  if (text.size() > kMaxText) {
    return refused(text, fmt::format("it has {} bytes; at most {} are served", text.size(), kMaxText));
  }
  if (!isUtf8(text)) { return fail(Code::Invalid, "a selector that is not UTF-8"); }
  auto program = cel::parse(std::string{text}, patterns_left);
  if (!program) { return refused(text, program.error().message); }
  return Selector{std::make_shared<const Program>(std::move(*program))};
}

Outcome Selector::matches(std::string_view driver, const model::SliceDevice& device,
                          std::uint64_t* cost) const {
  std::uint64_t took = 0;
  Value result = evaluate(*program_, driver, device, took);
  if (cost != nullptr) { *cost += took; }
  if (auto* fault = std::get_if<Fault>(&result)) { return Outcome{false, std::move(fault->text)}; }
  return Outcome{std::get<bool>(result), ""};
}

const std::string& Selector::text() const { return program_->text; }

}  // namespace gs::cel
