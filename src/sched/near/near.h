// Near: which pods are there, for what waiting pods say of other pods (NearRules): required affinity and
// anti-affinity, and how their like are spread. It does not look at all pods, nor at all nodes, for a
// decision: for the rules of each class that waits it keeps the counts of the pods that they mean, by domain
// (Standing), as pods and nodes come and go, and tells the ledger which nodes a change concerns.
//
// The pods that are there are in groups (PodGroups), each of which knows the rules that mean it. So a pod
// that comes or goes is compared with nothing, unless it is the first of its group.
// A pod is there from the moment at which it is reserved on a node: whoever feeds this sees to that, so that
// two decisions, one right after the other, know of each other.
// A standing is made when a class first says such rules, with a look at the groups of the namespaces that
// they mean (a few ns each) and at the nodes; it goes with its last holder. One namespace may say
// kMostOfOneNamespace different rules at once, all of them kMost, with kMatchers matchers of each on average:
// a rule is memory, and a matcher perhaps a comparison for each new group of pods, and a count for each pod.
// Rules that are wishes only get half of that room: who has none of it left goes without them. When a quarter
// of it is taken (isCrowded()), whoever keeps rules that nobody waits with any more is to let them go.
//
// Cost of a pod: O(its labels + rules that mean it). Of the first pod of a group: a comparison with the rules
// that its labels lead to, and with those that ask for no label. Of a node whose labels or taints change:
// O(standings), and O(pods there * rules that mean them). Of a Namespace whose labels change: O(standings),
// and a look at its groups for each whose verdict changes. The ledger must outlive it, and it the use of what
// it gives. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "model/label_selector.h"
#include "model/pod_labels.h"
#include "sched/ledger/ledger.h"
#include "sched/near/likings.h"
#include "sched/near/matcher.h"
#include "sched/near/near_nodes.h"
#include "sched/near/pod_groups.h"
#include "sched/near/standing.h"
#include "sched/near/topology_keys.h"
#include "sched/request/near_rules.h"

namespace gs::sched {

/// What is said of a pod that is there: two with the same are the same to everybody.
struct NearPod {
  std::string ns;
  model::PodLabels labels;
  model::NodeName node;
  bool leaving = false;  // it has a deletionTimestamp
  friend bool operator==(const NearPod&, const NearPod&) = default;
};

class Near {
 public:
  static constexpr std::size_t kMost = 16'384;
  static constexpr std::size_t kMostOfOneNamespace = 1'024;
  static constexpr std::size_t kMatchers = 2;
  /// So many of looks() take as long as a look of the Decider's, about.
  static constexpr std::uint64_t kPerLook = 4;

  explicit Near(Ledger& ledger, std::size_t nodes_of_wide = TopologyKey::kNodesOfWide)
      : ledger_{ledger}, keys_{ledger, nodes_, nodes_of_wide} {}
  Near(const Near&) = delete;
  Near& operator=(const Near&) = delete;

  /// One more such pod is there, or one fewer. Its node need not be known.
  void put(const NearPod& pod);
  void take(const NearPod& pod);
  /// What pods that are there would like of those that come; true when one of these wishes is new.
  bool like(const model::Uid& uid, const std::string& ns, const model::NodeName& node,
            const std::vector<model::PreferredPodTerm>& terms) {
    return !(terms.empty() && likings_.empty()) && likings_.put(uid, ns, node, terms);
  }
  void unlike(const model::Uid& uid) { likings_.remove(uid); }
  /// Which of these mean such a pod, for NearRules::liked_by.
  [[nodiscard]] std::vector<model::TermId> liking(const std::string& ns, const model::Labels& labels,
                                                  const model::Labels& ns_labels) const {
    return likings_.meaning(ns, labels, ns_labels);
  }
  [[nodiscard]] bool likesSome() const { return !likings_.empty(); }

  /// The node came, went, or is another. Call it after the ledger knows.
  void nodeChanged(const model::NodeName& name);
  /// nullptr: there is no such Namespace any more.
  void namespaceChanged(const std::string& ns, const model::Labels* labels);
  /// Of the Namespace; nullptr: none is known.
  [[nodiscard]] const model::Labels* labelsOf(const std::string& ns) const;

  /// One for equal rules. nullptr: too many others are there.
  [[nodiscard]] std::shared_ptr<const NearStanding> standingOf(const std::shared_ptr<const NearRules>& rules);
  /// What the request asks gets its standing. False: it has none, for there are too many; where these are
  /// wishes only, it asks nothing from now on.
  [[nodiscard]] bool bind(NearAsked& asked);

  [[nodiscard]] std::size_t standings() const { return standings_.size(); }
  /// A quarter of the room of a namespace, or of all of it, is taken.
  [[nodiscard]] bool isCrowded() const;
  /// What all of this has cost so far, in groups compared with a rule, nodes looked at for one, names in
  /// rules that were asked for, and terms that a pod was compared with.
  [[nodiscard]] std::uint64_t looks() const { return looks_ + keys_.looks() + likings_.looks(); }

 private:
  using Number = Standing::Number;
  using Tallies = std::unordered_map<Number, Standing::Tally>;
  struct Used {
    std::size_t rules = 0;
    std::size_t matchers = 0;  // of these
    void add(std::size_t its) {
      ++rules;
      matchers += its;
    }
    void remove(std::size_t its) {
      --rules;
      matchers -= its;
    }
    /// For one rule more with so many, where `most` rules may be.
    [[nodiscard]] bool hasRoom(std::size_t more, std::size_t most) const {
      return rules < most && matchers + more <= kMatchers * most;
    }
  };

  [[nodiscard]] Standing* find(Number number) const {
    const auto it = standings_.find(number);
    return it == standings_.end() ? nullptr : it->second;
  }
  [[nodiscard]] Standing* known(const NearRules& rules, std::size_t hash) const;
  std::shared_ptr<Standing> make(const std::shared_ptr<const NearRules>& rules, std::size_t hash);
  void drop(const Standing& standing);
  void meet(Standing& standing);
  void meet(Standing& standing, std::size_t matcher, const PodGroups::Namespace& there, bool more);
  void count(Standing& standing, std::size_t matcher, const PodGroup& group, int sign);
  void match(PodGroup& group);
  void tidy(PodGroup& group) const;
  void change(PodGroup& group, NearNode node, int all, int staying);
  [[nodiscard]] Tallies talliesOf(NearNode node) const;
  void settleOthers(const std::vector<Standing*>& changed);

  Ledger& ledger_;
  NearNodes nodes_;
  TopologyKeys keys_;
  Likings likings_{nodes_, keys_};
  PodGroups groups_;
  MatcherIndex index_;
  Standing::Namespaces namespaces_;
  std::map<Number, Standing*> standings_;
  std::unordered_multimap<std::size_t, Standing*> by_hash_;  // of their rules
  std::unordered_map<std::string, Used> of_namespace_;
  Used all_;
  Number next_ = 1;
  std::uint64_t looks_ = 0;
  /// So that a standing that outlives this knows it.
  std::shared_ptr<Near*> self_ = std::make_shared<Near*>(this);
};

}  // namespace gs::sched
