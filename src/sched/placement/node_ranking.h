// NodeRanking: the best of many nodes, kept up to date while their keys change. It is a tournament tree
// over all nodes, so one change costs O(log nodes). Better is, in this order: the higher score; the smaller
// `free`, which is the node's number of free devices less its bonus (see sched/placement/decider.h); the
// lower rank, which is by name. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace gs::sched {

class NodeRanking {
 public:
  using Node = std::uint32_t;
  /// By node; no two are equal. Given by the caller each time, so that many rankings share one.
  using Ranks = std::vector<std::uint32_t>;

  struct Key {
    std::int64_t score = 0;
    std::int32_t free = 0;  // freeAfter()
    bool fits = false;      // nodes that do not fit are never the best
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// Keys that are set one by one, and more nodes (that do not fit), count from the next rebuild() on.
  void prepare(Node node, const Key& key) { keys_[node] = key; }
  void resize(std::size_t nodes) { keys_.resize(nodes); }
  /// After prepare(), resize(), or another order of ranks. O(nodes).
  void rebuild(const Ranks& ranks);

  void set(Node node, const Key& key, const Ranks& ranks);
  [[nodiscard]] std::optional<Node> best() const;
  /// The order, of two that fit.
  [[nodiscard]] static bool isBetter(const Key& a, std::uint32_t rank_a, const Key& b, std::uint32_t rank_b) {
    if (a.score != b.score) { return a.score > b.score; }
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
    return i < keys_.size() && keys_[i].fits ? static_cast<Node>(i) : kNone;
  }
  [[nodiscard]] Node winnerBelow(std::size_t match, const Ranks& ranks) const;
  [[nodiscard]] bool isBetter(Node a, Node b, const Ranks& ranks) const {
    return isBetter(keys_[a], ranks[a], keys_[b], ranks[b]);
  }

  std::vector<Key> keys_;
  /// winner_[1]: of all. Match m is between matches 2m and 2m+1; from size() on they are single nodes.
  std::vector<Node> winner_;
};

}  // namespace gs::sched
