#include "sched/keep_away.h"

#include <algorithm>

namespace gs::sched {
namespace {

constexpr const char* kEveryNamespace = "";

std::vector<std::string> namespacesOf(const model::AntiAffinityTerm& term) {
  return term.namespaces.empty() ? std::vector<std::string>{kEveryNamespace} : term.namespaces;
}

}  // namespace

KeepAway::Domain* KeepAway::domainOf(const model::NodeName& node, const std::string& key) {
  const auto known = known_.find(node);
  if (known == known_.end()) { return nullptr; }
  const auto label = known->second.find(key);
  return label == known->second.end() ? nullptr : &keys_.at(key).domains.at(label->second);
}

/// One pod more says it; true when it is the first.
bool KeepAway::intern(const model::AntiAffinityTerm& term) {
  const auto [it, fresh] = terms_.try_emplace(term);
  ++it->second.pods;
  if (!fresh) { return false; }
  it->second.id = model::idOf(term);
  for (const auto& ns : namespacesOf(term)) { meant_[ns][it->second.id] = &it->first; }
  ++keys_[term.topology_key].terms;
  return true;
}

void KeepAway::forget(const model::AntiAffinityTerm& term) {
  const auto it = terms_.find(term);
  if (--it->second.pods > 0) { return; }
  for (const auto& ns : namespacesOf(term)) {
    const auto meant = meant_.find(ns);
    meant->second.erase(it->second.id);
    if (meant->second.empty()) { meant_.erase(meant); }
  }
  const auto key = keys_.find(term.topology_key);
  if (--key->second.terms == 0) { forgetKey(key->first); }
  terms_.erase(it);
}

/// From now on the nodes' values of these keys are kept.
void KeepAway::learnKeys(const std::set<std::string>& keys) {
  if (keys.empty()) { return; }
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) {
    const NodeState& state = ledger_.at(i);
    if (!state.exists) { continue; }
    for (const auto& [key, value] : state.node.labels) {
      if (!keys.contains(key)) { continue; }
      known_[state.node.name][key] = value;
      keys_.at(key).domains[value].nodes.insert(state.node.name);
    }
  }
}

/// No term has it any more, so nothing is closed by it.
void KeepAway::forgetKey(const std::string& key) {
  const auto it = keys_.find(key);
  for (const auto& [value, domain] : it->second.domains) {
    for (const auto& node : domain.nodes) {
      const auto known = known_.find(node);
      known->second.erase(key);
      if (known->second.empty()) { known_.erase(known); }
    }
  }
  keys_.erase(it);
}

void KeepAway::count(const Pod& pod, int by) {
  for (const auto& term : pod.terms) {
    Domain* domain = domainOf(pod.node, term.topology_key);
    if (domain == nullptr) { continue; }
    const model::TermId id = terms_.at(term).id;
    const auto it = domain->closed.try_emplace(id, 0).first;
    const bool was = it->second > 0;
    it->second += by;
    const bool is = it->second > 0;
    if (!is) { domain->closed.erase(it); }
    if (was == is) { continue; }
    for (const auto& node : domain->nodes) { ledger_.closeTo(node, id, is); }
  }
}

bool KeepAway::put(const model::Uid& uid, const model::NodeName& node,
                   const std::vector<model::AntiAffinityTerm>& terms) {
  const auto known = pods_.find(uid);
  if (known != pods_.end() && known->second.node == node && known->second.terms == terms) { return false; }
  remove(uid);
  if (terms.empty()) { return false; }
  bool fresh = false;
  std::set<std::string> new_keys;
  for (const auto& term : terms) {
    if (!keys_.contains(term.topology_key)) { new_keys.insert(term.topology_key); }
    fresh |= intern(term);
  }
  learnKeys(new_keys);
  const Pod& pod = pods_.emplace(uid, Pod{node, terms}).first->second;
  on_node_[node].insert(uid);
  count(pod, 1);
  return fresh;
}

void KeepAway::remove(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  const Pod pod = std::move(it->second);
  pods_.erase(it);
  const auto here = on_node_.find(pod.node);
  here->second.erase(uid);
  if (here->second.empty()) { on_node_.erase(here); }
  count(pod, -1);
  for (const auto& term : pod.terms) { forget(term); }
}

std::vector<model::TermId> KeepAway::closedTo(const model::NodeName& node) {
  std::vector<model::TermId> ids;
  if (const auto known = known_.find(node); known != known_.end()) {
    for (const auto& [key, value] : known->second) {
      for (const auto& [id, pods] : keys_.at(key).domains.at(value).closed) { ids.push_back(id); }
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void KeepAway::nodeChanged(const model::NodeName& name) {
  if (keys_.empty()) { return; }
  const NodeState* state = ledger_.find(name);
  model::Labels labels;
  if (state != nullptr && state->exists) {
    for (const auto& label : state->node.labels) {
      if (keys_.contains(label.first)) { labels.insert(label); }
    }
  }
  const auto before = known_.find(name);
  if (before == known_.end() ? labels.empty() : before->second == labels) { return; }
  const auto here = on_node_.find(name);
  const std::set<model::Uid> pods = here == on_node_.end() ? std::set<model::Uid>{} : here->second;
  for (const auto& uid : pods) { count(pods_.at(uid), -1); }
  if (before != known_.end()) {
    for (const auto& [key, value] : before->second) {
      auto& domains = keys_.at(key).domains;
      domains.at(value).nodes.erase(name);
      if (domains.at(value).nodes.empty()) { domains.erase(value); }
    }
    known_.erase(before);
  }
  for (const auto& [key, value] : labels) { keys_.at(key).domains[value].nodes.insert(name); }
  if (!labels.empty()) { known_[name] = std::move(labels); }
  ledger_.setClosedTo(name, closedTo(name));
  for (const auto& uid : pods) { count(pods_.at(uid), 1); }
}

std::vector<model::TermId> KeepAway::meaning(const std::string& ns, const model::Labels& labels) const {
  std::vector<model::TermId> ids;
  for (const std::string& meant : {std::string{kEveryNamespace}, ns}) {
    const auto terms = meant_.find(meant);
    if (terms == meant_.end()) { continue; }
    for (const auto& [id, term] : terms->second) {
      if (term->pods.matches(labels)) { ids.push_back(id); }
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace gs::sched
