// What a waiting pod says of other pods: which it must be near, which it must not, and how its like are to be
// spread (core/v1 PodAffinity, PodAntiAffinity, TopologySpreadConstraint with DoNotSchedule); and what it
// would like but does without (the preferred ones, ScheduleAnyway). Values, with all that decides them: two
// pods whose rules are equal may go to the same nodes. How they stand is told by NearStanding, which whoever
// knows the pods that are there makes of them (sched/near/near.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/default_spread.h"
#include "model/label_selector.h"
#include "model/node_affinity.h"
#include "model/pod.h"
#include "sched/request/near_standing.h"

namespace gs::sched {

/// One constraint. A node may take the pod while its domain has at most `max_skew` more such pods, the pod
/// itself among them, than the domain that has the fewest.
struct SpreadRule {
  std::string topology_key;
  std::int32_t max_skew = 1;
  std::int32_t min_domains = 1;  // while there are fewer, the fewest counts as 0
  bool honors_affinity = true;   // only nodes that the pod selects count
  bool honors_taints = false;    // only nodes whose taints it tolerates do
  bool counts_itself = false;    // it is one of `pods`
  /// Of its own namespace, with what matchLabelKeys add. nullopt: nobody. With no requirement nobody counts
  /// but the pod itself: as kube-scheduler counts.
  std::optional<model::LabelSelector> pods;
  friend auto operator<=>(const SpreadRule&, const SpreadRule&) = default;
};

struct NearRules {
  std::string ns;                    // the pod's
  std::vector<model::PodTerm> near;  // one pod that all of these mean must be in the domain of each
  std::vector<model::PodTerm> apart;
  bool means_itself = false;       // its labels are such as all of `near` ask for
  std::vector<SpreadRule> spread;  // in the pod's order
  // Wishes: they refuse no node.
  std::vector<model::PreferredPodTerm> preferred{};  // sorted
  std::vector<SpreadRule> spread_anyway{};           // in the pod's order
  /// A node that lacks one of the labels of spread_anyway counts for none of them.
  bool needs_all_labels = true;
  std::vector<model::TermId> liked_by{};  // wishes of pods that are there, which mean this one; sorted
  // Where some spread rule asks, else empty: which nodes the pod selects, and tolerates.
  std::map<std::string, std::string> node_selector;
  bool has_node_terms = false;
  std::vector<model::NodeTerm> node_terms;
  std::vector<model::Toleration> tolerations;  // sorted
  [[nodiscard]] bool requiresSome() const { return !near.empty() || !apart.empty() || !spread.empty(); }
  [[nodiscard]] bool wishesSome() const {
    return !preferred.empty() || !spread_anyway.empty() || !liked_by.empty();
  }
  friend bool operator==(const NearRules&, const NearRules&) = default;
};

/// What the pod says, and where it says no spread `spread` for it; nullptr: nothing.
[[nodiscard]] std::shared_ptr<const NearRules> nearRulesOf(const model::Pod& pod,
                                                           const model::DefaultSpread* spread = nullptr);
[[nodiscard]] std::size_t hashOf(const NearRules& rules);

/// In a request. Two are equal when their rules are.
struct NearAsked {
  std::shared_ptr<const NearRules> rules{};  // nullptr: it has none
  std::shared_ptr<const NearStanding>
      standing{};                 // of these; nullptr: nobody said, and no node takes the pod
  NearPart part = NearPart::All;  // that is asked (NearStanding)
  [[nodiscard]] explicit operator bool() const { return rules != nullptr; }
  friend bool operator==(const NearAsked& a, const NearAsked& b) {
    return a.rules == b.rules || (a.rules != nullptr && b.rules != nullptr && *a.rules == *b.rules);
  }
};

}  // namespace gs::sched
