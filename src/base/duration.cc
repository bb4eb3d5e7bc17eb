#include "base/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace gs {
namespace {

constexpr double kDay = 24 * 3600e9;  // ns

/// Nanoseconds of one unit; 0: no unit of ours.
double scaleOf(std::string_view unit) {
  return unit == "ms" ? 1e6 : unit == "s" ? 1e9 : unit == "m" ? 60e9 : unit == "h" ? 3600e9 : 0;
}

}  // namespace

Result<Duration> parseDuration(std::string_view text) {
  constexpr std::string_view kOfNumbers = "0123456789.";
  double ns = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t digits = std::min(rest.find_first_not_of(kOfNumbers), rest.size());
    const std::size_t end = std::min(rest.find_first_of(kOfNumbers, digits), rest.size());
    double n = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + digits, n);
    const double scale = scaleOf(rest.substr(digits, end - digits));
    if (error != std::errc{} || stop != rest.data() + digits || scale == 0) {
      return fail(Code::Invalid, fmt::format("'{}' is not a duration; write such as 5s or 500ms", text));
    }
    ns += n * scale;
    rest.remove_prefix(end);
  }
  if (!(ns >= 1)) {
    return fail(Code::Invalid, fmt::format("'{}' is no time at all; write such as 5s", text));
  }
  if (ns > kDay) { return fail(Code::Invalid, fmt::format("'{}' is over a day", text)); }
  return Duration{static_cast<Duration::rep>(ns)};
}

std::string printDuration(Duration duration) {
  std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  std::string out;
  const auto take = [&](std::int64_t unit, const char* name) {
    if (ms < unit) { return; }
    out += fmt::format("{}{}", ms / unit, name);
    ms %= unit;
  };
  take(3'600'000, "h");
  take(60'000, "m");
  take(1'000, "s");
  take(1, "ms");
  return out.empty() ? "0s" : out;
}

}  // namespace gs
