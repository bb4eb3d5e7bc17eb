// The topology keys that somebody names: rules of waiting pods, and what pods that are there would like. A
// key that nobody named so far looks at all nodes; from then on it is told of each. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "model/node.h"
#include "sched/ledger/ledger.h"
#include "sched/near/near_nodes.h"
#include "sched/near/topology_key.h"

namespace gs::sched {

/// The value of that label; nullptr: it has none, or there is no node.
[[nodiscard]] inline const std::string* labelOf(const model::Node* node, const std::string& key) {
  if (node == nullptr) { return nullptr; }
  const auto it = node->labels.find(key);
  return it == node->labels.end() ? nullptr : &it->second;
}

class TopologyKeys {
 public:
  TopologyKeys(const Ledger& ledger, const NearNodes& nodes, std::size_t nodes_of_wide)
      : ledger_{ledger}, nodes_{nodes}, nodes_of_wide_{nodes_of_wide} {}

  /// One more names it. It stays where it is until as many forget it.
  TopologyKey& learn(const std::string& name);
  void forget(const std::string& name);
  /// One that is learned.
  [[nodiscard]] TopologyKey& at(const std::string& name) { return keys_.at(name); }
  /// What is known of the node now; nullptr: it does not exist.
  void nodeChanged(NearNode node, const model::Node* facts);
  /// After nodeChanged(). True: a key is wide now and was not, or the other way round.
  bool decideWidths();
  /// What all of this has cost so far, in nodes looked at.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  const Ledger& ledger_;
  const NearNodes& nodes_;
  std::size_t nodes_of_wide_;
  std::unordered_map<std::string, TopologyKey> keys_;
  std::uint64_t looks_ = 0;
};

}  // namespace gs::sched
