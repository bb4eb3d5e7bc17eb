#include "sched/near/matcher.h"

#include <algorithm>
#include <set>

namespace gs::sched {
namespace {

using Op = model::LabelRequirement::Op;

constexpr std::size_t kFewOfOneLabel = 8;
constexpr std::size_t kFewNamespaces = 64;

}  // namespace

Matcher::Matcher(const std::vector<model::PodTerm>& all_of) {
  const auto means_nobody = [](const model::PodTerm& term) { return !term.pods; };
  if (std::any_of(all_of.begin(), all_of.end(), means_nobody)) { return; }
  for (const auto& term : all_of) { add(term.namespaces, &term.namespace_selector, *term.pods); }
}

void Matcher::add(const std::vector<std::string>& namespaces, const Selector* namespace_selector,
                  const Selector& pods) {
  if (pods) { add(namespaces, namespace_selector, *pods); }
}

void Matcher::add(const std::vector<std::string>& namespaces, const Selector* namespace_selector,
                  const model::LabelSelector& pods) {
  const bool selects = namespace_selector != nullptr && namespace_selector->has_value();
  clauses_.push_back({&namespaces, selects ? namespace_selector : nullptr, &pods});
  for (const auto& r : pods.requirements) {
    if (r.op == Op::In && r.values.size() == 1) { bits_ |= labelBits(labelHash(r.key, r.values.front())); }
  }
}

bool Matcher::means(const std::string& ns, const model::Labels* ns_labels) const {
  const auto means_it = [&](const Clause& clause) {
    if (std::binary_search(clause.namespaces->begin(), clause.namespaces->end(), ns)) { return true; }
    if (clause.namespace_selector == nullptr) { return false; }
    const model::LabelSelector& selector = **clause.namespace_selector;
    return selector.requirements.empty() || (ns_labels != nullptr && selector.matches(*ns_labels));
  };
  return !clauses_.empty() && std::all_of(clauses_.begin(), clauses_.end(), means_it);
}

bool Matcher::meansLabels(const model::PodLabels& labels) const {
  return std::all_of(clauses_.begin(), clauses_.end(),
                     [&](const Clause& clause) { return clause.pods->matches(labels); });
}

bool Matcher::selectsNamespaces() const {
  return std::any_of(clauses_.begin(), clauses_.end(),
                     [](const Clause& clause) { return clause.namespace_selector != nullptr; });
}

const model::LabelRequirement* Matcher::narrowest() const {
  const model::LabelRequirement* best = nullptr;
  for (const Clause& clause : clauses_) {
    for (const auto& r : clause.pods->requirements) {
      if (r.op != Op::In || r.values.size() > kFewOfOneLabel) { continue; }
      if (best == nullptr || r.values.size() < best->values.size()) { best = &r; }
    }
  }
  return best;
}

/// Each list that it stands in. Values with one hash share a list, in which it stands once.
template <class Change>
void MatcherIndex::changeIn(Lists& lists, const Matcher& matcher, const Change& change) {
  const model::LabelRequirement* by = matcher.narrowest();
  if (by == nullptr) { return change(lists.others); }
  std::set<std::size_t> hashes;
  for (const auto& value : by->values) { hashes.insert(labelHash(by->key, value)); }
  for (const std::size_t hash : hashes) {
    const auto under = lists.by_label.try_emplace(hash).first;
    change(under->second);
    if (under->second.empty()) { lists.by_label.erase(under); }
  }
}

template <class Change>
void MatcherIndex::change(const Matcher& matcher, const Change& change) {
  if (matcher.meansNobody()) { return; }
  if (matcher.selectsNamespaces() || matcher.named().size() > kFewNamespaces) {
    return changeIn(anywhere_, matcher, change);
  }
  for (const auto& ns : matcher.named()) {
    const auto there = by_namespace_.try_emplace(ns).first;
    changeIn(there->second, matcher, change);
    if (there->second.empty()) { by_namespace_.erase(there); }
  }
}

void MatcherIndex::add(const Matcher& matcher, MatcherRef ref) {
  change(matcher, [&](Refs& refs) { refs.emplace(ref, &matcher); });
}

void MatcherIndex::remove(const Matcher& matcher, MatcherRef ref) {
  change(matcher, [&](Refs& refs) { refs.erase(ref); });
}

}  // namespace gs::sched
