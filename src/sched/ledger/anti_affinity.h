// Required anti-affinity of pods that are bound, or reserved on a node (R31): whom they keep away, and from
// which nodes. It is the part of kube-scheduler's InterPodAffinity filter that concerns pods which ask for
// no affinity themselves (pkg/scheduler/framework/plugins/interpodaffinity: "existing pods' anti-affinity
// rules"); what they ask themselves is sched/near/near.h.
//
// Equal terms of many pods are one, known by its id. A node is closed to a term while a pod that says it is
// bound to a node with the same value of the term's topology key; a pod whose node is unknown, or has no such
// label, closes nothing.
// Who is closed where stands in the ledger (NodeState::closed_to), whom a term means in the request
// (PodRequest::kept_away_by): see TermIndex. All nodes of a domain refer to one set of terms.
// The nodes' values of a topology key are kept while a pod says a term with it on a node that has it. Cost,
// of a pod that comes or goes: O(log) for each of its terms, a pass over the values of each of its keys in
// whose domain something closes or opens, and one note for each node there, however many terms do; over the
// labels of all nodes (their hashes, which lie side by side) when it is the first with some key. Of a node:
// O(topology keys + its labels). A pod has few terms (kapi/decode_pod.cc bounds them). One thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/label_selector.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/term_index.h"

namespace gs::sched {

class AntiAffinity {
 public:
  explicit AntiAffinity(Ledger& ledger) : ledger_{ledger} {}

  /// This pod of the namespace `ns` is bound there and says so; true when one of its terms is new, so that
  /// pods that wait may now be meant. A later call for the same uid replaces the earlier one.
  bool put(const model::Uid& uid, const std::string& ns, const model::NodeName& node,
           const std::vector<model::AntiAffinityTerm>& terms);
  void remove(const model::Uid& uid);
  /// The node came, went, or has other labels. Call it after the ledger knows.
  void nodeChanged(const model::NodeName& node);
  /// The terms that mean such a pod, ascending. `ns_labels`: of its Namespace, as far as it is known.
  [[nodiscard]] std::vector<model::TermId> meaning(const std::string& ns, const model::Labels& labels,
                                                   const model::Labels& ns_labels = {}) const {
    return index_.meaning(ns, labels, ns_labels);
  }
  /// The terms by which this pod closes nodes, under all of their ids: it counts once for each in the domain
  /// of its node that has the term's key. None of those whose key its node lacks.
  [[nodiscard]] std::vector<model::TermId> saidBy(const model::Uid& uid) const;
  /// What all of this has cost so far, in terms compared, and in labels and values of nodes looked at.
  [[nodiscard]] std::uint64_t looks() const { return looks_ + index_.looks(); }

 private:
  using Said = std::pair<std::string, model::AntiAffinityTerm>;  // by pods of that namespace
  /// Compares them with what is not copied for it: a term may be as large as a pod.
  struct BySaid {
    using is_transparent = void;
    using Ref = std::pair<const std::string&, const model::AntiAffinityTerm&>;
    static Ref ref(const Said& said) { return {said.first, said.second}; }
    static Ref ref(const Ref& said) { return said; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return ref(a) < ref(b);
    }
  };
  struct Term {
    std::vector<model::TermId> ids;  // TermIndex::namesOf
    int pods = 0;                    // that say it
  };
  using Terms = std::map<Said, Term, BySaid>;
  struct Pod {
    std::string ns;
    model::NodeName node;
    std::vector<Terms::iterator> terms;
  };
  using Value = std::size_t;  // hash of a label's value; 0: none
  struct Key {
    int terms = 0;  // that have it
    bool learned = false;
    std::vector<Value> values;                                        // by node, if learned
    std::unordered_map<Value, std::shared_ptr<ClosedTerms>> domains;  // where something is closed
    [[nodiscard]] Value at(Ledger::NodeIndex i) const { return i < values.size() ? values[i] : 0; }
  };
  using Keys = std::map<std::string, Key*>;
  /// A domain that is closed for the first time.
  struct Made {
    const Key* key = nullptr;
    Value value = 0;
    std::shared_ptr<ClosedTerms> closed;
  };
  struct Node {
    Ledger::NodeIndex index = 0;
    std::vector<std::pair<std::size_t, Value>> labels;  // hashes of keys and values, ascending
  };
  using Uids = std::set<model::Uid>;
  using Values = std::vector<std::pair<Key*, Value>>;

  Terms::iterator intern(const std::string& ns, const model::AntiAffinityTerm& term);
  void forget(Terms::iterator it);
  static bool isSaidBy(const Pod& pod, const std::vector<model::AntiAffinityTerm>& terms);
  [[nodiscard]] Keys unlearnedOf(const Pod& pod);
  void learn(const Keys& keys);
  void set(Key& key, Ledger::NodeIndex i, Value value);
  void refer(Ledger::NodeIndex i);
  void count(const Pod& pod, int by);
  void note(const Key& key, Value value, std::vector<bool>& nodes);
  [[nodiscard]] Values changedOf(const model::NodeName& name) const;
  [[nodiscard]] Uids podsOn(const model::NodeName& name) const;

  Ledger& ledger_;
  std::unordered_map<model::Uid, Pod> pods_;
  std::unordered_map<model::NodeName, Uids> on_node_;
  Terms terms_;
  TermIndex index_;                            // the terms are those of terms_
  std::unordered_map<std::string, Key> keys_;  // by topology key
  Keys learned_;
  std::unordered_map<model::NodeName, Node> nodes_;  // that exist
  std::uint64_t looks_ = 0;
};

}  // namespace gs::sched
