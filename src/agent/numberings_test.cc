#include "agent/numberings.h"

#include <gtest/gtest.h>

#include "agent/devices_test.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;
using Names = std::set<std::string>;

constexpr Mono at(int seconds) { return Mono{std::chrono::seconds{seconds}}; }

/// Looks at 0, 10 and 20 s, and otherwise at 30 and 40 s.
class NumberingsTest : public ::testing::Test {
 protected:
  NumberingsTest() {
    for (const int when : {0, 10, 20}) { (void)numberings.looked(gpus({"a", "b"}), at(when)); }
    for (const int when : {30, 40}) { (void)numberings.looked(gpus({"b", "a", "c"}), at(when)); }
  }
  [[nodiscard]] Names meant(const char* name, int from, int to) const {
    return numberings.meant(name, {at(from), at(to)});
  }
  Numberings numberings;
};

TEST_F(NumberingsTest, ANumberMeansTheGpuThatHadItThen) {
  EXPECT_EQ(meant("0", 2, 5), Names{"a"});
  EXPECT_EQ(meant("0", 31, 35), Names{"b"});
}

/// That of 20 s may have begun before the one at 10 s ended.
TEST_F(NumberingsTest, BetweenTheLooksThatTellItMayMeanBoth) {
  EXPECT_EQ(meant("0", 9, 9), Names{"a"});
  for (const int when : {10, 20, 25, 30}) { EXPECT_EQ(meant("0", when, when), (Names{"a", "b"})) << when; }
  EXPECT_EQ(meant("0", 2, 35), (Names{"a", "b"}));
  EXPECT_EQ(numberings.meant("0", {}), (Names{"a", "b"}));
}

TEST_F(NumberingsTest, ANumberThatNoGpuHadMeansTheFirstThatHasItLater) {
  EXPECT_EQ(meant("2", 2, 5), Names{"c"});
  EXPECT_EQ(meant("7", 2, 5), Names{});
  (void)numberings.looked(gpus({"b", "a", "d"}), at(50));
  EXPECT_EQ(meant("2", 2, 5), Names{"c"});
  (void)numberings.looked(gpus({"b"}), at(60));
  EXPECT_EQ(meant("2", 70, 75), Names{}) << "not one that had it before";
}

TEST_F(NumberingsTest, AUuidMeansItsGpuAtAnyTime) {
  EXPECT_EQ(meant("c", 2, 5), Names{"c"});
  EXPECT_EQ(meant("none", 2, 5), Names{});
  auto parted = gpus({"b"});
  parted[0].gpu.partitions = {{"MIG-1", "1g.10gb", 1, 1}};
  EXPECT_TRUE(numberings.looked(parted, at(50)));
  EXPECT_EQ(meant("MIG-1", 2, 5), Names{"b"});
}

TEST_F(NumberingsTest, WhatWasPublishedWasInForceAtSomeTimeBefore) {
  Numberings after_restart;
  after_restart.published(gpus({"a", "b"}));
  EXPECT_EQ(after_restart.meant("0", {at(0), at(5)}), Names{"a"}) << "no look yet";
  EXPECT_TRUE(after_restart.looked(gpus({"b", "a"}), at(10)));
  EXPECT_EQ(after_restart.meant("0", {at(0), at(5)}), (Names{"a", "b"}));
  EXPECT_EQ(after_restart.meant("0", {at(11), at(15)}), Names{"b"});
  after_restart.published(gpus({"b", "c"}));  // it is read again
  EXPECT_EQ(after_restart.meant("1", {at(0), at(5)}), (Names{"a", "b", "c"}));
  EXPECT_EQ(after_restart.meant("1", {at(11), at(15)}), Names{"a"}) << "all that was before the look is over";
}

TEST_F(NumberingsTest, AListThatIsAsItWasIsOneNumbering) {
  Numberings after_restart;
  after_restart.published(gpus({"a", "b"}));
  EXPECT_FALSE(after_restart.looked(gpus({"a", "b"}), at(10)));
  EXPECT_EQ(after_restart.meant("0", {at(0), at(50)}), Names{"a"});
}

TEST_F(NumberingsTest, TheOldestAreForgotten) {
  for (int i = 0; i < 100; ++i) {
    (void)numberings.looked(gpus({"x" + std::to_string(i)}), at(50 + i));
    numberings.published(gpus({"y" + std::to_string(i)}));
  }
  EXPECT_EQ(numberings.meant("0", {}).size(), Numberings::kMost);
}

TEST(GpuIds, AreWholeNumbersThatTheListHasRoomFor) {
  for (const char* id : {"0", "7", "1023"}) { EXPECT_TRUE(isGpuId(id)) << id; }
  for (const char* id : {"", "-1", "1024", "1x", "GPU-1", "99999999999999999999"}) {
    EXPECT_FALSE(isGpuId(id)) << id;
  }
}

}  // namespace
}  // namespace gs::agent
