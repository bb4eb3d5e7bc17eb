#include "sched/policy/first_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

TEST(FirstSet, TakesTheFirstOnesWhereNothingIsRequired) {
  const Topology t = topologyOf(testNode("a").gpus(2, "x").gpus(2, "y").status.devices);
  EXPECT_EQ(firstSet(t, {3, 1, 0}, {2, false, 0}), bit(3) | bit(1));
  EXPECT_EQ(firstSet(t, {3, 1, 0}, {3, false, 0}, bit(0)), bit(0) | bit(3) | bit(1));
  EXPECT_EQ(firstSet(t, {3, 1}, {3, false, 0}), std::nullopt);
}

TEST(FirstSet, PassesOverWhatCannotBeInARequiredSet) {
  const Topology t = topologyOf(testNode("a").gpus(2, "x", 300).gpus(2, "y", 600).status.devices);
  EXPECT_EQ(firstSet(t, {0, 2, 1, 3}, {2, true, 0}), bit(0) | bit(1));
  EXPECT_EQ(firstSet(t, {0, 2, 1, 3}, {2, true, 600}), bit(2) | bit(3));
  EXPECT_EQ(firstSet(t, {0, 2, 1, 3}, {2, true, 900}), std::nullopt);
  EXPECT_EQ(firstSet(t, {0, 2, 1, 3}, {2, true, 0}, bit(3)), bit(3) | bit(2));
}

TEST(FirstSet, WhatMustBeInHasToGoTogether) {
  const Topology t = topologyOf(testNode("a").gpus(2, "x").gpus(2, "y").status.devices);
  EXPECT_EQ(firstSet(t, {0, 1, 2, 3}, {2, true, 0}, bit(0) | bit(2)), std::nullopt);
  EXPECT_EQ(firstSet(t, {0, 1, 2, 3}, {2, true, 0}, bit(2) | bit(3)), bit(2) | bit(3));
}

TEST(FirstSet, ComesBackFromDeadEnds) {
  // 0-11 in three parts that are linked only to each other (so three at most), then four that are linked.
  auto node = testNode("a").gpus(16, "x", 0);
  for (int a = 0; a < 16; ++a) {
    for (int b = a + 1; b < 16; ++b) {
      if ((b < 12 && a % 3 != b % 3) || a >= 12) { node.link(a, b, 600); }
    }
  }
  std::vector<int> order(16);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(firstSet(topologyOf(node.status.devices), order, {4, true, 600}), Mask{0xf000});
}

TEST(FirstSet, GivesUpInsteadOfSearchingForEver) {
  // 60 devices of which each misses a few: no 40 are all linked, and proving it would take years.
  Rng rng{1};
  auto node = testNode("a").gpus(60, "x", 0);
  for (int a = 0; a < 60; ++a) {
    for (int b = a + 1; b < 60; ++b) {
      if (!rng.chance(25)) { node.link(a, b, 600); }
    }
  }
  std::vector<int> order(60);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(firstSet(topologyOf(node.status.devices), order, {40, true, 600}), std::nullopt);
}

RC_GTEST_PROP(FirstSetProperty, IsTheFirstAllowedSetOfUpTo16Devices, (std::uint64_t seed)) {
  Rng rng{seed};
  const Topology t = topologyOf(drawDevices(rng, 16));
  std::vector<int> order;
  for (int i = 0; i < t.size(); ++i) {
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(rng.below(order.size() + 1)), i);
  }
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(t.size())));
  const Terms terms{count, true, static_cast<std::int64_t>(rng.below(7) * 100)};
  const Mask must = rng.chance(50) ? lowest(t.all(), static_cast<int>(rng.below(4))) : 0;
  std::vector<std::size_t> best;  // places in the order
  std::optional<Mask> best_set;
  eachSet(t.all(), count, [&](Mask set) {
    if ((must & ~set) != 0 || !terms.allows(t, set)) { return; }
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < order.size(); ++at) {
      if ((set & bit(order[at])) != 0) { places.push_back(at); }
    }
    if (!best_set || places < best) {
      best = places;
      best_set = set;
    }
  });
  RC_ASSERT(firstSet(t, order, terms, must) == best_set);
}

}  // namespace
}  // namespace gs::sched
