// Which anti-affinity terms mean a pod, of very many: found by the labels that they ask for rather than by
// trying each.
//
// A term stands under one label that every pod it means must have (with that value, where it names few), or
// under none if it only says what they must not have. So a pod is compared with those terms only that its
// labels lead to.
// Bound: for each namespace whose pods say terms (the owner), kMostOfOneOwner are compared. Where the labels
// lead to more of one owner, the pod counts as meant by all that this owner says of the pod's namespace. That
// is one id, all(), and whoever keeps which node is closed to which term counts it beside the term's own id
// (namesOf). For too many refused is better than one placed wrongly,
// or than a deciding thread that stands still.
// Cost of a question: O(labels that terms ask for and the pod has),
// and kMostOfOneOwner comparisons for each owner.
// One thread.
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
  /// The terms that mean such a pod, ascending.
  [[nodiscard]] std::vector<model::TermId> meaning(const std::string& ns, const model::Labels& labels) const;
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
  void addMeaning(const std::string& meant, Found found, const std::string& ns, const model::Labels& labels,
                  std::vector<model::TermId>& ids) const;

  std::map<std::string, Meant> meant_;  // by the namespace that they mean; "": every one, and very many
  mutable std::uint64_t looks_ = 0;
};

}  // namespace gs::sched
