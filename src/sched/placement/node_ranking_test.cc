#include "sched/placement/node_ranking.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <tuple>

#include "base/random.h"

namespace gs::sched {
namespace {

TEST(NodeRanking, HigherScoreThenFewerFreeThenRank) {
  NodeRanking r;
  const NodeRanking::Ranks ranks{3, 2, 1, 0};
  r.resize(4);
  r.rebuild(ranks);
  EXPECT_EQ(r.best(), std::nullopt);
  r.set(0, {5, 1, true}, ranks);
  r.set(1, {5, 1, true}, ranks);
  EXPECT_EQ(r.best(), 1U) << "its rank is lower";
  r.set(2, {5, 0, true}, ranks);
  EXPECT_EQ(r.best(), 2U) << "it is fuller";
  r.set(3, {6, 9, true}, ranks);
  EXPECT_EQ(r.best(), 3U) << "its score is higher";
  r.set(3, {7, 0, false}, ranks);
  EXPECT_EQ(r.best(), 2U) << "it does not fit";
}

TEST(NodeRanking, AnEmptyOneHasNoBest) {
  NodeRanking r;
  EXPECT_EQ(r.best(), std::nullopt);
  r.rebuild({});
  EXPECT_EQ(r.best(), std::nullopt);
}

RC_GTEST_PROP(NodeRankingProperty, KnowsTheBestOfAllAfterAnyChange, (std::uint64_t seed)) {
  Rng rng{seed};
  NodeRanking r;
  NodeRanking::Ranks ranks;
  std::vector<NodeRanking::Key> keys;
  for (int i = 0; i < 200; ++i) {
    if (keys.empty() || rng.chance(3)) {  // more nodes, and another order of them
      keys.resize(keys.size() + 1 + rng.below(9));
      ranks.resize(keys.size());
      std::iota(ranks.begin(), ranks.end(), 0U);
      for (std::size_t at = ranks.size(); at > 1; --at) { std::swap(ranks[at - 1], ranks[rng.below(at)]); }
      r.resize(keys.size());
      r.rebuild(ranks);
    }
    const auto node = static_cast<NodeRanking::Node>(rng.below(keys.size()));
    keys[node] = {static_cast<std::int64_t>(rng.below(3)), static_cast<std::int32_t>(rng.below(3)),
                  rng.chance(70)};
    r.set(node, keys[node], ranks);
    std::optional<NodeRanking::Node> best;
    const auto place = [&](NodeRanking::Node n) {
      return std::tuple{-keys[n].score, keys[n].free, ranks[n]};
    };
    for (NodeRanking::Node n = 0; n < keys.size(); ++n) {
      if (keys[n].fits && (!best || place(n) < place(*best))) { best = n; }
    }
    RC_ASSERT(r.best() == best);
  }
}

RC_GTEST_PROP(NodeRankingProperty, KnowsTheBestOfTheNodesInSomeCells, (std::uint64_t seed)) {
  Rng rng{seed};
  NodeRanking r;
  const std::size_t nodes = 1 + rng.below(40);
  NearCells cells;
  cells.count = 1 + rng.below(5);
  NodeRanking::Ranks ranks(nodes);
  std::iota(ranks.begin(), ranks.end(), 0U);
  for (std::size_t i = 0; i + 1 < nodes; ++i) {  // the last one is beyond the end
    cells.of.push_back(static_cast<NearCells::Cell>(rng.below(cells.count)));
  }
  r.resize(nodes);
  r.arrange(cells);
  r.rebuild(ranks);
  for (int i = 0; i < 60; ++i) {
    const auto node = static_cast<NodeRanking::Node>(rng.below(nodes));
    r.set(node,
          {static_cast<std::int64_t>(rng.below(3)), static_cast<std::int32_t>(rng.below(3)), rng.chance(60)},
          ranks);
    const NearCellSet open = rng.next();
    std::optional<NodeRanking::Node> best;
    NearCellSet fitting = 0;
    for (NodeRanking::Node n = 0; n < nodes; ++n) {
      if (!r.key(n).fits || (open >> cells.at(n) & 1U) == 0) { continue; }
      fitting |= NearCellSet{1} << cells.at(n);
      if (!best || NodeRanking::isBetter(r.key(n), ranks[n], r.key(*best), ranks[*best])) { best = n; }
    }
    RC_ASSERT(r.bestIn(open, ranks) == best);
    RC_ASSERT(r.fitting(open, ranks) == fitting);
  }
}

}  // namespace
}  // namespace gs::sched
