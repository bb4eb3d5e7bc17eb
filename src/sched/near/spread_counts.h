// The counts of one spread rule: how many pods that it means are in each domain, and which domains may not
// get one more (kube-scheduler's PodTopologySpread filter).
//
// A domain counts while an eligible node is in it. It is closed when its pods, and the pod that asks if it is
// one of them, are more than `max_skew` above the fewest of any domain; where there are fewer domains than
// `min_domains`, above 0. Every change tells which domains it closed or opened.
// Cost: O(log different counts), and O(domains that close or open). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sched/near/topology_key.h"
#include "sched/request/near_rules.h"

namespace gs::sched {

class SpreadCounts {
 public:
  using Domains = std::vector<DomainId>;

  explicit SpreadCounts(const SpreadRule& rule)
      : min_domains_{static_cast<std::size_t>(rule.min_domains)},
        above_least_{std::int64_t{rule.max_skew} - (rule.counts_itself ? 1 : 0)} {}

  [[nodiscard]] bool isClosed(DomainId domain) const {
    return domain < domains_.size() && domains_[domain].pods > most();
  }
  /// The same if so many pods more were there; below 0: fewer.
  [[nodiscard]] bool isClosedWith(DomainId domain, std::int64_t more) const;
  /// So many eligible nodes more or fewer, and pods on them. Adds to `turned` the domains that closed or
  /// opened.
  void change(DomainId domain, std::int64_t nodes, std::int64_t pods, Domains& turned);

 private:
  struct Domain {  // there may be one for each node, for each rule
    std::int32_t pods = 0;
    std::int32_t nodes = 0;
    std::uint32_t place = 0;  // in by_pods_
  };
  /// Domains with more pods are closed.
  [[nodiscard]] std::int64_t most() const {
    const bool few = by_pods_.empty() || counted_ < min_domains_;
    return above_least_ + (few ? 0 : by_pods_.begin()->first);
  }
  void enlist(DomainId domain);
  void strike(DomainId domain);

  std::size_t min_domains_;
  std::int64_t above_least_;
  std::vector<Domain> domains_;              // by id
  std::map<std::int64_t, Domains> by_pods_;  // those with a node
  std::size_t counted_ = 0;                  // these
};

}  // namespace gs::sched
