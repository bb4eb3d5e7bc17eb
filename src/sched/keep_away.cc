#include "sched/keep_away.h"

#include <algorithm>

namespace gs::sched {

const std::string* KeepAway::valueOn(const model::NodeName& node, const std::string& key) const {
  const auto known = known_.find(node);
  if (known == known_.end()) { return nullptr; }
  const auto label = known->second.find(key);
  return label == known->second.end() ? nullptr : &label->second;
}

/// The first term with this topology key: from now on the nodes' values of it are kept.
void KeepAway::learnKey(const std::string& key) {
  const auto [by_value, fresh] = nodes_.try_emplace(key);
  if (!fresh) { return; }
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) {
    const model::Node& node = ledger_.at(i).node;
    const auto label = node.labels.find(key);
    if (!ledger_.at(i).exists || label == node.labels.end()) { continue; }
    known_[node.name][key] = label->second;
    by_value->second[label->second].insert(node.name);
  }
}

/// The terms that the node is closed to, by what is counted now.
void KeepAway::refresh(const model::NodeName& node) {
  std::vector<model::AntiAffinityTerm> terms;
  for (const auto& [term, pods] : said_) {
    const std::string* value = valueOn(node, term.topology_key);
    if (value != nullptr && closed_.contains({term, *value})) { terms.push_back(term); }
  }
  ledger_.closeTo(node, std::move(terms));
}

void KeepAway::count(const model::AntiAffinityTerm& term, const std::string& value, int by) {
  const auto it = closed_.try_emplace({term, value}, 0).first;
  const bool was = it->second > 0;
  it->second += by;
  const bool is = it->second > 0;
  if (!is) { closed_.erase(it); }
  if (was == is) { return; }
  const auto& by_value = nodes_.at(term.topology_key);
  if (const auto domain = by_value.find(value); domain != by_value.end()) {
    for (const auto& node : domain->second) { refresh(node); }
  }
}

void KeepAway::countAll(const Pod& pod, int by) {
  for (const auto& term : pod.terms) {
    if (const std::string* value = valueOn(pod.node, term.topology_key)) { count(term, *value, by); }
  }
}

bool KeepAway::put(const model::Uid& uid, const model::NodeName& node,
                   const std::vector<model::AntiAffinityTerm>& terms) {
  const auto known = pods_.find(uid);
  if (known != pods_.end() && known->second.node == node && known->second.terms == terms) { return false; }
  remove(uid);
  if (terms.empty()) { return false; }
  bool fresh = false;
  for (const auto& term : terms) {
    learnKey(term.topology_key);
    fresh |= ++said_[term] == 1;
  }
  const Pod& pod = pods_.emplace(uid, Pod{node, terms}).first->second;
  on_node_[node].insert(uid);
  countAll(pod, 1);
  return fresh;
}

void KeepAway::remove(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  countAll(it->second, -1);
  for (const auto& term : it->second.terms) {
    if (--said_[term] == 0) { said_.erase(term); }
  }
  const auto here = on_node_.find(it->second.node);
  here->second.erase(uid);
  if (here->second.empty()) { on_node_.erase(here); }
  pods_.erase(it);
}

void KeepAway::nodeChanged(const model::NodeName& name) {
  const NodeState* state = ledger_.find(name);
  model::Labels labels;
  for (const auto& [key, by_value] : nodes_) {
    if (state == nullptr || !state->exists) { break; }
    if (const auto it = state->node.labels.find(key); it != state->node.labels.end()) { labels.insert(*it); }
  }
  const auto before = known_.find(name);
  if (before == known_.end() ? labels.empty() : before->second == labels) { return; }
  const auto here = on_node_.find(name);
  const std::set<model::Uid> pods = here == on_node_.end() ? std::set<model::Uid>{} : here->second;
  for (const auto& uid : pods) { countAll(pods_.at(uid), -1); }
  if (before != known_.end()) {
    for (const auto& [key, value] : before->second) {
      auto& by_value = nodes_.at(key);
      by_value.at(value).erase(name);
      if (by_value.at(value).empty()) { by_value.erase(value); }
    }
    known_.erase(before);
  }
  for (const auto& [key, value] : labels) { nodes_.at(key)[value].insert(name); }
  if (!labels.empty()) { known_[name] = std::move(labels); }
  for (const auto& uid : pods) { countAll(pods_.at(uid), 1); }
  refresh(name);
}

std::vector<model::AntiAffinityTerm> KeepAway::meaning(const std::string& ns,
                                                       const model::Labels& labels) const {
  std::vector<model::AntiAffinityTerm> out;
  for (const auto& [term, pods] : said_) {
    if (term.keepsAway(ns, labels)) { out.push_back(term); }
  }
  return out;
}

}  // namespace gs::sched
