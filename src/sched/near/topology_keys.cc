#include "sched/near/topology_keys.h"

namespace gs::sched {

TopologyKey& TopologyKeys::learn(const std::string& name) {
  const auto [it, fresh] = keys_.try_emplace(name, nodes_of_wide_);
  TopologyKey& key = it->second;
  ++key.users;
  if (!fresh) { return key; }
  for (NearNode node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].exists) { continue; }
    ++looks_;
    const std::string* value = labelOf(&ledger_.at(nodes_[node].index).node, name);
    if (value != nullptr) { key.set(node, value); }
  }
  (void)key.decideWidth();
  return key;
}

void TopologyKeys::forget(const std::string& name) {
  const auto key = keys_.find(name);
  if (--key->second.users == 0) { keys_.erase(key); }
}

void TopologyKeys::nodeChanged(NearNode node, const model::Node* facts) {
  for (auto& [name, key] : keys_) {
    const std::string* value = labelOf(facts, name);
    if (!key.isAt(node, value)) { key.set(node, value); }
  }
}

bool TopologyKeys::decideWidths() {
  bool any = false;
  for (auto& [name, key] : keys_) { any = key.decideWidth() || any; }
  return any;
}

}  // namespace gs::sched
