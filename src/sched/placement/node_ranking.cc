#include "sched/placement/node_ranking.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace gs::sched {

NodeRanking::Node NodeRanking::winnerBelow(std::size_t match, const Ranks& ranks) const {
  const std::size_t matches = winner_.size();
  const std::size_t left = 2 * match;
  const bool leaves = left >= matches;
  const Node a = leaves ? leaf(left - matches) : winner_[left];
  const Node b = leaves ? leaf(left + 1 - matches) : winner_[left + 1];
  return betterOf(a, b, ranks);
}

void NodeRanking::arrange(const NearCells& cells) {
  begins_.assign(cells.count + 1, 0);
  for (Node node = 0; node < keys_.size(); ++node) { ++begins_[cells.at(node) + 1U]; }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  nodes_.resize(keys_.size());
  leaves_.resize(keys_.size());
  std::vector<std::size_t> next{begins_.begin(), begins_.end()};
  for (Node node = 0; node < keys_.size(); ++node) {
    const std::size_t leaf = next[cells.at(node)]++;
    nodes_[leaf] = node;
    leaves_[node] = static_cast<std::uint32_t>(leaf);
  }
}

NodeRanking::Node NodeRanking::bestInCell(std::size_t cell, const Ranks& ranks) const {
  const std::size_t matches = winner_.size();
  const auto at = [&](std::size_t m) { return m >= matches ? leaf(m - matches) : winner_[m]; };
  Node best = kNone;
  std::size_t from = begins_[cell] + matches;
  std::size_t to = begins_[cell + 1] + matches;
  for (; from < to; from /= 2, to /= 2) {
    if (from % 2 == 1) { best = betterOf(best, at(from++), ranks); }
    if (to % 2 == 1) { best = betterOf(best, at(--to), ranks); }
  }
  return best;
}

std::optional<NodeRanking::Node> NodeRanking::bestIn(NearCellSet cells, const Ranks& ranks) const {
  Node best = kNone;
  for (std::size_t cell = 0; cell + 1 < begins_.size(); ++cell) {
    if ((cells >> cell & 1U) != 0) { best = betterOf(best, bestInCell(cell, ranks), ranks); }
  }
  return best == kNone ? std::nullopt : std::optional{best};
}

NearCellSet NodeRanking::fitting(NearCellSet cells, const Ranks& ranks) const {
  NearCellSet out = 0;
  for (std::size_t cell = 0; cell + 1 < begins_.size(); ++cell) {
    const NearCellSet bit = NearCellSet{1} << cell;
    if ((cells & bit) != 0 && bestInCell(cell, ranks) != kNone) { out |= bit; }
  }
  return out;
}

void NodeRanking::rebuild(const Ranks& ranks) {
  winner_.assign(std::bit_ceil(std::max<std::size_t>(2, keys_.size())), kNone);
  for (std::size_t match = winner_.size() - 1; match > 0; --match) {
    winner_[match] = winnerBelow(match, ranks);
  }
}

void NodeRanking::set(Node node, const Key& key, const Ranks& ranks) {
  if (keys_[node] == key) { return; }
  keys_[node] = key;
  for (std::size_t match = (winner_.size() + leafOf(node)) / 2; match > 0; match /= 2) {
    const Node winner = winnerBelow(match, ranks);
    if (winner == winner_[match] && winner != node) { return; }
    winner_[match] = winner;
  }
}

std::optional<NodeRanking::Node> NodeRanking::best() const {
  return winner_.empty() || winner_[1] == kNone ? std::nullopt : std::optional{winner_[1]};
}

}  // namespace gs::sched
