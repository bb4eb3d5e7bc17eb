// In which domain each node is by one topology key: the nodes with one value of that label are a domain.
//
// A key is wide when its domains have many nodes on average, as zones have: what changes in such a domain is
// told of the domain, not of each of its nodes (sched/request/near_standing.h). It becomes so at kNodesOfWide
// nodes in a domain, and stays so down to half of that, so that it does not change with each node.
// Cost: O(1) to ask, and for a node that comes or changes its value; O(nodes of the domain) for one that
// leaves it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/request/near_standing.h"

namespace gs::sched {

/// A node as NearNodes numbers it.
using NearNode = std::uint32_t;
/// 0: none, the node has no such label.
using DomainId = std::uint32_t;

class TopologyKey {
 public:
  static constexpr std::size_t kNodesOfWide = 16;

  explicit TopologyKey(std::size_t nodes_of_wide) : nodes_of_wide_{nodes_of_wide} {}

  [[nodiscard]] DomainId at(NearNode node) const { return node < of_.size() ? of_[node] : DomainId{0}; }
  /// The value of that label of an existing node; nullptr: it has none, or does not exist. The number of a
  /// domain without a node is given to another one.
  void set(NearNode node, const std::string* value);
  /// It is in the domain of this value, or in none.
  [[nodiscard]] bool isAt(NearNode node, const std::string* value) const;
  [[nodiscard]] const std::vector<NearNode>& nodesOf(DomainId domain) const { return domains_[domain].nodes; }
  [[nodiscard]] std::size_t domains() const { return ids_.size(); }

  [[nodiscard]] bool isWide() const { return is_wide_; }
  /// After set(), of one node or of several. True: it is wide now and was not, or the other way round.
  bool decideWidth();

  int users = 0;  // rules that name it, kept by whoever has the keys

 private:
  struct Domain {
    std::string value;
    std::vector<NearNode> nodes;
  };
  void leave(NearNode node);

  std::size_t nodes_of_wide_;
  std::vector<DomainId> of_;  // by node
  std::unordered_map<std::string, DomainId> ids_;
  std::vector<Domain> domains_{1};
  std::vector<DomainId> vacant_;
  std::size_t nodes_ = 0;  // in some domain
  bool is_wide_ = false;
};

}  // namespace gs::sched
