#include "sched/near/spread_counts.h"

#include <algorithm>

namespace gs::sched {

void SpreadCounts::enlist(DomainId domain) {
  Domains& same = by_pods_[domains_[domain].pods];
  domains_[domain].place = static_cast<std::uint32_t>(same.size());
  same.push_back(domain);
  ++counted_;
}

void SpreadCounts::strike(DomainId domain) {
  const auto same = by_pods_.find(domains_[domain].pods);
  const std::uint32_t place = domains_[domain].place;
  same->second[place] = same->second.back();
  domains_[same->second[place]].place = place;
  same->second.pop_back();
  if (same->second.empty()) { by_pods_.erase(same); }
  --counted_;
}

bool SpreadCounts::isClosedWith(DomainId domain, std::int64_t more) const {
  if (more == 0 || domain >= domains_.size() || domains_[domain].nodes == 0) { return isClosed(domain); }
  const std::int64_t pods = domains_[domain].pods + more;
  std::int64_t least = 0;
  if (counted_ >= min_domains_) {
    auto fewest = by_pods_.begin();
    const bool is_alone = fewest->second.size() == 1 && fewest->second.front() == domain;
    if (is_alone) { ++fewest; }
    least = fewest == by_pods_.end() ? pods : std::min(pods, fewest->first);
  }
  return pods > above_least_ + least;
}

void SpreadCounts::change(DomainId domain, std::int64_t nodes, std::int64_t pods, Domains& turned) {
  if (domain >= domains_.size()) { domains_.resize(domain + 1); }
  Domain& of = domains_[domain];
  const std::int64_t before = most();
  const bool was_closed = of.pods > before;
  if (of.nodes > 0) { strike(domain); }
  of.nodes += static_cast<std::int32_t>(nodes);
  of.pods += static_cast<std::int32_t>(pods);
  if (of.nodes > 0) { enlist(domain); }
  const std::int64_t now = most();
  if (was_closed != (of.pods > now)) { turned.push_back(domain); }
  const auto end = by_pods_.upper_bound(std::max(before, now));
  for (auto same = by_pods_.upper_bound(std::min(before, now)); same != end; ++same) {
    for (const DomainId other : same->second) {
      if (other != domain) { turned.push_back(other); }
    }
  }
}

}  // namespace gs::sched
