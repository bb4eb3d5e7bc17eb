// NodeRanking: the best of many nodes, kept up to date while their keys change. It is a tournament tree
// over all nodes, so one change costs O(log nodes). Better is, in this order: the higher score; fewer taints
// that the pod avoids; the smaller `free`, which is the node's number of free devices less its bonus (see
// sched/placement/decider.h); the lower rank, which is by name. Nodes may be in cells
// (sched/request/near_standing.h), which lie side by side in it: then the best of some cells costs
// O(cells * log nodes). One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sched/request/near_standing.h"

namespace gs::sched {

class NodeRanking {
 public:
  using Node = std::uint32_t;
  /// By node; no two are equal. Given by the caller each time, so that many rankings share one.
  using Ranks = std::vector<std::uint32_t>;

  struct Key {
    std::int64_t score = 0;
    std::int32_t free = 0;     // freeAfter()
    bool fits = false;         // nodes that do not fit are never the best
    std::uint8_t avoided = 0;  // model::avoidedOf()
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// Keys that are set one by one, and more nodes (that do not fit), count from the next rebuild() on.
  void prepare(Node node, const Key& key) { keys_[node] = key; }
  void resize(std::size_t nodes) { keys_.resize(nodes); }
  /// After resize(): which node is in which cell. Without it, all are in one.
  void arrange(const NearCells& cells);
  /// After prepare(), resize(), arrange(), or another order of ranks. O(nodes).
  void rebuild(const Ranks& ranks);

  void set(Node node, const Key& key, const Ranks& ranks);
  [[nodiscard]] std::optional<Node> best() const;
  /// Of the nodes in these cells, after arrange().
  [[nodiscard]] std::optional<Node> bestIn(NearCellSet cells, const Ranks& ranks) const;
  /// The cells with a node that fits, of these.
  [[nodiscard]] NearCellSet fitting(NearCellSet cells, const Ranks& ranks) const;
  /// The order, of two that fit.
  [[nodiscard]] static bool isBetter(const Key& a, std::uint32_t rank_a, const Key& b, std::uint32_t rank_b) {
    if (a.score != b.score) { return a.score > b.score; }
    if (a.avoided != b.avoided) { return a.avoided < b.avoided; }
    if (a.free != b.free) { return a.free < b.free; }
    return rank_a < rank_b;
  }
  /// So many GPUs are free, and the node has that bonus (BonusOf).
  [[nodiscard]] static std::int32_t freeAfter(std::int64_t free, std::int32_t bonus) {
    using Limits = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(free - bonus, Limits::min(), Limits::max()));
  }
  [[nodiscard]] const Key& key(Node node) const { return keys_[node]; }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  static constexpr Node kNone = ~Node{0};
  [[nodiscard]] Node leaf(std::size_t i) const {
    if (i >= keys_.size()) { return kNone; }
    const Node node = nodes_.empty() ? static_cast<Node>(i) : nodes_[i];
    return keys_[node].fits ? node : kNone;
  }
  [[nodiscard]] std::size_t leafOf(Node node) const { return leaves_.empty() ? node : leaves_[node]; }
  [[nodiscard]] Node betterOf(Node a, Node b, const Ranks& ranks) const {
    if (a == kNone || b == kNone) { return a == kNone ? b : a; }
    return isBetter(b, a, ranks) ? b : a;
  }
  [[nodiscard]] Node bestInCell(std::size_t cell, const Ranks& ranks) const;
  [[nodiscard]] Node winnerBelow(std::size_t match, const Ranks& ranks) const;
  [[nodiscard]] bool isBetter(Node a, Node b, const Ranks& ranks) const {
    return isBetter(keys_[a], ranks[a], keys_[b], ranks[b]);
  }

  std::vector<Key> keys_;
  // Of arranged ones.
  std::vector<Node> nodes_;            // by leaf
  std::vector<std::uint32_t> leaves_;  // by node
  std::vector<std::size_t> begins_;    // leaves of cell c: begins_[c] to begins_[c + 1]
  /// winner_[1]: of all. Match m is between matches 2m and 2m+1; from size() on they are single nodes.
  std::vector<Node> winner_;
};

}  // namespace gs::sched
