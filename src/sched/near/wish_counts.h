// What a class of waiting pods would like of other pods, in numbers (the wishes of NearRules): preferred
// affinity and anti-affinity, its own and that of pods which are there (Likings), and spread with
// ScheduleAnyway. Part of a Standing, which tells it of pods and nodes; nobody is told of its changes, for
// they refuse no node.
//
// Counts are kept by domain. Of the topology key kubernetes.io/hostname spread counts by node, whatever the
// label says, as kube-scheduler does. Cost of a pod: O(1). Of a question: O(nodes asked, and domains with
// pods of the wishes). One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/node.h"
#include "sched/ledger/ledger.h"
#include "sched/near/eligible.h"
#include "sched/near/likings.h"
#include "sched/near/matcher.h"
#include "sched/near/near_nodes.h"
#include "sched/near/topology_keys.h"
#include "sched/request/near_rules.h"
#include "sched/request/near_standing.h"

namespace gs::sched {

class WishCounts {
 public:
  /// All must outlive it. Adds its matchers: of each preferred term, then of each spread rule.
  WishCounts(const NearRules& rules, const std::vector<std::string>& own_namespace, TopologyKeys& keys,
             const NearNodes& nodes, const Likings& likings, std::vector<Matcher>& matchers);

  /// So many pods more that its matcher `matcher` means are on that existing node.
  void count(std::size_t matcher, NearNode node, std::int64_t all, std::int64_t staying);
  [[nodiscard]] bool isOtherAt(NearNode node, const model::Node* facts) const;
  /// Before its keys change, and after; with the pods there by matcher. nullptr: it does not exist.
  void leave(NearNode node, const NearPods* there);
  void enter(NearNode node, const model::Node* facts, const NearPods* there);

  [[nodiscard]] std::uint64_t version() const { return version_ + likings_.version(); }
  /// See NearStanding::wishes().
  [[nodiscard]] std::vector<NearWish> of(const std::vector<Ledger::NodeIndex>& nodes) const;

 private:
  struct Preferred {
    std::int32_t weight = 0;
    const TopologyKey* key = nullptr;
    PodsByDomain pods{};
  };
  struct Spread {
    const TopologyKey* key = nullptr;
    std::int32_t max_skew = 1;
    bool is_by_node = false;
    std::unordered_map<std::uint32_t, std::int64_t> pods{};  // by domain, or by node
  };
  /// By topology key, what each domain has.
  struct Sums {
    const TopologyKey* key = nullptr;
    std::vector<std::int64_t> of{};
  };
  using Nodes = std::vector<NearNode>;

  static constexpr EligibleFor kExists = EligibleFor{1} << (kMostSpreads - 1);
  [[nodiscard]] EligibleFor eligibilityOf(const model::Node* facts) const;
  [[nodiscard]] EligibleFor eligibleAt(NearNode node) const {
    return node < eligible_.size() ? eligible_[node] : EligibleFor{0};
  }
  void addAll(NearNode node, const NearPods* there, int sign);
  [[nodiscard]] std::vector<Sums> sums() const;
  void addBeside(const Nodes& nodes, std::vector<NearWish>& out) const;
  [[nodiscard]] std::size_t sizeOf(const Spread& spread, const Nodes& nodes,
                                   const std::vector<NearWish>& wishes) const;

  const NearRules& rules_;
  const NearNodes& nodes_;
  const Likings& likings_;
  std::vector<Preferred> preferred_;
  std::vector<Spread> spread_;
  std::vector<EligibleFor> eligible_;  // by node; with kExists
  std::uint64_t version_ = 0;
};

}  // namespace gs::sched
