#include "sched/policy/prefer_ids.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

Topology preferNode() { return topologyOf(testNode("a").gpus(4, "x").gpus(4, "y").status.devices); }

TEST(PreferIds, TakesTheFreeOnesInTheOrderGiven) {
  const Topology t = preferNode();
  EXPECT_EQ(preferIds(t, t.all(), {5, 1, 0}, {2, false, 0}), bit(5) | bit(1));
  EXPECT_EQ(preferIds(t, t.all() & ~bit(5), {5, 1, 0}, {2, false, 0}), bit(1) | bit(0));
  EXPECT_EQ(preferIds(t, t.all(), {5, 5, 99, -1, 1}, {2, false, 0}), bit(5) | bit(1))
      << "doubled and unknown ids count for nothing";
}

TEST(PreferIds, TheRestIsContiguousWithWhatWasTaken) {
  const Topology t = preferNode();
  EXPECT_EQ(t.ids(*preferIds(t, t.all(), {6}, {2, false, 0})), (std::vector<int>{5, 6}));
  EXPECT_EQ(t.ids(*preferIds(t, t.all(), {6}, {3, false, 0})), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(t.ids(*preferIds(t, t.all(), {}, {2, false, 0})), (std::vector<int>{0, 1}));
}

TEST(PreferIds, RequiredPassesOverListedIdsOnlyForOtherListedOnes) {
  const Topology t = preferNode();
  EXPECT_EQ(t.ids(*preferIds(t, t.all(), {0, 4, 5}, {2, true, 0})), (std::vector<int>{4, 5}));
  EXPECT_EQ(preferIds(t, t.all(), {0, 4}, {2, true, 0}), std::nullopt)
      << "0 and 1 would be allowed, but 4 is listed and free";
  EXPECT_EQ(preferIds(t, t.all(), {0, 4}, {3, true, 0}), std::nullopt);
  EXPECT_EQ(t.ids(*preferIds(t, t.all(), {3}, {2, true, 600})), (std::vector<int>{2, 3}));
}

RC_GTEST_PROP(PreferIdsProperty, NoIdOutsideTheListWhileOneInTheListIsFree, (std::uint64_t seed)) {
  Rng rng{seed};
  const Topology t = topologyOf(drawDevices(rng, 12));
  const Mask free = rng.next() & t.all();
  RC_PRE(free != 0);
  std::vector<int> list;
  for (std::uint64_t i = rng.below(6); i > 0; --i) { list.push_back(static_cast<int>(rng.below(16))); }
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(countOf(free))));
  const Terms terms{count, rng.chance(30), static_cast<std::int64_t>(rng.below(3) * 300)};
  const auto set = preferIds(t, free, list, terms);
  RC_ASSERT(terms.required || set.has_value());
  if (!set) { return; }
  RC_ASSERT((*set & ~free) == 0U);
  RC_ASSERT(countOf(*set) == count);
  RC_ASSERT(terms.allows(t, *set));
  const std::vector<int> listed = listedIn(t, free, list);
  Mask listed_free = 0;
  for (const int i : listed) { listed_free |= bit(i); }
  const bool outside = (*set & ~listed_free) != 0;
  RC_ASSERT(!outside || (listed_free & ~*set) == 0U);
  if (!terms.required) {  // the first of the list, in its order
    for (std::size_t i = 0; i < listed.size() && i < static_cast<std::size_t>(count); ++i) {
      RC_ASSERT((*set & bit(listed[i])) != 0U);
    }
  }
}

}  // namespace
}  // namespace gs::sched
