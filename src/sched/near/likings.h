// Likings: what pods that are on nodes would like of the pods that come: their preferred affinity and
// anti-affinity, and their required affinity as a weak wish (model::likedWhenThere()). kube-scheduler counts
// wishes both ways (its InterPodAffinity score); what a waiting pod wishes itself is WishCounts.
//
// Equal terms of the pods of one namespace are one, known by an id that is not used again. Whom a term means
// is found by labels (TermIndex); of a namespace whose pods say very many terms about a pod none counts for
// it: a wish must not cost more. Of each term it is kept how many pods say it in each domain of its topology
// key. Cost: of a pod, O(log terms) for each of its terms; of a node that changes, O(terms said there). The
// nodes and the keys must outlive it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/label_selector.h"
#include "model/pod_affinity.h"
#include "sched/ledger/term_index.h"
#include "sched/near/near_nodes.h"
#include "sched/near/topology_keys.h"

namespace gs::sched {

using PodsByDomain = std::unordered_map<DomainId, std::int64_t>;  // where there are some

struct Liking {
  model::TermId id = 0;
  model::AntiAffinityTerm means{};  // whom; nothing of it keeps anybody away
  std::int32_t weight = 0;
  const TopologyKey* key = nullptr;
  int pods = 0;          // that say it
  PodsByDomain there{};  // of these
};

class Likings {
 public:
  Likings(const NearNodes& nodes, TopologyKeys& keys) : nodes_{nodes}, keys_{keys} {}

  /// This pod of the namespace `ns` is on that node and says so; true when one of its terms is new, so that
  /// pods that wait may now be meant. A later call for the same uid replaces the earlier one.
  bool put(const model::Uid& uid, const std::string& ns, const model::NodeName& node,
           const std::vector<model::PreferredPodTerm>& terms);
  void remove(const model::Uid& uid);
  /// Before the keys are told of another version of a node, and after.
  void leave(const model::NodeName& node) { count(node, -1); }
  void enter(const model::NodeName& node) { count(node, 1); }

  /// The terms that mean such a pod, ascending. `ns_labels`: of its Namespace, as far as it is known.
  [[nodiscard]] std::vector<model::TermId> meaning(const std::string& ns, const model::Labels& labels,
                                                   const model::Labels& ns_labels) const;
  /// nullptr: nobody says it any more.
  [[nodiscard]] const Liking* find(model::TermId id) const;
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  /// Grows with each change of some Liking::there.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// What all of this has cost so far, in terms compared.
  [[nodiscard]] std::uint64_t looks() const { return index_.looks(); }

 private:
  using Said = std::pair<std::string, model::PreferredPodTerm>;  // by pods of that namespace
  using Terms = std::map<Said, Liking>;
  struct Pod {
    model::NodeName node;
    std::vector<Terms::iterator> terms;
  };
  using There = std::unordered_map<Liking*, std::int64_t>;  // pods that say it

  Terms::iterator intern(const std::string& ns, const model::PreferredPodTerm& term);
  void forget(Terms::iterator it);
  void add(Liking& liking, const model::NodeName& node, std::int64_t pods);
  void count(const model::NodeName& node, int sign);

  const NearNodes& nodes_;
  TopologyKeys& keys_;
  Terms terms_;
  std::unordered_map<model::TermId, Liking*> by_id_;
  TermIndex index_;  // of Liking::means
  std::unordered_map<model::Uid, Pod> pods_;
  std::unordered_map<model::NodeName, There> on_node_;
  model::TermId next_ = 1;
  std::uint64_t version_ = 0;
};

}  // namespace gs::sched
