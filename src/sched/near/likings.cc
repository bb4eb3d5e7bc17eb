#include "sched/near/likings.h"

#include <algorithm>

namespace gs::sched {

/// Finds the term or adds it, and counts one pod more that says it.
Likings::Terms::iterator Likings::intern(const std::string& ns, const model::PreferredPodTerm& term) {
  const auto [it, fresh] = terms_.try_emplace(Said{ns, term});
  Liking& liking = it->second;
  ++liking.pods;
  if (!fresh) { return it; }
  liking.id = next_++;
  liking.means = *model::keptAwayBy(term.term);
  liking.weight = term.weight;
  liking.key = &keys_.learn(term.term.topology_key);
  by_id_.emplace(liking.id, &liking);
  index_.add(ns, liking.id, liking.means);
  return it;
}

void Likings::forget(Terms::iterator it) {
  const auto& [ns, term] = it->first;
  Liking& liking = it->second;
  if (--liking.pods > 0) { return; }
  index_.remove(ns, liking.id, liking.means);
  by_id_.erase(liking.id);
  keys_.forget(term.term.topology_key);
  terms_.erase(it);
}

void Likings::add(Liking& liking, const model::NodeName& node, std::int64_t pods) {
  const DomainId domain = liking.key->at(nodes_.find(node));
  if (domain == 0) { return; }
  const auto it = liking.there.try_emplace(domain, 0).first;
  it->second += pods;
  if (it->second == 0) { liking.there.erase(it); }
  ++version_;
}

void Likings::count(const model::NodeName& node, int sign) {
  const auto here = on_node_.find(node);
  if (here == on_node_.end()) { return; }
  for (const auto& [liking, pods] : here->second) { add(*liking, node, sign * pods); }
}

bool Likings::put(const model::Uid& uid, const std::string& ns, const model::NodeName& node,
                  const std::vector<model::PreferredPodTerm>& terms) {
  std::vector<const model::PreferredPodTerm*> said;  // those that mean somebody
  for (const auto& term : terms) {
    if (term.term.pods) { said.push_back(&term); }
  }
  const auto known = pods_.find(uid);
  const auto is_it = [](const Terms::iterator& is, const auto* term) { return is->first.second == *term; };
  const bool same =
      known != pods_.end() && known->second.node == node &&
      std::equal(known->second.terms.begin(), known->second.terms.end(), said.begin(), said.end(), is_it);
  if (same) { return false; }
  Pod pod{node, {}};
  bool is_new = false;
  for (const auto* term : said) {  // before it is removed: what is said all the time keeps its id
    pod.terms.push_back(intern(ns, *term));
    is_new |= pod.terms.back()->second.pods == 1;
  }
  remove(uid);
  if (said.empty()) { return false; }
  There& here = on_node_[node];
  for (const auto& it : pod.terms) {
    ++here[&it->second];
    add(it->second, node, 1);
  }
  pods_.emplace(uid, std::move(pod));
  return is_new;
}

void Likings::remove(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  const Pod pod = std::move(it->second);
  pods_.erase(it);
  const auto here = on_node_.find(pod.node);
  for (const auto& term : pod.terms) {
    Liking& liking = term->second;
    add(liking, pod.node, -1);
    const auto said = here->second.find(&liking);
    if (--said->second == 0) { here->second.erase(said); }
  }
  if (here->second.empty()) { on_node_.erase(here); }
  for (const auto& term : pod.terms) { forget(term); }
}

std::vector<model::TermId> Likings::meaning(const std::string& ns, const model::Labels& labels,
                                            const model::Labels& ns_labels) const {
  if (terms_.empty()) { return {}; }
  auto ids = index_.meaning(ns, labels, ns_labels);
  std::erase_if(ids, [&](model::TermId id) { return !by_id_.contains(id); });  // very many, as one
  return ids;
}

const Liking* Likings::find(model::TermId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

}  // namespace gs::sched
