#include "apiserver/present/age.h"

#include <fmt/core.h>

#include <cstdint>

#include "kapi/time.h"

namespace gs::apiserver {

std::string ageText(Duration age) {
  const auto total = std::chrono::duration_cast<std::chrono::seconds>(age).count();
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
  const auto at = kapi::parseTime(time);
  return at ? ageText(now - *at) : "<unknown>";
}

}  // namespace gs::apiserver
