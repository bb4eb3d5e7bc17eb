// How the Decider compares nodes for a class with wishes (sched/placement/wishes.h): all whose devices are as
// good as those of the best one, by what the pod would like, then the fuller one, then the first by name.
// Included by decider.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/placement/decider_class.h"
#include "sched/placement/near_look.h"
#include "sched/placement/node_ranking.h"
#include "sched/placement/wishes.h"

namespace gs::sched::decider {

/// The nodes in open cells that fit and have the score of `best`.
[[nodiscard]] inline std::vector<NodeIndex> asGoodAs(const Order& order, NodeIndex best, NearCellSet open,
                                                     const NearStanding* standing) {
  std::vector<NodeIndex> out;
  const std::int64_t score = order.ranking.key(best).score;
  for (NodeIndex i = 0; i < order.ranking.size(); ++i) {
    const NodeRanking::Key& key = order.ranking.key(i);
    if (!key.fits || key.score != score) { continue; }
    if (standing == nullptr || isOpen(open, *standing, i)) { out.push_back(i); }
  }
  return out;
}

/// Out of at least one.
[[nodiscard]] inline NodeIndex mostWishedOf(const Order& order, const std::vector<NodeIndex>& nodes,
                                            const NearStanding* standing, const NodeRanking::Ranks& ranks) {
  if (nodes.size() == 1) { return nodes.front(); }
  std::vector<NodeWish> wishes(nodes.size());
  const auto near = standing == nullptr ? std::vector<NearWish>(nodes.size()) : standing->wishes(nodes);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::int64_t liked = order.liked.empty() ? 0 : order.liked[nodes[k]];
    wishes[k] = {order.ranking.key(nodes[k]).avoided, liked, near[k]};
  }
  const std::vector<std::int64_t> weights = weigh(wishes);
  std::size_t best = 0;
  for (std::size_t k = 1; k < nodes.size(); ++k) {
    const auto free = order.ranking.key(nodes[k]).free;
    const auto best_free = order.ranking.key(nodes[best]).free;
    const bool is_better = weights[k] != weights[best] ? weights[k] > weights[best]
                           : free != best_free         ? free < best_free
                                                       : ranks[nodes[k]] < ranks[nodes[best]];
    if (is_better) { best = k; }
  }
  return nodes[best];
}

/// Of a class with an order that is up to date, whose best node is `best`. Remembered until something
/// changes; else adds to `looks` what it takes.
inline NodeIndex mostWished(Class& c, NodeIndex best, const NodeRanking::Ranks& ranks, std::uint64_t& looks) {
  constexpr std::size_t kWishesPerLook = 4;  // that are compared in the time of one look
  Order& order = *c.order;
  const NearStanding* standing = standingOf(c);
  const NearCellSet open = standing == nullptr ? kAllNearCells : standing->openCells();
  const std::uint64_t version = standing == nullptr ? 0 : standing->wishesVersion();
  MostWished& known = order.wished;
  if (known.node && known.edits == order.edits && known.version == version && known.open == open) {
    return *known.node;
  }
  const auto equals = asGoodAs(order, best, open, standing);
  looks += order.ranking.size() / kNumbersPerLook + equals.size() / kWishesPerLook;
  known = {order.edits, version, open, mostWishedOf(order, equals, standing, ranks)};
  return *known.node;
}

}  // namespace gs::sched::decider
