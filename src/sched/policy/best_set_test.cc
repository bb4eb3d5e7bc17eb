#include "sched/policy/best_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

TEST(BestSet, TiesGoToTheLowestIds) {
  const Topology t = topologyOf(testNode("a").gpus(8).status.devices);
  EXPECT_EQ(bestSet(t, 0b11101100, 3), Mask{0b101100});
}

TEST(BestSet, ContainsWhatItMust) {
  const Topology t = topologyOf(testNode("a").gpus(4, "x").gpus(4, "y").status.devices);
  EXPECT_EQ(bestSet(t, 0xff, 2, bit(6)), bit(4) | bit(6)) << "the lowest one of its island";
  EXPECT_EQ(bestSet(t, 0xff, 1, bit(0) | bit(1)), std::nullopt);
  EXPECT_EQ(bestSet(t, 0b11, 3), std::nullopt);
}

TEST(BestSet, IsBoundedAndSensibleForMany) {
  // 60 devices in 15 linked quads: C(60, 4) is far beyond kExactSets.
  auto node = testNode("a").gpus(60, "x", 0);
  for (int quad = 0; quad < 60; quad += 4) {
    for (int a = quad; a < quad + 4; ++a) {
      for (int b = a + 1; b < quad + 4; ++b) { node.link(a, b, quad == 32 ? 900 : 300); }
    }
  }
  const Topology t = topologyOf(node.status.devices);
  EXPECT_EQ(bestSet(t, t.all(), 4), Mask{0b1111} << 32);
  EXPECT_EQ(bestSet(t, t.all(), 4, bit(9)), Mask{0b1111} << 8);
  EXPECT_EQ(countOf(*bestSet(t, t.all(), 30)), 30);
}

/// 64 devices, the first of which must be in the set: more sets of 4 than are all tried.
TEST(BestSet, OfManyEachNextIsTheOneWithTheBestWorstLinkToAllBefore) {
  const Topology t = topologyOf(testNode("a")
                                    .gpus(64, "x", 0)
                                    .link(0, 1, 950)
                                    .link(0, 2, 900)
                                    .link(0, 3, 500)
                                    .link(1, 3, 300)
                                    .link(0, 4, 400)
                                    .link(1, 4, 350)
                                    .link(3, 4, 350)
                                    .status.devices);
  EXPECT_EQ(bestSet(t, t.all(), 4, bit(0)), Mask{0b11011});
}

/// Of 32 devices there are 35,960 sets of four. The best one is hidden from who does not try all: each of its
/// devices has one better link to elsewhere.
TEST(BestSet, NotAllOfManySetsAreTried) {
  auto node = testNode("a").gpus(32, "x", 0);
  for (int a = 0; a < 4; ++a) {
    node.link(a, a + 4, 900);
    for (int b = a + 1; b < 4; ++b) { node.link(a, b, 300); }
  }
  const Topology t = topologyOf(node.status.devices);
  EXPECT_NE(bestSet(t, t.all(), 4), Mask{0b1111});
  EXPECT_EQ(bestSet(t, t.all() >> 10, 4), Mask{0b1111}) << "of 22 devices all are tried";
  Meter enough{.steps = 0, .most = 30'000};  // of 7,315 sets of four
  EXPECT_EQ(bestSet(t, t.all() >> 10, 4, 0, &enough), Mask{0b1111});
  Meter too_few{.steps = 0, .most = 20'000};
  EXPECT_NE(bestSet(t, t.all() >> 10, 4, 0, &too_few), Mask{0b1111});
}

/// 48 to 51 are linked, the others of 64 are not, so only who starts from one of the four finds them.
TEST(BestSet, WhereFewStepsAreLeftTheStartsAreAllOverTheDevices) {
  auto node = testNode("a").gpus(64, "x", 0);
  for (int a = 48; a < 52; ++a) {
    for (int b = a + 1; b < 52; ++b) { node.link(a, b, 900); }
  }
  const Topology t = topologyOf(node.status.devices);
  const auto foundFrom = [&](std::uint64_t starts) {
    Meter meter{.steps = 0, .most = starts * 64 * 4};
    const auto set = bestSet(t, t.all(), 4, 0, &meter);
    EXPECT_LE(meter.steps, meter.most) << starts;
    return set;
  };
  for (const std::uint64_t starts : {64, 32, 20, 16}) {
    EXPECT_EQ(foundFrom(starts), Mask{0b1111} << 48) << starts;
  }
  EXPECT_EQ(foundFrom(1), Mask{0b1111}) << "the lowest at last";
}

RC_GTEST_PROP(BestSetProperty, IsTheBestOfAllSetsOfUpTo16Devices, (std::uint64_t seed)) {
  Rng rng{seed};
  const Topology t = topologyOf(drawDevices(rng, 16));
  const Mask free = (rng.next() | (rng.chance(30) ? ~Mask{0} : 0)) & t.all();
  RC_PRE(free != 0);
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(countOf(free))));
  const Mask must = rng.chance(30) ? lowest(free, 1) : 0;
  std::optional<Mask> best;
  eachSet(free, count, [&](Mask set) {
    if ((must & ~set) != 0) { return; }
    const auto c = t.connectionOf(set);
    if (!best || c > t.connectionOf(*best) || (c == t.connectionOf(*best) && idsBefore(set, *best))) {
      best = set;
    }
  });
  RC_ASSERT(bestSet(t, free, count, must) == best);
}

}  // namespace
}  // namespace gs::sched
