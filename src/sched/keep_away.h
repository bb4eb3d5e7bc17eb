// Required anti-affinity of pods that are already bound (design 3.11): whom they keep away, and from which nodes. It is the half of
// kube-scheduler's InterPodAffinity filter that concerns pods which ask for no affinity themselves
// (pkg/scheduler/framework/plugins/interpodaffinity: "existing pods' anti-affinity rules").
//
// Equal terms of many pods are one. A node is closed to a term while a pod that says it is bound to a node with the
// same value of the term's topology key; a pod whose node is unknown, or has no such label, closes nothing.
// Who is closed where stands in the ledger (NodeState::closed_to), whom a term means in the request (PodRequest::kept_away_by).
// Cost: O(terms of the pod) a change, and O(nodes of the domain) when a domain is closed or opened. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/label_selector.h"
#include "sched/ledger.h"

namespace gs::sched {

class KeepAway {
 public:
  explicit KeepAway(Ledger& ledger) : ledger_{ledger} {}

  /// This pod is bound there and says so; true when one of its terms is new, so that pods that wait may now be meant. A later
  /// call for the same uid replaces the earlier one.
  bool put(const model::Uid& uid, const model::NodeName& node,
           const std::vector<model::AntiAffinityTerm>& terms);
  void remove(const model::Uid& uid);
  /// The node came, went, or has other labels. Call it after the ledger knows.
  void nodeChanged(const model::NodeName& node);
  /// The terms that mean such a pod, ascending.
  [[nodiscard]] std::vector<model::AntiAffinityTerm> meaning(const std::string& ns,
                                                             const model::Labels& labels) const;

 private:
  struct Pod {
    model::NodeName node;
    std::vector<model::AntiAffinityTerm> terms;
  };
  using Domain = std::pair<model::AntiAffinityTerm, std::string>;  // term, value of its topology key

  [[nodiscard]] const std::string* valueOn(const model::NodeName& node, const std::string& key) const;
  void learnKey(const std::string& key);
  void count(const model::AntiAffinityTerm& term, const std::string& value, int by);
  void countAll(const Pod& pod, int by);
  void refresh(const model::NodeName& node);

  Ledger& ledger_;
  std::unordered_map<model::Uid, Pod> pods_;
  std::map<model::AntiAffinityTerm, int> said_;  // by how many pods
  std::map<Domain, int> closed_;                 // by how many pods
  std::map<std::string, std::map<std::string, std::set<model::NodeName>>>
      nodes_;  // topology key -> value -> nodes
  /// What was counted for a node: its labels of the topology keys, as they were then.
  std::unordered_map<model::NodeName, model::Labels> known_;
  std::unordered_map<model::NodeName, std::set<model::Uid>> on_node_;
};

}  // namespace gs::sched
