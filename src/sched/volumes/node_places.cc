#include "sched/volumes/node_places.h"

namespace gs::sched {

void NodePlaces::clear(Key& key, Ledger::NodeIndex i) {
  const auto known = key.value.find(i);
  if (known == key.value.end()) { return; }
  const auto nodes = key.nodes.find(known->second);
  nodes->second.erase(i);
  if (nodes->second.empty()) { key.nodes.erase(nodes); }
  key.value.erase(known);
}

void NodePlaces::set(const std::string& name, Key& key, Ledger::NodeIndex i) const {
  const NodeState& n = ledger_.at(i);
  const auto label = n.node.labels.find(name);
  if (!n.exists || label == n.node.labels.end()) { return; }
  key.nodes[label->second].insert(i);
  key.value[i] = label->second;
}

void NodePlaces::learn(const std::string& name, Key& key) const {
  for (Ledger::NodeIndex i = 0; i < ledger_.size(); ++i) { set(name, key, i); }
}

void NodePlaces::nodeChanged(const model::NodeName& name) {
  if (const auto before = index_.find(name); before != index_.end()) {
    for (auto& [label, key] : keys_) { clear(key, before->second); }
    index_.erase(before);
  }
  const auto i = ledger_.indexOf(name);
  if (!i || !ledger_.at(*i).exists) { return; }
  index_[name] = *i;
  for (auto& [label, key] : keys_) {
    clear(key, *i);
    set(label, key, *i);
  }
}

const NodePlaces::Nodes& NodePlaces::at(const std::string& key, const std::string& value) {
  static const Nodes kNone;
  const auto [it, is_new] = keys_.try_emplace(key);
  if (is_new) { learn(key, it->second); }
  const auto nodes = it->second.nodes.find(value);
  return nodes == it->second.nodes.end() ? kNone : nodes->second;
}

}  // namespace gs::sched
