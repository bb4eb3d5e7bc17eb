#include "sched/policy/topology.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

TEST(Topology, WithoutLinksAnIslandHasItsBandwidthAndOthersNone) {
  const Topology t = topologyOf(testNode("a").gpus(2, "x", 600).gpus(2, "y", 300).status.devices);
  EXPECT_EQ(t.gbps(0, 1), 600);
  EXPECT_EQ(t.gbps(2, 3), 300);
  EXPECT_EQ(t.gbps(1, 2), 0);
  EXPECT_EQ(t.islands(), (std::vector<Mask>{0b0011, 0b1100}));
  EXPECT_TRUE(t.isEven(0b0011));
  EXPECT_FALSE(t.isEven(0b0110));
}

TEST(Topology, TheSlowerOfTwoDevicesDecidesTheirPair) {
  auto devices = testNode("a").gpus(2, "x", 600).status.devices;
  devices[1].bandwidth_gbps = 200;
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 200);
}

TEST(Topology, LinksReplaceTheIslandsBandwidth) {
  auto devices = testNode("a").gpus(4, "x", 600).link(0, 1, 900).link(2, 3, 50).status.devices;
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 900);
  EXPECT_EQ(pairGbps(devices[0], devices[2]), 0) << "both have links, and none to each other";
  devices[0].links[0].gbps = 800;
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 800) << "the smaller where both say";
  devices[1].links.clear();
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 800) << "one word is enough";
  EXPECT_EQ(pairGbps(devices[1], devices[0]), 800);
}

TEST(Topology, LinksMayCrossIslands) {
  const auto t = topologyOf(testNode("a").gpus(2, "x").gpus(2, "y").link(1, 2, 64).status.devices);
  EXPECT_EQ(t.gbps(1, 2), 64);
  EXPECT_FALSE(t.inOneIsland(0b0110));
}

TEST(Topology, AbsurdBandwidthsAreKeptInRange) {
  auto devices = testNode("a").gpus(2, "x", std::int64_t{1} << 60).status.devices;
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 1'000'000);
  devices[0].bandwidth_gbps = -5;
  EXPECT_EQ(pairGbps(devices[0], devices[1]), 0);
}

TEST(Topology, DevicesThatNameNoIslandShareOne) {
  const Topology t = topologyOf(testNode("a").gpus(3, "", 0).status.devices);
  EXPECT_EQ(t.islands().size(), 1U);
}

TEST(Topology, JoinedIdsFollowEachOtherInOneIsland) {
  auto devices = testNode("a").gpus(3, "x").gpus(2, "y").status.devices;
  devices[2].id = 7;  // 0 1 7 | 8 9
  devices[3].id = 8;
  devices[4].id = 9;
  const Topology t = topologyOf(devices);
  EXPECT_EQ(t.joined(), Mask{0b10010});
  EXPECT_EQ(t.find(8), 3);
  EXPECT_EQ(t.find(2), -1);
  EXPECT_EQ(t.ids(0b10100), (std::vector<int>{7, 9}));
}

/// In the other order: it is the same, but for what comes first.
TEST(Topology, MayBeginWithTheLastDevice) {
  auto devices = testNode("a").gpus(3, "x").gpus(2, "y").link(0, 1, 64).status.devices;
  devices[2].id = 7;  // 9 8 | 7 1 0
  devices[3].id = 8;
  devices[4].id = 9;
  Topology::Devices descending;
  for (auto it = devices.rbegin(); it != devices.rend(); ++it) { descending.push_back(&*it); }
  const Topology t{descending};
  EXPECT_EQ(t.joined(), Mask{0b10010});
  EXPECT_EQ(t.find(8), 1);
  EXPECT_EQ(t.find(0), 4);
  EXPECT_EQ(t.find(2), -1);
  EXPECT_EQ(t.ids(0b10101), (std::vector<int>{0, 7, 9}));
  EXPECT_EQ(t.islands(), (std::vector<Mask>{0b00011, 0b11100}));
  EXPECT_EQ(t.gbps(4, 3), 64);
  EXPECT_EQ(t.gbps(3, 2), 0);
  EXPECT_EQ(t.flat().find(0), 4);
}

TEST(Topology, HoldsSixtyFourDevices) {
  const Topology t = topologyOf(testNode("a").gpus(64).status.devices);
  EXPECT_EQ(t.all(), ~Mask{0});
  EXPECT_EQ(t.connectionOf(t.all()), (Connection{600, 600 * 64 * 63 / 2}));
}

TEST(TopologyPool, EqualDevicesShareOneAndOthersDoNot) {
  TopologyPool pool;
  const auto devices = testNode("a").gpus(4, "x").status.devices;
  const auto renamed = testNode("b").gpus(4, "other name").status.devices;
  const auto slower = testNode("c").gpus(4, "x", 300).status.devices;
  const auto pointers = [](const auto& list) {
    Topology::Devices out;
    for (const auto& d : list) { out.push_back(&d); }
    return out;
  };
  const auto a = pool.share(pointers(devices));
  EXPECT_EQ(a, pool.share(pointers(renamed)));
  const auto c = pool.share(pointers(slower));
  EXPECT_NE(a, c);
  EXPECT_NE(a->serial(), c->serial());
  EXPECT_NE(a->serial(), 0U);
}

TEST(TopologyPool, ASerialIsNeverUsedTwice) {
  TopologyPool pool;
  const auto devices = testNode("a").gpus(1).status.devices;
  const std::uint64_t first = pool.share({&devices[0]})->serial();
  EXPECT_NE(pool.share({&devices[0]})->serial(), first) << "the first one was forgotten";
}

TEST(MaskOrder, LowerIdsComeFirst) {
  EXPECT_TRUE(idsBefore(0b0011, 0b0101));
  EXPECT_FALSE(idsBefore(0b0101, 0b0011));
  EXPECT_TRUE(idsBefore(0b1001, 0b0110));
  EXPECT_FALSE(idsBefore(0b0110, 0b0110));
}

RC_GTEST_PROP(MaskOrderProperty, IsTheOrderOfAscendingIds, (std::uint16_t a, std::uint16_t b)) {
  RC_PRE(countOf(a) == countOf(b));
  const Topology t = topologyOf(testNode("a").gpus(16).status.devices);
  RC_ASSERT(idsBefore(a, b) == (t.ids(a) < t.ids(b)));
}

}  // namespace
}  // namespace gs::sched
