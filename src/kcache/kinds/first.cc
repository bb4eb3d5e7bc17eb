#include "kcache/kinds/first.h"

#include "base/dns_name.h"
#include "kapi/time.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kMostOfATime = 40;

}  // namespace

bool FetchFirst::counts(Wall now) const { return until() > now && asked < now + kFirstFor; }

std::optional<FetchFirst> parseFirst(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank > kMostOfATime) { return std::nullopt; }
  const auto asked = kapi::parseTime(text.substr(0, blank));
  if (!asked) { return std::nullopt; }
  FetchFirst out{*asked, {}};
  for (std::string_view rest = text.substr(blank + 1);;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    if (!isDnsSubdomain(name) || out.caches.size() == kMostFirst) { return std::nullopt; }
    out.caches.emplace_back(name);
    if (comma == std::string_view::npos) { return out; }
    rest.remove_prefix(comma + 1);
  }
}

std::string printFirst(const FetchFirst& first) {
  std::string out = kapi::timeText(first.asked);
  for (std::size_t i = 0; i < first.caches.size(); ++i) { out += (i == 0 ? " " : ",") + first.caches[i]; }
  return out;
}

}  // namespace gs::kcache
