#include "base/dns_name.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::size_t kMostOfALabel = 63;
constexpr std::size_t kMostOfASubdomain = 253;

bool isAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool isPart(std::string_view text) {
  return !text.empty() && isAlnum(text.front()) && isAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return isAlnum(c) || c == '-'; });
}

}  // namespace

bool isDnsLabel(std::string_view name) { return name.size() <= kMostOfALabel && isPart(name); }

bool isDnsSubdomain(std::string_view name) {
  if (name.size() > kMostOfASubdomain) { return false; }
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    if (!isPart(name.substr(at, end - at))) { return false; }
    at = end + 1;
  }
  return true;
}

}  // namespace gs
