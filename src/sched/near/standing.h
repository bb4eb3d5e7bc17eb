// How the rules of one class of pods stand: the counts of the pods that they mean, by domain, and what
// follows for nodes (sched/request/near_standing.h). Made, kept and told of pods and nodes by Near.
//
// Affinity: `near_` counts, for each topology key, the pods that all of the terms mean; where there are none
// at all and the pod means itself, it is the first of its group and may go wherever the labels are.
// Memory: of affinity, an entry for each domain with a pod that is meant; of spread, one for each domain.
// Cost: of a pod, O(keys of the rule that means it), and what closes or opens by it; of a node, O(rules) and
// what its labels and taints take to be compared. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/node.h"
#include "sched/ledger/ledger.h"
#include "sched/near/eligible.h"
#include "sched/near/matcher.h"
#include "sched/near/near_nodes.h"
#include "sched/near/spread_counts.h"
#include "sched/near/topology_keys.h"
#include "sched/near/wish_counts.h"
#include "sched/request/near_rules.h"
#include "sched/request/near_standing.h"

namespace gs::sched {

class Standing final : public NearStanding, public std::enable_shared_from_this<Standing> {
 public:
  using Number = std::uint64_t;

  using Namespaces = std::unordered_map<std::string, model::Labels>;  // their labels

  /// `keys`: with those of the rules. All live longer.
  Standing(Number number, std::shared_ptr<const NearRules> rules, Ledger& ledger, const NearNodes& nodes,
           const Namespaces& namespaces, TopologyKeys& keys, const Likings& likings);

  [[nodiscard]] Number number() const { return number_; }
  [[nodiscard]] const NearRules& rules() const { return *rules_; }
  [[nodiscard]] static std::vector<std::string> keysOf(const NearRules& rules);  // each once
  /// Nodes count for it as such, with no pod on them.
  [[nodiscard]] bool spreads() const { return !rules_->spread.empty() || !rules_->spread_anyway.empty(); }
  /// Affinity, if there is some, then each anti-affinity term, then each spread rule, then those of wishes.
  [[nodiscard]] const std::vector<Matcher>& matchers() const { return matchers_; }
  /// How many these rules have.
  [[nodiscard]] static std::size_t countMatchers(const NearRules& rules);

  /// So many pods more (or fewer, below 0) that the matcher means are on that existing node.
  void count(std::size_t matcher, NearNode node, std::int64_t all, std::int64_t staying);
  /// Whether the pod's own namespace is one of those that its affinity means.
  void meansOwnNamespace(bool means);

  /// Something that the rules look at is another than is known of that node. nullptr: it does not exist.
  [[nodiscard]] bool isOtherAt(NearNode node, const model::Node* facts) const;
  /// The pods there that each matcher means.
  using Tally = std::vector<NearPods>;
  /// To be called before its keys are set, and after; with the same pods.
  void leave(NearNode node, const Tally& there);
  void enter(NearNode node, const model::Node* facts, const Tally& there);
  /// Nodes left or entered, or a key of it became wide or is so no more.
  void settle();
  /// From now on changes are told.
  void built() { is_built_ = true; }

  [[nodiscard]] std::optional<Reason> spreadAt(Node node, NearPart part) const override;
  [[nodiscard]] std::optional<Reason> nearAt(Node node, NearPart part) const override;
  [[nodiscard]] bool lacksCompany() const override {
    return !near_.empty() && near_domains_ == 0 && !is_first_;
  }
  [[nodiscard]] std::shared_ptr<NearStandingIf> ifOthersWere(Node node) const override;
  [[nodiscard]] std::uint64_t versionAt(Node node) const override;
  [[nodiscard]] std::uint64_t epoch() const override { return epoch_; }
  [[nodiscard]] const NearCells& cells() const override;
  [[nodiscard]] NearCellSet openCells() const override;
  [[nodiscard]] bool hasWishes() const override { return wishes_.has_value(); }
  [[nodiscard]] std::uint64_t wishesVersion() const override { return wishes_ ? wishes_->version() : 0; }
  [[nodiscard]] std::vector<NearWish> wishes(const std::vector<Node>& nodes) const override {
    return wishes_ ? wishes_->of(nodes) : std::vector<NearWish>(nodes.size());
  }

 private:
  friend class StandingIf;
  struct KeyUse {
    std::string name;
    TopologyKey* key = nullptr;
    bool is_wide = false;                                    // for these rules
    std::unordered_map<DomainId, std::uint64_t> versions{};  // of the last changes, while it is
  };
  struct Counts {
    std::size_t key = 0;
    std::unordered_map<DomainId, std::int64_t> pods{};  // where there are some
  };
  struct Spread {
    std::size_t key = 0;
    SpreadCounts counts;
  };
  using CellDomains = std::vector<DomainId>;  // by wide key

  [[nodiscard]] std::size_t useOf(const std::string& key, TopologyKeys& keys);
  [[nodiscard]] EligibleFor eligibilityOf(const model::Node* facts) const {
    return eligibleFor(rules_->spread, true, *rules_, facts);
  }
  [[nodiscard]] const NearPods* ofWishes(const Tally& there) const;
  [[nodiscard]] std::size_t firstSpread() const { return (near_.empty() ? 0 : 1) + apart_.size(); }
  [[nodiscard]] EligibleFor eligibleAt(NearNode node) const {
    return node < eligible_.size() ? eligible_[node] : EligibleFor{0};
  }
  [[nodiscard]] DomainId domainOf(std::size_t use, NearNode node) const { return uses_[use].key->at(node); }
  int add(Counts& counts, NearNode node, std::int64_t pods);
  void addNear(NearNode node, std::int64_t pods);
  void addSpread(std::size_t spread, NearNode node, std::int64_t nodes, std::int64_t pods);
  void addAll(NearNode node, const Tally& there, int sign);
  void turned(KeyUse& use, DomainId domain);
  void allChanged();
  void findFirst();
  template <class Asked, class DomainOf>
  [[nodiscard]] std::optional<Reason> spreadBy(const Asked& asked, const DomainOf& domain_of) const;
  template <class Asked, class DomainOf>
  [[nodiscard]] std::optional<Reason> nearBy(const Asked& asked, const DomainOf& domain_of) const;
  [[nodiscard]] bool isAsked(std::size_t use, NearPart part) const {
    return part == NearPart::All || !uses_[use].is_wide;
  }

  Number number_;
  std::shared_ptr<const NearRules> rules_;
  Ledger& ledger_;
  const NearNodes& nodes_;
  const Namespaces& namespaces_;
  std::vector<std::string> own_namespace_;
  std::vector<Matcher> matchers_;
  std::vector<KeyUse> uses_;
  std::vector<Counts> near_;  // by key
  std::vector<Counts> apart_;
  std::vector<Spread> spread_;
  std::optional<WishCounts> wishes_;
  std::vector<EligibleFor> eligible_;  // by node
  std::int64_t near_domains_ = 0;      // with a pod, of all keys of near_
  bool means_own_namespace_ = false;
  bool is_first_ = false;
  bool is_built_ = false;
  std::uint64_t epoch_ = 1;
  std::uint64_t all_version_ = 0;
  mutable NearCells cells_;
  mutable std::vector<CellDomains> cell_domains_;  // by cell
  mutable bool knows_cells_ = false;
};

}  // namespace gs::sched
