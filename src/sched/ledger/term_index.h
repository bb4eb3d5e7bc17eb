// TermIndex: which required anti-affinity terms of other pods match a given pod. There may be very many
// terms, so they are found by the pod's labels; trying each one would take too long.
//
// A term stands under one label that every pod which it matches must have (and under the label's values,
// where it names few). If it only says which labels a pod must not have, it stands in a list of its own. So
// a pod is compared with the terms to which its labels lead, and with that list.
// Bound: anybody may create pods with thousands of terms. "Owner" is the namespace whose pods have a term;
// of one owner at most kMostOfOneOwner terms are compared with a pod. Where the labels lead to more, the
// pod counts as matched by all terms of this owner that mean the pod's namespace. These have one id
// together, all(). Whoever keeps which node is closed to which term counts that id beside the term's own
// (namesOf). So a node may be refused that would do; that is better than a pod on a wrong node, or a
// scheduler that hangs. Cost of a question: O(labels that terms ask for and the pod has), and
// kMostOfOneOwner comparisons for each owner. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/label_selector.h"

namespace gs::sched {

class TermIndex {
 public:
  static constexpr std::size_t kMostOfOneOwner = 64;

  /// A pod of the namespace `owner` says it. The term stays where it is until remove().
  void add(const std::string& owner, model::TermId id, const model::AntiAffinityTerm& term);
  void remove(const std::string& owner, model::TermId id, const model::AntiAffinityTerm& term);
  /// The terms that mean such a pod, ascending. `ns_labels`: of its Namespace, as far as it is known.
  [[nodiscard]] std::vector<model::TermId> meaning(const std::string& ns, const model::Labels& labels,
                                                   const model::Labels& ns_labels = {}) const;
  /// Under which ids meaning() may name it: its own, and that of all that its owner says of each namespace it
  /// means.
  [[nodiscard]] static std::vector<model::TermId> namesOf(const std::string& owner, model::TermId id,
                                                          const model::AntiAffinityTerm& term);
  /// What all questions have cost so far, in terms compared.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  using Terms = std::map<model::TermId, const model::AntiAffinityTerm*>;
  using Owners = std::map<std::string, Terms>;
  struct Label {
    Owners any_value;
    std::map<std::string, Owners> values;
    [[nodiscard]] bool empty() const { return any_value.empty() && values.empty(); }
  };
  struct Meant {
    Owners no_label;
    std::map<std::string, Label> labels;
    [[nodiscard]] bool empty() const { return no_label.empty() && labels.empty(); }
  };
  using Found = std::vector<const Owners::value_type*>;

  template <class Change>
  void change(const std::string& owner, const model::AntiAffinityTerm& term, const Change& change);
  static void find(const Meant& meant, const model::Labels& labels, Found& found);
  /// A pod that is asked about.
  struct Asked {
    const std::string& ns;
    const model::Labels& labels;
    const model::Labels& ns_labels;
  };
  void addMeaning(const std::string& meant, Found found, const Asked& asked,
                  std::vector<model::TermId>& ids) const;

  std::map<std::string, Meant> meant_;  // by the namespace that they mean; "": every one, and very many
  mutable std::uint64_t looks_ = 0;
};

}  // namespace gs::sched
