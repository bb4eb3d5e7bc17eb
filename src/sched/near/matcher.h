// Which pods a rule means, and which rules mean a pod.
//
// A matcher is a conjunction of clauses: the pod is of the clause's namespaces, and its labels are such. All
// required affinity terms of a pod are one matcher, since kube-scheduler looks for one pod that all of them
// mean; each anti-affinity term and each spread rule is one by itself.
// A namespace of which no Namespace is known is selected by a namespaceSelector without requirements only.
// MatcherIndex finds the matchers that may mean a pod: each stands under the namespaces that it means, and
// under a label that the pods it means must have, one of few values. Those that ask for none stand in a list
// of their own, and are compared with each new group of pods of these namespaces; those that select
// namespaces, with those of any. Cost: O(labels of the pod + matchers under them + the others). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/label_selector.h"
#include "model/pod_affinity.h"
#include "model/pod_labels.h"
#include "sched/near/pod_groups.h"

namespace gs::sched {

class Matcher {
 public:
  /// Nobody is meant.
  Matcher() = default;
  /// What it is made of must outlive it.
  explicit Matcher(const std::vector<model::PodTerm>& all_of);
  explicit Matcher(const model::PodTerm& term) { add(term.namespaces, &term.namespace_selector, term.pods); }
  Matcher(const std::vector<std::string>& namespaces, const model::LabelSelector& pods) {
    add(namespaces, nullptr, pods);
  }

  /// `ns_labels`: of the Namespace; nullptr: none is known.
  [[nodiscard]] bool means(const std::string& ns, const model::Labels* ns_labels) const;
  /// Of a pod of a namespace that it means.
  [[nodiscard]] bool means(const PodGroup& group) const {
    return mayMean(group.bits) && meansLabels(group.labels);
  }
  [[nodiscard]] bool means(const model::PodLabels& labels) const { return meansLabels(labels); }
  /// One whose labels have these bits.
  [[nodiscard]] bool mayMean(std::uint64_t bits) const { return (bits & bits_) == bits_; }
  [[nodiscard]] bool meansNobody() const { return clauses_.empty(); }
  [[nodiscard]] bool selectsNamespaces() const;
  /// Where none is selected, the namespaces of one clause: it means no others.
  [[nodiscard]] const std::vector<std::string>& named() const { return *clauses_.front().namespaces; }

 private:
  friend class MatcherIndex;
  using Selector = std::optional<model::LabelSelector>;
  struct Clause {
    const std::vector<std::string>* namespaces = nullptr;
    const Selector* namespace_selector = nullptr;
    const model::LabelSelector* pods = nullptr;
  };
  void add(const std::vector<std::string>& namespaces, const Selector* namespace_selector,
           const Selector& pods);
  void add(const std::vector<std::string>& namespaces, const Selector* namespace_selector,
           const model::LabelSelector& pods);
  [[nodiscard]] bool meansLabels(const model::PodLabels& labels) const;
  /// What it asks for that fewest pods have, if one of few values; nullptr: there is none.
  [[nodiscard]] const model::LabelRequirement* narrowest() const;

  std::vector<Clause> clauses_;
  std::uint64_t bits_ = 0;  // of labels that it asks for
};

class MatcherIndex {
 public:
  /// The matcher stays where it is until remove().
  void add(const Matcher& matcher, MatcherRef ref);
  void remove(const Matcher& matcher, MatcherRef ref);
  /// Calls visit(ref, matcher) for those that may mean such a pod, each once.
  template <class Visit>
  void each(const std::string& ns, const model::PodLabels& labels, const Visit& visit) const {
    eachIn(anywhere_, labels, visit);
    const auto there = by_namespace_.find(ns);
    if (there != by_namespace_.end()) { eachIn(there->second, labels, visit); }
  }

 private:
  using Refs = std::map<MatcherRef, const Matcher*>;  // one that goes is found among very many
  struct Lists {
    std::unordered_map<std::size_t, Refs> by_label;  // by labelHash
    Refs others;
    [[nodiscard]] bool empty() const { return by_label.empty() && others.empty(); }
  };
  template <class Visit>
  static void eachIn(const Lists& lists, const model::PodLabels& labels, const Visit& visit) {
    for (const auto& [ref, matcher] : lists.others) { visit(ref, *matcher); }
    if (lists.by_label.empty()) { return; }
    labels.each([&](std::string_view key, std::string_view value) {
      const auto under = lists.by_label.find(labelHash(key, value));
      if (under == lists.by_label.end()) { return; }
      for (const auto& [ref, matcher] : under->second) { visit(ref, *matcher); }
    });
  }
  template <class Change>
  void change(const Matcher& matcher, const Change& change);
  template <class Change>
  static void changeIn(Lists& lists, const Matcher& matcher, const Change& change);

  std::unordered_map<std::string, Lists> by_namespace_;
  Lists anywhere_;  // of those that select namespaces, or name many
};

}  // namespace gs::sched
