// Required anti-affinity of pods that are already bound (design 3.11): whom they keep away, and from which nodes. It is the half of
// kube-scheduler's InterPodAffinity filter that concerns pods which ask for no affinity themselves
// (pkg/scheduler/framework/plugins/interpodaffinity: "existing pods' anti-affinity rules").
//
// Equal terms of many pods are one, known by its id. A node is closed to a term while a pod that says it is bound to a node
// with the same value of the term's topology key; a pod whose node is unknown, or has no such label, closes nothing.
// Who is closed where stands in the ledger (NodeState::closed_to), whom a term means in the request (PodRequest::kept_away_by).
// Cost, of a pod that comes or goes: O(log) for each of its terms, and one walk over the nodes of a domain for each domain
// that is closed or opened by it; over all nodes when it is the first with some topology key. Of a node: O(what it is closed
// to). A pod has few terms (kapi/decode_pod.cc bounds them). One thread.
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
  [[nodiscard]] std::vector<model::TermId> meaning(const std::string& ns, const model::Labels& labels) const;

 private:
  struct Term {
    model::TermId id = 0;
    int pods = 0;  // that say it
  };
  struct Pod {
    model::NodeName node;
    std::vector<model::AntiAffinityTerm> terms;
  };
  /// The nodes with one value of a topology key.
  struct Domain {
    std::set<model::NodeName> nodes;
    std::map<model::TermId, int> closed;  // by how many pods
  };
  struct Key {
    int terms = 0;  // that have it
    std::map<std::string, Domain> domains;
  };

  bool intern(const model::AntiAffinityTerm& term);
  void forget(const model::AntiAffinityTerm& term);
  void learnKeys(const std::set<std::string>& keys);
  void forgetKey(const std::string& key);
  /// The domain of that node for this key; nullptr: it has no such label, or is unknown.
  [[nodiscard]] Domain* domainOf(const model::NodeName& node, const std::string& key);
  void count(const Pod& pod, int by);
  [[nodiscard]] std::vector<model::TermId> closedTo(const model::NodeName& node);

  Ledger& ledger_;
  std::unordered_map<model::Uid, Pod> pods_;
  std::unordered_map<model::NodeName, std::set<model::Uid>> on_node_;
  std::map<model::AntiAffinityTerm, Term> terms_;
  /// By the namespace that they mean, "" for every one; the terms are those of terms_.
  std::map<std::string, std::map<model::TermId, const model::AntiAffinityTerm*>> meant_;
  std::map<std::string, Key> keys_;                           // by topology key
  std::unordered_map<model::NodeName, model::Labels> known_;  // of keys_ only, as the domains have them
};

}  // namespace gs::sched
