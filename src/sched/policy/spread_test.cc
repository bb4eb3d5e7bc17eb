#include "sched/policy/spread.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

TEST(Spread, OneOfEachIslandInTurn) {
  const Topology t = topologyOf(testNode("a").gpus(3, "x").gpus(3, "y").gpus(2, "z").status.devices);
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(t.ids(*spread(t, all, {2, false, 0})), (std::vector<int>{0, 3}));
  EXPECT_EQ(t.ids(*spread(t, all, {3, false, 0})), (std::vector<int>{0, 3, 6}));
  EXPECT_EQ(t.ids(*spread(t, all, {5, false, 0})), (std::vector<int>{0, 1, 3, 4, 6}));
  EXPECT_EQ(t.ids(*spread(t, {0, 1, 2, 5}, {3, false, 0})), (std::vector<int>{0, 1, 5}));
  EXPECT_EQ(spread(t, {0, 1}, {3, false, 0}), std::nullopt);
}

TEST(Spread, FollowsTheOrderGiven) {
  const Topology t = topologyOf(testNode("a").gpus(2, "x").gpus(2, "y").status.devices);
  EXPECT_EQ(spread(t, {3, 2, 1, 0}, {1, false, 0}), bit(3));
  EXPECT_EQ(spread(t, {3, 2, 1, 0}, {3, false, 0}), bit(3) | bit(1) | bit(2));
}

TEST(Spread, RequiredLeavesOneIsland) {
  const Topology t = topologyOf(testNode("a").gpus(1, "x").gpus(3, "y", 300).status.devices);
  EXPECT_EQ(spread(t, {0, 1, 2, 3}, {2, true, 200}), bit(1) | bit(2));
  EXPECT_EQ(spread(t, {0, 1, 2, 3}, {2, true, 600}), std::nullopt);
}

RC_GTEST_PROP(SpreadProperty, UsesAsManyIslandsAsAnySetAndTheLowestIdsOfEach, (std::uint64_t seed)) {
  Rng rng{seed};
  const Topology t = topologyOf(drawDevices(rng, 12));
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(t.size())));
  std::vector<int> order;
  for (int i = 0; i < t.size(); ++i) { order.push_back(i); }
  const Mask set = *spread(t, order, {count, false, 0});
  int most = 0;
  eachSet(t.all(), count, [&](Mask other) { most = std::max(most, islandsOf(t, other)); });
  RC_ASSERT(countOf(set) == count);
  RC_ASSERT(islandsOf(t, set) == most);
  for (const Mask island : t.islands()) {
    RC_ASSERT((set & island) == lowest(island, countOf(set & island)));
  }
}

}  // namespace
}  // namespace gs::sched
