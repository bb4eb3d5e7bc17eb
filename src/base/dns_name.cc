#include "base/dns_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace gs {
namespace {

constexpr std::size_t kMostOfALabel = 63;
constexpr std::size_t kMostOfASubdomain = 253;

bool isAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool hasFormOfDnsLabel(std::string_view name) {
  return !name.empty() && isAlnum(name.front()) && isAlnum(name.back()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return isAlnum(c) || c == '-'; });
}

bool hasFormOfDnsSubdomain(std::string_view name) {
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    if (!hasFormOfDnsLabel(name.substr(at, end - at))) { return false; }
    at = end + 1;
  }
  return true;
}

bool isDnsLabel(std::string_view name) { return name.size() <= kMostOfALabel && hasFormOfDnsLabel(name); }
bool isDnsSubdomain(std::string_view name) {
  return name.size() <= kMostOfASubdomain && hasFormOfDnsSubdomain(name);
}

Result<std::string> nodeNameOfHost(std::string_view host) {
  std::string out = inLowerCase(host);
  if (isDnsSubdomain(out)) { return out; }
  return fail(Code::Invalid, fmt::format("'{}' is no name of a Node: {}", host, kDnsSubdomainRule));
}

}  // namespace gs
