#include "base/short_name.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace gs {
namespace {

constexpr std::size_t kShortDigits = 10;

}  // namespace

std::string_view beginningOf(std::string_view name, std::size_t most) {
  name = name.substr(0, most);
  return name.substr(0, name.find_last_not_of("-._") + 1);
}

std::string hashOf(std::string_view name, std::size_t digits) { return sha256Hex(name).substr(0, digits); }

std::string shortName(std::string_view name, std::size_t most) {
  if (name.size() <= most) { return std::string{name}; }
  return fmt::format("{}-{}", beginningOf(name, most - 1 - kShortDigits), hashOf(name, kShortDigits));
}

}  // namespace gs
