#include "sched/placement/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "sched/ledger/derive.h"
#include "sched/ledger/test_facts.h"
#include "sched/policy/terms.h"

namespace gs::sched {
namespace {

using model::Health;
using model::Policy;
using model::TopologyMode;

/// What place() says, as text: "0,1", or the misfit's numbers.
std::string placedText(const Verdict<Placement>& v) {
  if (!v) {
    return std::to_string(static_cast<int>(v.error().reason)) + " need " + std::to_string(v.error().need) +
           " have " + std::to_string(v.error().have) +
           (v.error().detail.empty() ? "" : " (" + v.error().detail + ")");
  }
  std::string out;
  for (const int id : v->ids) { out += (out.empty() ? "" : ",") + std::to_string(id); }
  return out;
}

std::string misfitText(Reason r, std::int64_t need, std::int64_t have, const std::string& detail = "") {
  return placedText(tl::unexpected(Misfit{r, detail, need, have}));
}

DeviceRequest with(std::int64_t count, std::optional<TopologyMode> mode, std::int64_t min_gbps,
                   Policy policy = Policy::Contiguous, std::vector<int> ids = {}) {
  DeviceRequest r = testDevices(count, policy);
  r.topology = mode;
  r.min_bandwidth_gbps = min_gbps;
  r.prefer_ids = std::move(ids);
  return r;
}

struct PlaceCase {
  const char* name;
  TestNode node;
  std::vector<int> held;
  DeviceRequest request;
  std::string expect;
};
class Place : public ::testing::TestWithParam<PlaceCase> {};
TEST_P(Place, Gives) {
  const auto& c = GetParam();
  Ledger l;
  c.node.addTo(l);
  for (const int id : c.held) { l.hold(c.node.node.name, id, model::Uid{"other"}, Source::Lease, {}); }
  EXPECT_EQ(placedText(place(stateOf(l, "a"), c.request)), c.expect);
}

TestNode quads() { return testNode("a").gpus(4, "x", 300).gpus(4, "y", 600); }

// clang-format off
INSTANTIATE_TEST_SUITE_P(Table, Place, ::testing::Values(
    //        name                       node                    held     request    expected
    PlaceCase{"OneTakesTheLowestId",     quads(), {0}, testDevices(1), "1"},
    PlaceCase{"ContiguousTakesTheFastIsland", quads(), {}, testDevices(2), "4,5"},
    PlaceCase{"IgnoreSeesOnlyIds",       quads(), {0, 1}, with(4, TopologyMode::Ignore, 900), "2,3,4,5"},
    PlaceCase{"IgnoreStillLikesConsecutiveIds", quads(), {1}, with(2, TopologyMode::Ignore, 0), "2,3"},
    PlaceCase{"PreferredMinimumIsNoReasonToRefuse", quads(), {}, with(2, TopologyMode::Preferred, 900),
              "4,5"},
    PlaceCase{"SpreadOverIslands",       quads(), {}, testDevices(2, Policy::Spread), "0,4"},
    PlaceCase{"SpreadSeesIslandsEvenIfIgnored", quads(), {}, with(2, TopologyMode::Ignore, 0, Policy::Spread),
              "0,4"},
    PlaceCase{"SpreadOfOne",             quads(), {0}, testDevices(1, Policy::Spread), "1"},
    PlaceCase{"PreferIds",               quads(), {2}, with(2, std::nullopt, 0, Policy::PreferIds, {2, 7, 1}),
              "1,7"},
    PlaceCase{"PreferIdsThenContiguous", quads(), {}, with(3, std::nullopt, 0, Policy::PreferIds, {6}),
              "4,5,6"},
    PlaceCase{"PreferIdsIgnoringTopology", quads(), {},
              with(3, TopologyMode::Ignore, 0, Policy::PreferIds, {4}), "2,3,4"},
    PlaceCase{"UnknownOnlyWhenHealthyDoNotSuffice", testNode("a").gpus(4).health(0, Health::Unknown), {},
              testDevices(3), "1,2,3"},
    PlaceCase{"UnknownWhenNeeded",       testNode("a").gpus(4).health(0, Health::Unknown), {1},
              testDevices(3), "0,2,3"},
    PlaceCase{"UnknownWhenHealthyAllowNoSet", quads().health(4, Health::Unknown), {5},
              with(3, TopologyMode::Required, 500), "4,6,7"},
    PlaceCase{"UnhealthyNever",          testNode("a").gpus(2).health(0, Health::Unhealthy), {},
              testDevices(1), "1"},
    PlaceCase{"PartitionedNeverWhole",   testNode("a").gpus(2).partitioned(0), {}, testDevices(1), "1"},
    PlaceCase{"NoGpu",                   testNode("a"), {}, testDevices(1), misfitText(Reason::NoGpu, 0, 0)},
    PlaceCase{"AllPartitioned",          testNode("a").gpus(1).partitioned(0), {}, testDevices(1),
              misfitText(Reason::NoGpu, 0, 0)},
    PlaceCase{"TooFewGpus",              quads(), {}, testDevices(16), misfitText(Reason::TooFewGpus, 16, 8)},
    PlaceCase{"AbsurdlyManyGpus",        quads(), {}, testDevices(std::int64_t{1} << 62),
              misfitText(Reason::TooFewGpus, std::int64_t{1} << 62, 8)},
    PlaceCase{"TooFewHealthy",           testNode("a").gpus(4).health(0, Health::Unhealthy), {},
              testDevices(4), misfitText(Reason::TooFewHealthy, 4, 3)},
    PlaceCase{"TooFewFree",              quads(), {0, 1, 2, 3, 4, 5}, testDevices(4),
              misfitText(Reason::TooFewFree, 4, 2)},
    PlaceCase{"RequiredIslandTooFull",   quads(), {0, 4}, with(4, TopologyMode::Required, 0),
              misfitText(Reason::TopologyUnmet, 4, 3)},
    PlaceCase{"RequiredBandwidthUnmet",  quads(), {}, with(4, TopologyMode::Required, 900),
              misfitText(Reason::TopologyImpossible, 900, 600, "4")},
    PlaceCase{"RequiredBandwidthTellsTheBestIsland", testNode("a").gpus(2, "x", 600).gpus(2, "y", 300), {},
              with(2, TopologyMode::Required, 900), misfitText(Reason::TopologyImpossible, 900, 600, "2")},
    PlaceCase{"RequiredBandwidthUnmetForNow", quads(), {4}, with(4, TopologyMode::Required, 600),
              misfitText(Reason::TopologyUnmet, 600, 300, "4")},
    PlaceCase{"NeverBeforeTooFewFree",   quads(), {0, 1, 2, 3, 4, 5, 6}, with(6, TopologyMode::Required, 0),
              misfitText(Reason::TopologyImpossible, 6, 4)},
    PlaceCase{"NeverBeforeTooFewHealthy",
              testNode("a").gpus(2, "x").gpus(2, "y").health(0, Health::Unhealthy), {},
              with(4, TopologyMode::Required, 0), misfitText(Reason::TopologyImpossible, 4, 2)},
    PlaceCase{"SickGpusCountForNever",   testNode("a").gpus(4).health(0, Health::Unhealthy), {},
              with(4, TopologyMode::Required, 0), misfitText(Reason::TooFewHealthy, 4, 3)},
    PlaceCase{"RequiredListAcrossIslands", quads(), {},
              with(2, TopologyMode::Required, 0, Policy::PreferIds, {0, 4}),
              misfitText(Reason::TopologyUnmet, 2, 1)}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

TEST(PlaceScore, ComparesAcrossNodesInTheOrderOfTheHeader) {
  // Each node is worse than the one before it, for three devices.
  const std::vector<TestNode> best_first{
      testNode("a").gpus(4, "x", 900),                                 // consecutive, fast
      testNode("a").gpus(4, "x", 600),                                 // slower
      testNode("a").gpus(2, "x", 900).gpus(1, "y").gpus(2, "x", 900),  // one island, not consecutive
      testNode("a").gpus(2, "x", 900).gpus(2, "y", 900),               // scattered
      testNode("a").gpus(2, "x", 300).gpus(2, "y", 300),               // scattered and slow
      testNode("a").gpus(4, "x", 900).health(0, Health::Unknown).health(1, Health::Unknown)};  // in doubt
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const auto& node : best_first) {
    Ledger l;
    node.addTo(l);
    const auto placed = place(stateOf(l, "a"), testDevices(3));
    ASSERT_TRUE(placed);
    EXPECT_LT(placed->score, before);
    before = placed->score;
  }
}

std::int64_t scoreOn(const TestNode& node, const DeviceRequest& request) {
  Ledger l;
  node.addTo(l);
  return place(stateOf(l, "a"), request)->score;
}

TEST(PlaceScore, ForOneDeviceBandwidthIsNoPart) {
  EXPECT_EQ(scoreOn(testNode("a").gpus(4, "x", 900), testDevices(1)),
            scoreOn(testNode("a").gpus(1, "y", 0), testDevices(1)));
}

TEST(PlaceScore, IgnoreMakesIslandsAndBandwidthEqual) {
  const auto request = with(2, TopologyMode::Ignore, 900);
  EXPECT_EQ(scoreOn(testNode("a").gpus(4, "x", 900), request),
            scoreOn(testNode("a").gpus(1, "x", 0).gpus(1, "y", 0), request));
}

TEST(PlaceScore, TheWishedBandwidthOutweighsTheLayout) {
  const auto request = with(2, TopologyMode::Preferred, 500);
  EXPECT_GT(scoreOn(testNode("a").gpus(1, "x", 600).gpus(1, "y").gpus(1, "x", 600), request),
            scoreOn(testNode("a").gpus(2, "x", 400), request));
}

TEST(PlaceScore, MoreListedIdsAreBetterForPreferIds) {
  const auto request = with(2, std::nullopt, 0, Policy::PreferIds, {6, 7});
  EXPECT_GT(scoreOn(testNode("a").gpus(8, "x", 300), request),
            scoreOn(testNode("a").gpus(7, "x", 900), request));
}

TEST(PlaceScore, MoreIslandsAreBetterForSpread) {
  const auto request = testDevices(3, Policy::Spread);
  EXPECT_GT(scoreOn(testNode("a").gpus(1, "x", 0).gpus(1, "y", 0).gpus(1, "z", 0), request),
            scoreOn(testNode("a").gpus(2, "x").gpus(2, "y"), request));
}

// ---- Anonymous holders

TEST(PlaceAnonymous, TheyTakeFromWhatIsFree) {
  Ledger l;
  testNode("a").gpus(4).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 2);
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease, {});
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(1))), "1");
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(2))), misfitText(Reason::TooFewFree, 2, 1));
}

TEST(PlaceAnonymous, UnknownDevicesDoNotMakeUpForThem) {
  Ledger l;
  testNode("a").gpus(2).health(1, Health::Unknown).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 1);
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(1))), "0")
      << "one of two is surely free, the healthy one is as likely as the other";
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(2))), misfitText(Reason::TooFewFree, 2, 1));
}

TEST(PlaceAnonymous, HealthyOnesThatMayBeTheirsDoNotSuffice) {
  Ledger l;
  testNode("a").gpus(3).health(0, Health::Unknown).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 1);
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(1))), "1");
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(2))), "0,1") << "of two Healthy ones one is theirs";
}

TEST(PlaceAnonymous, ExactIdsNeedRoomBesideThem) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 1);
  EXPECT_EQ(refuseExact(stateOf(l, "a"), testDevices(1), {1}), std::nullopt);
  EXPECT_EQ(refuseExact(stateOf(l, "a"), testDevices(2), {0, 1}), (Misfit{Reason::TooFewFree, "", 2, 1}));
}

TEST(PlaceAnonymous, SharersMayStillJoinSharedDevices) {
  Ledger l;
  testNode("a").gpus(3).addTo(l);
  DeviceRequest shared = testDevices(1);
  shared.shared = true;
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 2);
  l.hold(model::NodeName{"a"}, 1, model::Uid{"p"}, Source::Lease, {true, 0, 0});
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), "1") << "0 and 2 may be theirs";
  shared.count = 2;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), misfitText(Reason::TooFewFree, 2, 1));
}

TEST(PlaceAnonymous, AListedIdIsKeptAmongWhatSharersMayTouch) {
  Ledger l;
  testNode("a").gpus(3).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"foreign"}, Source::BoundPod, {}, 1);
  DeviceRequest shared = with(2, std::nullopt, 0, Policy::PreferIds, {2});
  shared.shared = true;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), "0,2");
}

TEST(PlaceAnonymous, WhatTheyMayHaveIsNoPartOfAnIslandForSharers) {
  Ledger l;
  testNode("a").gpus(4, "x", 300).addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"counted"}, Source::BoundPod, {}, 2);
  l.hold(model::NodeName{"a"}, 3, model::Uid{"p"}, Source::Lease, {true, 0, 0});
  DeviceRequest shared = with(2, TopologyMode::Required, 600);
  shared.shared = true;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)),
            misfitText(Reason::TopologyImpossible, 600, 300, "2"));
  shared.min_bandwidth_gbps = 300;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), "0,3") << "of 0 to 2 two may be theirs";

  Ledger two;
  testNode("b").gpus(2, "x", 300).gpus(2, "y", 900).addTo(two);
  two.usePod(model::NodeName{"b"}, model::Uid{"counted"}, Source::BoundPod, {}, 2);
  two.hold(model::NodeName{"b"}, 3, model::Uid{"p"}, Source::Lease, {true, 0, 0});
  EXPECT_EQ(placedText(place(stateOf(two, "b"), shared)), "2,3") << "one of 0 to 2 is surely free: that";
  two.hold(model::NodeName{"b"}, 2, model::Uid{"whole"}, Source::Lease, {});
  two.usePod(model::NodeName{"b"}, model::Uid{"counted"}, Source::BoundPod, {}, 1);
  EXPECT_EQ(placedText(place(stateOf(two, "b"), shared)), misfitText(Reason::TopologyUnmet, 2, 1))
      << "one of 0 and 1 may be given, and 3";
}

// ---- Shared

class PlaceShared : public ::testing::Test {
 protected:
  void share(int id, const std::string& uid, Amount amount = {true, 0, 0}) {
    l_.hold(model::NodeName{"a"}, id, model::Uid{uid}, Source::Lease, amount);
  }
  std::string give(DeviceRequest request) {
    request.shared = true;
    return placedText(place(stateOf(l_, "a"), request));
  }
  Ledger l_;
};

TEST_F(PlaceShared, FewestHoldersThenLowestId) {
  testNode("a").gpus(3).addTo(l_);
  EXPECT_EQ(give(testDevices(1)), "0");
  share(0, "p");
  EXPECT_EQ(give(testDevices(1)), "1");
  share(1, "q");
  share(2, "r");
  share(2, "s");
  EXPECT_EQ(give(testDevices(1)), "0");
  EXPECT_EQ(give(testDevices(2)), "0,1");
  share(0, "t");
  EXPECT_EQ(give(testDevices(1)), "1");
}

TEST_F(PlaceShared, NotWithExclusiveOrFractionalHolders) {
  testNode("a").gpus(3).addTo(l_);
  share(0, "p", {});
  share(1, "q", {true, 500, 0});
  EXPECT_EQ(give(testDevices(1)), "2");
  EXPECT_EQ(give(testDevices(2)), misfitText(Reason::TooFewFree, 2, 1));
  share(2, "r");
  EXPECT_EQ(placedText(place(stateOf(l_, "a"), testDevices(1))), misfitText(Reason::TooFewFree, 1, 0))
      << "a shared device is not free for Exclusive";
}

TEST_F(PlaceShared, AtMostKMaxSharers) {
  testNode("a").gpus(1).addTo(l_);
  for (std::size_t i = 0; i + 1 < model::kMaxSharers; ++i) { share(0, "p" + std::to_string(i)); }
  EXPECT_EQ(give(testDevices(1)), "0");
  share(0, "last");
  EXPECT_EQ(give(testDevices(1)), misfitText(Reason::TooFewFree, 1, 0));
}

TEST_F(PlaceShared, AsManyAsTheRequestAllows) {
  testNode("a").gpus(1).addTo(l_);
  share(0, "p");
  sched::DeviceRequest two = testDevices(1);
  two.shared = true;
  two.max_sharers = 2;
  EXPECT_TRUE(tryPlace(stateOf(l_, "a"), two).has_value());
  share(0, "q");
  EXPECT_FALSE(tryPlace(stateOf(l_, "a"), two).has_value());
}

TEST_F(PlaceShared, KeepsPoliciesAndRequiredTopology) {
  testNode("a").gpus(2, "x", 300).gpus(2, "y", 600).addTo(l_);
  share(0, "p");
  EXPECT_EQ(give(testDevices(2)), "1,2");
  EXPECT_EQ(give(testDevices(2, Policy::Spread)), "1,2");
  EXPECT_EQ(give(with(2, TopologyMode::Required, 0)), "0,1") << "1 has no holder, and only 0 may go with it";
  EXPECT_EQ(give(with(2, TopologyMode::Required, 600)), "2,3");
  EXPECT_EQ(give(with(2, TopologyMode::Required, 900)),
            misfitText(Reason::TopologyImpossible, 900, 600, "2"));
  EXPECT_EQ(give(with(2, std::nullopt, 0, Policy::PreferIds, {3, 0, 1})), "0,3");
  EXPECT_EQ(give(with(2, std::nullopt, 0, Policy::PreferIds, {0})), "0,1");
}

TEST_F(PlaceShared, HealthyOnesFirst) {
  testNode("a").gpus(2).health(0, Health::Unknown).addTo(l_);
  share(1, "p");
  EXPECT_EQ(give(testDevices(1)), "1");
  EXPECT_EQ(give(testDevices(2)), "0,1");
}

// ---- self and exact

TEST(PlaceSelf, ItsOwnHoldingsDoNotCount) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease, {});
  l.hold(model::NodeName{"a"}, 1, model::Uid{"q"}, Source::Lease, {});
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(1))), misfitText(Reason::TooFewFree, 1, 0));
  EXPECT_EQ(placedText(place(stateOf(l, "a"), testDevices(1), model::Uid{"p"})), "0");
}

TEST(RefuseExact, AsksTheSameOfTheGivenIds) {
  Ledger l;
  testNode("a").gpus(4, "x").gpus(2, "y").health(3, Health::Unhealthy).health(2, Health::Unknown).addTo(l);
  const model::Uid p{"p"};
  l.hold(model::NodeName{"a"}, 0, p, Source::Lease, {});
  l.hold(model::NodeName{"a"}, 5, model::Uid{"q"}, Source::Lease, {});
  const NodeState& n = stateOf(l, "a");
  const auto rejection = [&](const DeviceRequest& r, const std::vector<int>& ids) {
    const auto misfit = refuseExact(n, r, ids, p);
    return misfit ? placedText(tl::unexpected(*misfit)) : "fits";
  };
  EXPECT_EQ(rejection(testDevices(1), {0}), "fits") << "held by itself";
  EXPECT_EQ(rejection(testDevices(2), {0, 2}), "fits") << "Unknown is allowed: there is no other choice";
  EXPECT_EQ(rejection(testDevices(2), {0, 9}), misfitText(Reason::TooFewGpus, 2, 1));
  EXPECT_EQ(rejection(testDevices(2), {0}), misfitText(Reason::TooFewGpus, 2, 1));
  EXPECT_EQ(rejection(testDevices(1), {0, 1}), misfitText(Reason::TooFewGpus, 1, 2));
  EXPECT_EQ(rejection(testDevices(2), {0, 3}), misfitText(Reason::TooFewHealthy, 2, 1));
  EXPECT_EQ(rejection(testDevices(2), {0, 5}), misfitText(Reason::TooFewFree, 2, 1));
  EXPECT_EQ(rejection(with(2, TopologyMode::Required, 0), {0, 4}),
            misfitText(Reason::TopologyImpossible, 2, 1));
  EXPECT_EQ(rejection(with(2, TopologyMode::Required, 900), {0, 1}),
            misfitText(Reason::TopologyImpossible, 900, 600, "2"));
  EXPECT_EQ(rejection(with(2, TopologyMode::Required, 0), {3, 5}),
            misfitText(Reason::TopologyImpossible, 2, 1))
      << "one is sick and one held, which will pass";
  EXPECT_EQ(rejection(with(2, TopologyMode::Required, 600), {0, 1}), "fits");
}

// ---- Nodes with more devices than a mask has bits

TEST(PlaceWide, TheSameRulesOnMoreThan64Devices) {
  Ledger l;
  testNode("a").gpus(70, "x", 300).gpus(30, "y", 900).addTo(l);
  const NodeState& n = stateOf(l, "a");
  ASSERT_TRUE(n.isWide());
  EXPECT_EQ(n.free_devices, 100);
  EXPECT_EQ(placedText(place(n, testDevices(1))), "0");
  EXPECT_EQ(placedText(place(n, testDevices(3))), "70,71,72")
      << "the fast island is beyond the first 64 devices";
  EXPECT_EQ(placedText(place(n, with(2, TopologyMode::Required, 1'000))),
            misfitText(Reason::TopologyUnmet, 1'000, 300, "2"));
  EXPECT_EQ(placedText(place(n, testDevices(65))), misfitText(Reason::TooFewGpus, 65, 64));
  for (int id = 0; id < 100; ++id) {
    if (id != 64 && id != 99) { l.hold(model::NodeName{"a"}, id, model::Uid{"p"}, Source::Lease, {}); }
  }
  EXPECT_EQ(placedText(place(n, testDevices(2))), "64,99");
  EXPECT_EQ(placedText(place(n, testDevices(3))), misfitText(Reason::TooFewFree, 3, 2));
  EXPECT_EQ(n.free_devices, 2);
  EXPECT_EQ(refuseExact(n, testDevices(2), {64, 99}), std::nullopt);
  DeviceRequest shared = testDevices(1);
  shared.shared = true;
  EXPECT_EQ(placedText(place(n, shared)), "64");
}

TEST(PlaceWide, SharersTakeNoMoreUntouchedDevicesThanAreSurelyFree) {
  Ledger l;
  testNode("a").gpus(70, "x").gpus(30, "y").addTo(l);
  for (const int id : {70, 71}) {
    l.hold(model::NodeName{"a"}, id, model::Uid{"p"}, Source::Lease, {true, 0, 0});
  }
  l.usePod(model::NodeName{"a"}, model::Uid{"counted"}, Source::BoundPod, {}, 97);
  DeviceRequest shared = testDevices(3);
  shared.shared = true;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), "70,71,72") << "98 are untouched, and one is free";
  shared.count = 4;
  EXPECT_EQ(placedText(place(stateOf(l, "a"), shared)), misfitText(Reason::TooFewFree, 4, 3));
}

TEST(PlaceWide, WithoutItsAgentAllItsDevicesAreUnknown) {
  Ledger l;
  testNode("a").gpus(100).addTo(l);
  testNode("b").gpus(100).addTo(l);
  l.setAgentStale(model::NodeName{"b"}, true);
  const auto fresh = place(stateOf(l, "a"), testDevices(2));
  const auto stale = place(stateOf(l, "b"), testDevices(2));
  ASSERT_TRUE(fresh && stale);
  EXPECT_GT(fresh->score, stale->score);
}

// ---- Laws

/// Any node that facts can make, with holders and anonymous pods.
struct DrawnNode {
  Ledger ledger;
  TestFacts facts;
  explicit DrawnNode(std::uint64_t seed) : facts{ledger, seed} {
    facts.fill();
    for (std::uint64_t i = facts.rng().below(60); i > 0; --i) { facts.step(); }
  }
  [[nodiscard]] const NodeState& any() {
    return ledger.at(static_cast<Ledger::NodeIndex>(facts.rng().below(ledger.size())));
  }
};

/// Nobody holds anything there, and all of it works.
NodeState idle(NodeState n) {
  for (auto& d : n.devices) {
    d.holders.clear();
    d.facts.health = Health::Healthy;
  }
  n.anonymous = 0;
  n.agent_stale = false;
  deriveDevices(n, nullptr);
  return n;
}

RC_GTEST_PROP(PlaceProperty, NeverIsSaidWhereTheIdleNodeWouldNotDoEither, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  PodRequest pod = drawRequest(drawn.facts.rng());
  RC_PRE(pod.devices.has_value());
  DeviceRequest& r = *pod.devices;
  r.policy =
      r.policy == Policy::PreferIds ? Policy::Contiguous : r.policy;  // it may refuse an idle node only
  if (drawn.facts.rng().chance(50)) { r.topology = TopologyMode::Required; }
  const auto placed = place(n, r);
  RC_PRE(!placed.has_value());
  RC_ASSERT(!n.isWide());
  const bool is_never = placed.error().reason <= Reason::TopologyImpossible;
  RC_CLASSIFY(placed.error().reason == Reason::TopologyImpossible, "impossible");
  RC_CLASSIFY(!is_never, "until GPUs are free");
  RC_ASSERT(is_never == !place(idle(n), r).has_value());
}

/// Nobody has it but sharers without amounts, one of whom surely; and it is there to be given.
bool mayBeShared(const NodeState& n, int id) {
  const DeviceState* d = n.device(id);
  if (d == nullptr) { return !n.has_status; }
  const bool shared = std::all_of(d->holders.begin(), d->holders.end(), [](const Holder& h) {
    return h.amount == Amount{true, 0, 0};
  });
  const bool sure =
      std::any_of(d->holders.begin(), d->holders.end(), [](const Holder& h) { return h.isSure(); });
  return (!n.has_status || d->givable()) && shared && (sure || d->holders.empty());
}

RC_GTEST_PROP(PlaceProperty, WhoNamesGpusGetsTheseWheneverHeMay, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  std::set<int> ids;
  for (std::uint64_t i = 1 + drawn.facts.rng().below(3); i > 0; --i) {
    ids.insert(static_cast<int>(drawn.facts.rng().below(10)));
  }
  const DeviceRequest r = *testMapped("any", {ids.begin(), ids.end()}).devices;
  const bool each_may = std::all_of(ids.begin(), ids.end(), [&](int id) { return mayBeShared(n, id); });
  const auto held = [](const DeviceState& d) { return !d.holders.empty(); };
  const std::int64_t untouched =
      n.has_status ? std::count_if(n.devices.begin(), n.devices.end(),
                                   [&](const DeviceState& d) { return d.givable() && !held(d); })
                   : n.node.allocatable.get(model::kNvidiaGpu) -
                         std::count_if(n.devices.begin(), n.devices.end(), held);
  const auto fresh = std::count_if(ids.begin(), ids.end(), [&](int id) {
    return n.device(id) == nullptr || n.device(id)->holders.empty();
  });
  const bool room = n.anonymous == 0 || fresh == 0 || fresh <= untouched - n.anonymous;
  const std::int64_t offered = n.node.allocatable.get(model::kNvidiaGpu);
  const bool few = n.has_status || offered <= 0 || static_cast<std::int64_t>(ids.size()) <= offered;
  const auto placed = place(n, r);
  RC_CLASSIFY(placed.has_value(), "placed");
  RC_CLASSIFY(each_may && !room, "perhaps in use");
  RC_ASSERT(placed.has_value() == (each_may && room && few));
  RC_ASSERT(tryPlace(n, r).has_value() == placed.has_value());
  RC_ASSERT(!placed || placed->ids == r.exact);
  RC_ASSERT(refuseExact(n, r, r.exact).has_value() == !placed.has_value());
}

RC_GTEST_PROP(PlaceProperty, GivesOnlyWhatMayBeGivenOrSaysWhyNot, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  PodRequest pod = drawRequest(drawn.facts.rng());
  RC_PRE((pod.devices && pod.devices->exact.empty()));  // else it evaluates both sides of &&
  const DeviceRequest& r = *pod.devices;
  const auto placed = place(n, r);
  RC_CLASSIFY(placed.has_value(), "placed");
  RC_ASSERT(placed.has_value() == tryPlace(n, r).has_value());
  if (!placed) {
    RC_ASSERT(placed.error().reason >= Reason::NoGpu);
    RC_ASSERT(r.topology == TopologyMode::Required || placed.error().reason != Reason::TopologyImpossible);
    RC_ASSERT(placed.error().reason != Reason::TopologyUnmet || r.topology == TopologyMode::Required);
    RC_ASSERT(placed.error().reason == Reason::NoGpu || placed.error().have < placed.error().need);
    return;
  }
  RC_ASSERT(refuseExact(n, r, placed->ids) == std::nullopt);
  RC_ASSERT(std::is_sorted(placed->ids.begin(), placed->ids.end()));
  RC_ASSERT(static_cast<std::int64_t>(placed->ids.size()) == r.count);
  const auto score_says_healthy = placed->score >= kHealthyScore;
  const bool healthy = !n.agent_stale && std::all_of(placed->ids.begin(), placed->ids.end(), [&](int id) {
    return n.device(id)->facts.health == Health::Healthy;
  });
  RC_ASSERT(score_says_healthy == healthy);
}

/// Is there an allowed set, by trying each?
bool anySetIsAllowed(const NodeState& n, const DeviceRequest& r) {
  const Mask free = (n.healthy | n.unknown) & ~n.held;
  const Terms terms{static_cast<int>(r.count), true, r.min_bandwidth_gbps};
  bool found = false;
  eachSet(free, static_cast<int>(r.count), [&](Mask set) {
    found = found || (countOf(free) - n.anonymous >= r.count && terms.allows(*n.topology, set));
  });
  return found;
}

RC_GTEST_PROP(PlaceProperty, RequiredIsRefusedExactlyWhenNoSetIsAllowed, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  RC_PRE(static_cast<bool>(n.topology));
  Rng& rng = drawn.facts.rng();
  const auto policy = rng.chance(50) ? Policy::Contiguous : Policy::Spread;
  const auto r = with(static_cast<std::int64_t>(1 + rng.below(4)), TopologyMode::Required,
                      static_cast<std::int64_t>(150 * rng.below(6)), policy);
  const auto placed = place(n, r);
  RC_CLASSIFY(placed.has_value(), "placed");
  RC_ASSERT(placed.has_value() == anySetIsAllowed(n, r));
}

RC_GTEST_PROP(PlaceProperty, OtherModesRefuseOnlyForTooFew, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  Rng& rng = drawn.facts.rng();
  const auto mode = rng.chance(50) ? std::optional{TopologyMode::Preferred} : std::nullopt;
  const auto r = with(static_cast<std::int64_t>(1 + rng.below(4)), mode,
                      static_cast<std::int64_t>(300 * rng.below(4)), static_cast<Policy>(rng.below(3)));
  const std::int64_t free = countOf((n.healthy | n.unknown) & ~n.held) - n.anonymous;
  RC_ASSERT(place(n, r).has_value() == (free >= r.count));
}

RC_GTEST_PROP(PlaceProperty, PreferIdsHoldsAlsoWithHealthAndSharing, (std::uint64_t seed)) {
  DrawnNode drawn{seed};
  const NodeState& n = drawn.any();
  Rng& rng = drawn.facts.rng();
  auto r =
      with(static_cast<std::int64_t>(1 + rng.below(4)), std::nullopt, 0, Policy::PreferIds,
           {static_cast<int>(rng.below(9)), static_cast<int>(rng.below(9)), static_cast<int>(rng.below(9))});
  r.shared = rng.chance(50);
  const auto placed = place(n, r);
  if (!placed) { return; }
  const auto has = [](const std::vector<int>& list, int id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  // Of untouched GPUs some may be those of pods that are only counted: who shares joins others then.
  if (r.shared && n.anonymous > 0) { return; }
  const bool all_healthy = placed->score >= kHealthyScore;  // then Unknown ones were not offered
  for (const int id : placed->ids) {
    if (has(r.prefer_ids, id)) { continue; }
    for (const int listed : r.prefer_ids) {
      const DeviceState* d = n.device(listed);
      if (d == nullptr || !d->givable() || !d->holders.empty() || has(placed->ids, listed)) { continue; }
      RC_ASSERT(all_healthy && (d->facts.health != Health::Healthy || n.agent_stale));
    }
  }
}

}  // namespace
}  // namespace gs::sched
