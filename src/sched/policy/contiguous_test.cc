#include "sched/policy/contiguous.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

struct ContiguousCase {
  const char* name;
  TestNode node;
  std::vector<int> held;
  Terms terms;
  std::vector<int> expect;  // empty: none
};

class Contiguous : public ::testing::TestWithParam<ContiguousCase> {};

TEST_P(Contiguous, Picks) {
  const auto& c = GetParam();
  const Topology t = topologyOf(c.node.status.devices);
  Mask free = t.all();
  for (const int id : c.held) { free &= ~bit(t.find(id)); }
  const auto set = contiguous(t, free, c.terms);
  EXPECT_EQ(set ? t.ids(*set) : std::vector<int>{}, c.expect);
}

TestNode twoIslands() { return testNode("a").gpus(4, "x", 400).gpus(4, "y", 200); }
TestNode fasterSecond() { return testNode("a").gpus(4, "x", 200).gpus(4, "y", 400); }

// clang-format off
INSTANTIATE_TEST_SUITE_P(Table, Contiguous, ::testing::Values(
    //             name                              node                     held          count required min
    //   expect
    ContiguousCase{"GuideExampleTwo",                testNode("b").gpus(4, "p").gpus(4, "q"), {},
                   {4, false, 0}, {0, 1, 2, 3}},
    ContiguousCase{"WireD3TwoOfFour",                testNode("a").gpus(2, "x", 400).gpus(2, "y", 200), {},
                   {2, false, 0}, {0, 1}},
    ContiguousCase{"WireD3ThreeHaveNoWindow",        testNode("a").gpus(2, "x", 400).gpus(2, "y", 200), {},
                   {3, false, 0}, {0, 1, 2}},
    ContiguousCase{"EarliestWindowWins",             testNode("a").gpus(8), {}, {2, false, 0}, {0, 1}},
    ContiguousCase{"EarliestEvenIfItBreaksALargerOne", testNode("a").gpus(8), {6}, {1, false, 0}, {0}},
    ContiguousCase{"FasterIslandWins",               fasterSecond(), {}, {2, false, 0}, {4, 5}},
    ContiguousCase{"WindowInASlowIslandBeatsAScatteredFastOne", fasterSecond(), {5, 7}, {2, false, 0},
                   {0, 1}},
    ContiguousCase{"NotAcrossIslands",               twoIslands(), {0, 1, 2, 5}, {2, false, 0}, {6, 7}},
    ContiguousCase{"OneIslandWithoutAWindow",        twoIslands(), {1, 4, 6}, {3, false, 0}, {0, 2, 3}},
    ContiguousCase{"BestIslandWithoutAWindow",       fasterSecond(), {1, 5}, {3, false, 0}, {4, 6, 7}},
    ContiguousCase{"AnywhereTakesTheFastPairs",      twoIslands(), {0, 4}, {4, false, 0}, {1, 2, 3, 5}},
    ContiguousCase{"AllOfThem",                      twoIslands(), {}, {8, false, 0},
                   {0, 1, 2, 3, 4, 5, 6, 7}},
    ContiguousCase{"TooMany",                        twoIslands(), {0}, {8, false, 0}, {}},
    ContiguousCase{"RequiredStaysInOneIsland",       twoIslands(), {0, 4}, {4, true, 0}, {}},
    ContiguousCase{"RequiredTakesAnIslandWithoutAWindow", twoIslands(), {1, 5}, {3, true, 0}, {0, 2, 3}},
    ContiguousCase{"RequiredBandwidth",              fasterSecond(), {5}, {2, true, 300}, {6, 7}},
    ContiguousCase{"RequiredBandwidthNobodyHas",     fasterSecond(), {}, {2, true, 600}, {}},
    ContiguousCase{"RequiredOfOneHasNoPairs",        fasterSecond(), {}, {1, true, 600}, {0}},
    ContiguousCase{"WishedBandwidthBeatsTheWindow",  fasterSecond(), {5, 7}, {2, false, 300}, {4, 6}},
    ContiguousCase{"WishedInVain",                   fasterSecond(), {5, 7}, {2, false, 900}, {0, 1}},
    ContiguousCase{"LinksDecideInsideAnIsland",
                   testNode("a").gpus(4, "x").link(0, 1, 100).link(1, 2, 300).link(2, 3, 300),
                   {}, {2, false, 0}, {1, 2}}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

/// What the header promises, as a comparison.
std::tuple<bool, Layout, Connection> worth(const Topology& t, Mask set, const Terms& terms) {
  const Connection c = t.connectionOf(set);
  return {terms.metBy(c), layoutOf(t, set), c};
}

RC_GTEST_PROP(ContiguousProperty, IsTheBestOfAllSetsOfUpTo16Devices, (std::uint64_t seed)) {
  Rng rng{seed};
  const Topology t = topologyOf(drawDevices(rng, 16));
  const Mask free = (rng.next() | (rng.chance(30) ? ~Mask{0} : 0)) & t.all();
  RC_PRE(free != 0);
  const auto count = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(countOf(free))));
  const Terms terms{count, rng.chance(40), static_cast<std::int64_t>(rng.below(4) * 200)};
  const Mask must = rng.chance(20) ? bit(63 - std::countl_zero(free)) : 0;
  std::optional<Mask> best;
  eachSet(free, count, [&](Mask set) {
    if ((must & ~set) != 0 || !terms.allows(t, set)) { return; }
    if (!best || worth(t, set, terms) > worth(t, *best, terms) ||
        (worth(t, set, terms) == worth(t, *best, terms) && idsBefore(set, *best))) {
      best = set;
    }
  });
  RC_CLASSIFY(!best.has_value(), "none allowed");
  RC_ASSERT(contiguous(t, free, terms, must) == best);
}

RC_GTEST_PROP(ContiguousProperty, FindsAContiguousSetWheneverOneExists, (std::uint64_t seed)) {
  Rng rng{seed};
  const auto devices = drawDevices(rng, 16);
  const Topology t = topologyOf(devices);
  const Mask free = rng.next() & t.all();
  RC_PRE(free != 0);
  const auto count = static_cast<std::size_t>(1 + rng.below(4));
  bool exists = false;  // by the words of the rule, without masks
  for (std::size_t i = 0; i + count <= devices.size(); ++i) {
    bool run = true;
    for (std::size_t k = i; k < i + count; ++k) {
      run = run && (free & bit(static_cast<int>(k))) != 0 && devices[k].island == devices[i].island &&
            devices[k].id == devices[i].id + static_cast<int>(k - i);
    }
    exists = exists || run;
  }
  RC_PRE(countOf(free) >= static_cast<int>(count));
  const Mask set = *contiguous(t, free, {static_cast<int>(count), false, 0});
  const auto ids = t.ids(set);
  RC_ASSERT((ids.back() - ids.front() == static_cast<int>(count) - 1 && t.inOneIsland(set)) == exists);
  RC_ASSERT((layoutOf(t, set) == Layout::Consecutive) == exists);
}

}  // namespace
}  // namespace gs::sched
