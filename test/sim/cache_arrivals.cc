#include "test/sim/cache_arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::sim {

std::string CacheArrivals::look(Mono now, const std::vector<Due>& all) {
  std::map<Key, Mono> still;
  std::string late;
  for (const Due& due : all) {
    const Key key{due.node, due.cache, due.version};
    const auto known = since_.find(key);
    const Mono since = due.is_so || known == since_.end() ? now : known->second;
    still.emplace(key, since);
    const Mono from = std::max(since, due.hindered);
    const Duration waits_to_try = from - since;
    if (now - from <= kWithin + waits_to_try || !late.empty()) { continue; }
    late = fmt::format("{} is not {} on {}, though for {} s nothing hindered it", due.cache.text(), due.what,
                       due.node, std::chrono::duration_cast<std::chrono::seconds>(now - from).count());
  }
  since_ = std::move(still);
  return late;
}

}  // namespace gs::sim
