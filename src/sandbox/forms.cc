#include "sandbox/forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace gs::sandbox {
namespace {

using std::chrono::duration_cast;

std::string dateTime(Wall at, std::chrono::microseconds& rest) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at - day);
  rest = duration_cast<std::chrono::microseconds>(at - day - seconds);
  const long s = seconds.count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), s / 3600,
                     s / 60 % 60, s % 60);
}

/// Takes exactly `digits` digits off the front; -1 when they are not there.
int takeNumber(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) { return -1; }
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') { return -1; }
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) { return false; }
  text.remove_prefix(1);
  return true;
}

/// ".123456" -> microseconds; digits past the sixth are dropped. -1: a point without digits.
long takeFraction(std::string_view& text) {
  if (!take(text, '.')) { return 0; }
  long micros = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits) {
    if (digits < 6) { micros = micros * 10 + (text.front() - '0'); }
  }
  for (std::size_t i = digits; i < 6; ++i) { micros *= 10; }
  return digits == 0 ? -1 : micros;
}

/// "Z" or "+02:00" -> minutes; nothing when malformed or something follows.
std::optional<int> takeOffset(std::string_view text) {
  if (text == "Z" || text == "z") { return 0; }
  const bool minus = !text.empty() && text.front() == '-';
  if (!minus && (text.empty() || text.front() != '+')) { return std::nullopt; }
  text.remove_prefix(1);
  const int hours = takeNumber(text, 2);
  if (!take(text, ':')) { return std::nullopt; }
  const int minutes = takeNumber(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !text.empty()) { return std::nullopt; }
  return (minus ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

std::string timeText(Wall at) {
  std::chrono::microseconds rest{};
  return dateTime(at, rest) + "Z";
}

std::string microTimeText(Wall at) {
  std::chrono::microseconds rest{};
  std::string out = dateTime(at, rest);
  return fmt::format("{}.{:06}Z", out, rest.count());
}

std::optional<Wall> parseTime(std::string_view text) {
  const int year = takeNumber(text, 4);
  if (year < 0 || !take(text, '-')) { return std::nullopt; }
  const int month = takeNumber(text, 2);
  if (month < 0 || !take(text, '-')) { return std::nullopt; }
  const int day = takeNumber(text, 2);
  if (day < 0 || (!take(text, 'T') && !take(text, 't'))) { return std::nullopt; }
  const int hour = takeNumber(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) { return std::nullopt; }
  const int minute = takeNumber(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) { return std::nullopt; }
  const int second = takeNumber(text, 2);
  const long micros = takeFraction(text);
  const auto offset = takeOffset(text);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (second < 0 || second > 59 || micros < 0 || !offset || !date.ok()) { return std::nullopt; }
  return Wall{std::chrono::sys_days{date}} + std::chrono::hours{hour} +
         std::chrono::minutes{minute - *offset} + std::chrono::seconds{second} +
         std::chrono::microseconds{micros};
}

std::string ageText(Duration age) {
  const auto total = duration_cast<std::chrono::seconds>(age).count();
  if (total < -1) { return "<invalid>"; }
  if (total < 0) { return "0s"; }
  const auto two = [](std::int64_t a, const char* unit_a, std::int64_t b, const char* unit_b) {
    return b == 0 ? fmt::format("{}{}", a, unit_a) : fmt::format("{}{}{}{}", a, unit_a, b, unit_b);
  };
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = total / 3600;
  const std::int64_t days = hours / 24;
  if (total < 120) { return fmt::format("{}s", total); }
  if (minutes < 10) { return two(minutes, "m", total % 60, "s"); }
  if (minutes < 180) { return fmt::format("{}m", minutes); }
  if (hours < 8) { return two(hours, "h", minutes % 60, "m"); }
  if (hours < 48) { return fmt::format("{}h", hours); }
  if (days < 8) { return two(days, "d", hours % 24, "h"); }
  if (days < 365 * 2) { return fmt::format("{}d", days); }
  if (days < 365 * 8) { return two(days / 365, "y", days % 365, "d"); }
  return fmt::format("{}y", days / 365);
}

std::string ageSince(std::string_view time, Wall now) {
  const auto at = parseTime(time);
  return at ? ageText(now - *at) : "<unknown>";
}

}  // namespace gs::sandbox
