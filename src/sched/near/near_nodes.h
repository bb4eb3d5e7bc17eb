// The nodes, as rules about pods see them: those that exist, and those that pods are bound to of which
// nothing else is known. Numbered by themselves, since the ledger gives its indexes away when a node goes.
// One thread.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "sched/ledger/ledger.h"
#include "sched/near/pod_groups.h"
#include "sched/near/topology_key.h"

namespace gs::sched {

class NearNodes {
 public:
  static constexpr NearNode kNone = ~NearNode{0};
  struct Node {
    model::NodeName name;
    bool exists = false;
    Ledger::NodeIndex index = 0;      // while it exists
    std::size_t facts = 0;            // hash of what rules look at
    std::vector<PodGroup*> groups{};  // with pods there
  };

  /// A new one does not exist yet.
  NearNode of(const model::NodeName& name) {
    const auto [it, fresh] = numbers_.try_emplace(name, static_cast<NearNode>(nodes_.size()));
    if (!fresh) { return it->second; }
    if (vacant_.empty()) {
      nodes_.emplace_back();
    } else {
      it->second = vacant_.back();
      vacant_.pop_back();
    }
    nodes_[it->second].name = name;
    return it->second;
  }
  /// kNone: nothing is known of it.
  [[nodiscard]] NearNode find(const model::NodeName& name) const {
    const auto it = numbers_.find(name);
    return it == numbers_.end() ? kNone : it->second;
  }
  /// The one that exists and has that index in the ledger; else kNone.
  [[nodiscard]] NearNode at(Ledger::NodeIndex index) const {
    return index < by_index_.size() ? by_index_[index] : kNone;
  }
  Node& operator[](NearNode node) { return nodes_[node]; }
  const Node& operator[](NearNode node) const { return nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }  // numbers are below that

  void came(NearNode node, Ledger::NodeIndex index, std::size_t facts) {
    if (nodes_[node].exists) { by_index_[nodes_[node].index] = kNone; }
    if (index >= by_index_.size()) { by_index_.resize(index + 1, kNone); }
    by_index_[index] = node;
    nodes_[node].exists = true;
    nodes_[node].index = index;
    nodes_[node].facts = facts;
  }
  void went(NearNode node) {
    if (std::exchange(nodes_[node].exists, false)) { by_index_[nodes_[node].index] = kNone; }
    nodes_[node].facts = 0;
  }
  void forgetIfNothing(NearNode node) {
    Node& n = nodes_[node];
    if (n.exists || !n.groups.empty()) { return; }
    numbers_.erase(n.name);
    n = Node{};
    vacant_.push_back(node);
  }

 private:
  std::unordered_map<model::NodeName, NearNode> numbers_;
  std::vector<Node> nodes_;
  std::vector<NearNode> by_index_;
  std::vector<NearNode> vacant_;
};

}  // namespace gs::sched
