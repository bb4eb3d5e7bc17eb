// Required anti-affinity of pods that are already bound (design 3.11): whom they keep away, and from which nodes. It is the half of
// kube-scheduler's InterPodAffinity filter that concerns pods which ask for no affinity themselves
// (pkg/scheduler/framework/plugins/interpodaffinity: "existing pods' anti-affinity rules").
//
// Equal terms of many pods are one, known by its id. A node is closed to a term while a pod that says it is bound to a node
// with the same value of the term's topology key; a pod whose node is unknown, or has no such label, closes nothing.
// Who is closed where stands in the ledger (NodeState::closed_to), whom a term means in the request (PodRequest::kept_away_by).
// All nodes of a domain refer to one set of terms. Cost, of a pod that comes or goes: O(log) for each of its terms, and one note
// for each node of the domains where something closes or opens, however many terms do; over all nodes when it is the first with
// some topology key. Of a node: O(topology keys). A pod has few terms (kapi/decode_pod.cc bounds them). One thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
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
    const std::string* value = nullptr;
    std::vector<Ledger::NodeIndex> nodes;
    std::shared_ptr<ClosedTerms> closed = std::make_shared<ClosedTerms>();
  };
  struct Key {
    int terms = 0;  // that have it
    std::unordered_map<std::string, Domain> domains;
  };
  struct Place {
    Key* key = nullptr;
    Domain* domain = nullptr;
  };
  struct Node {
    Ledger::NodeIndex index = 0;
    std::vector<Place> places;
  };
  using Values = std::vector<std::pair<Key*, const std::string*>>;

  bool intern(const model::AntiAffinityTerm& term);
  void forget(const model::AntiAffinityTerm& term);
  void learnKeys(const std::set<std::string>& keys);
  void forgetKey(const std::string& key);
  void enter(Node& node, Key& key, const std::string& value);
  void leave(Ledger::NodeIndex index, const Place& place);
  void refer(Ledger::NodeIndex i, const Node& node);
  [[nodiscard]] Values valuesOf(const model::NodeName& name);
  /// The domain of that node for this key; nullptr: it has no such label, or is unknown.
  [[nodiscard]] Domain* domainOf(const model::NodeName& node, const std::string& key);
  void count(const Pod& pod, int by);

  Ledger& ledger_;
  std::unordered_map<model::Uid, Pod> pods_;
  std::unordered_map<model::NodeName, std::set<model::Uid>> on_node_;
  std::map<model::AntiAffinityTerm, Term> terms_;
  /// By the namespace that they mean, "" for every one and for very many; the terms are those of terms_.
  std::map<std::string, std::map<model::TermId, const model::AntiAffinityTerm*>> meant_;
  std::map<std::string, Key> keys_;                  // by topology key
  std::unordered_map<model::NodeName, Node> known_;  // that are in some domain
};

}  // namespace gs::sched
