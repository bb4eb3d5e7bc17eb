#include "kapi/time.h"

#include <fmt/core.h>

#include <charconv>

namespace gs::kapi {
namespace {

using std::chrono::days;
using std::chrono::microseconds;

/// Takes exactly `digits` digits off the front; -1 when they are not there.
int takeNumber(std::string_view& s, std::size_t digits) {
  int number = 0;
  if (s.size() < digits || s[0] < '0' || s[0] > '9') { return -1; }
  const auto [end, error] = std::from_chars(s.data(), s.data() + digits, number);
  if (error != std::errc{} || end != s.data() + digits) { return -1; }
  s.remove_prefix(digits);
  return number;
}

bool takeOne(std::string_view& s, std::string_view any_of) {
  if (s.empty() || any_of.find(s[0]) == std::string_view::npos) { return false; }
  s.remove_prefix(1);
  return true;
}

/// ".123456789" -> 123456; an absent fraction is 0.
std::optional<microseconds> takeFraction(std::string_view& s) {
  if (!takeOne(s, ".")) { return microseconds{0}; }
  int micros = 0;
  int scale = 100'000;
  std::size_t digits = 0;
  for (; digits < s.size() && s[digits] >= '0' && s[digits] <= '9'; ++digits) {
    micros += (s[digits] - '0') * scale;
    scale /= 10;
  }
  if (digits == 0) { return std::nullopt; }
  s.remove_prefix(digits);
  return microseconds{micros};
}

/// "Z" or "+02:00".
std::optional<std::chrono::minutes> takeOffset(std::string_view& s) {
  if (takeOne(s, "Zz")) { return std::chrono::minutes{0}; }
  const bool west = !s.empty() && s[0] == '-';
  if (!takeOne(s, "+-")) { return std::nullopt; }
  const int hours = takeNumber(s, 2);
  const bool colon = takeOne(s, ":");
  const int minutes = takeNumber(s, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) { return std::nullopt; }
  return std::chrono::minutes{(west ? -1 : 1) * (hours * 60 + minutes)};
}

std::string text(Wall t, bool with_micros) {
  const auto day = std::chrono::floor<days>(t);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<microseconds> clock{t - day};
  const std::string seconds =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  return with_micros ? fmt::format("{}.{:06}Z", seconds, clock.subseconds().count()) : seconds + "Z";
}

}  // namespace

std::string timeText(Wall t) { return text(t, false); }
std::string microTimeText(Wall t) { return text(t, true); }

std::optional<Wall> parseTime(std::string_view s) {
  const int year = takeNumber(s, 4);
  const bool dash1 = takeOne(s, "-");
  const int month = takeNumber(s, 2);
  const bool dash2 = takeOne(s, "-");
  const int day = takeNumber(s, 2);
  const bool middle = takeOne(s, "Tt");
  const int hour = takeNumber(s, 2);
  const bool colon1 = takeOne(s, ":");
  const int minute = takeNumber(s, 2);
  const bool colon2 = takeOne(s, ":");
  const int second = takeNumber(s, 2);
  if (!dash1 || !dash2 || !middle || !colon1 || !colon2) { return std::nullopt; }
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  const auto fraction = takeFraction(s);
  const auto offset = fraction ? takeOffset(s) : std::nullopt;
  if (year < 1 || month < 1 || day < 1 || !date.ok() || !offset || !s.empty()) { return std::nullopt; }
  return Wall{std::chrono::sys_days{date}.time_since_epoch()} + std::chrono::hours{hour} +
         std::chrono::minutes{minute} + std::chrono::seconds{second} + *fraction - *offset;
}

}  // namespace gs::kapi
