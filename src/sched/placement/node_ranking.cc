#include "sched/placement/node_ranking.h"

#include <algorithm>
#include <bit>

namespace gs::sched {

NodeRanking::Node NodeRanking::winnerBelow(std::size_t match, const Ranks& ranks) const {
  const std::size_t matches = winner_.size();
  const std::size_t left = 2 * match;
  const bool leaves = left >= matches;
  const Node a = leaves ? leaf(left - matches) : winner_[left];
  const Node b = leaves ? leaf(left + 1 - matches) : winner_[left + 1];
  if (a == kNone || b == kNone) { return a == kNone ? b : a; }
  return isBetter(b, a, ranks) ? b : a;
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
  for (std::size_t match = (winner_.size() + node) / 2; match > 0; match /= 2) {
    const Node winner = winnerBelow(match, ranks);
    if (winner == winner_[match] && winner != node) { return; }
    winner_[match] = winner;
  }
}

std::optional<NodeRanking::Node> NodeRanking::best() const {
  return winner_.empty() || winner_[1] == kNone ? std::nullopt : std::optional{winner_[1]};
}

}  // namespace gs::sched
