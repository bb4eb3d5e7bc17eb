#include "scheduler/core/slots.h"

#include <gtest/gtest.h>

namespace gs::scheduler {
namespace {

class SlotsTest : public ::testing::Test {
 protected:
  static model::Uid pod(const std::string& ns, int i) { return model::Uid{ns + std::to_string(i)}; }
  /// Opens as many as it may; how many.
  int fill(const std::string& ns) {
    int n = 0;
    while (slots.any() && slots.free(ns) > 0) { slots.open(pod(ns, n++), ns); }
    return n;
  }
  /// One of it is open from now on, and waits.
  void work(const std::string& ns, int times) {
    slots.open(pod(ns, -1), ns);
    slots.wait(pod(ns, -1));
    for (int i = 0; i < times; ++i) { slots.worked(ns); }
  }

  Slots slots{16};
};

TEST_F(SlotsTest, ANamespaceBeginsWithAFewAndGetsMoreAsTheyGoThrough) {
  EXPECT_EQ(slots.free("a"), Slots::kFirst);
  work("a", 2);
  EXPECT_EQ(slots.free("a"), Slots::kFirst + 1);
  slots.failed("a");
  EXPECT_EQ(slots.free("a"), Slots::kFirst - 1);
  slots.close(pod("a", -1));
  slots.worked("a");
  EXPECT_EQ(slots.free("a"), Slots::kFirst) << "one without a placement begins anew";
  slots = Slots{1000};
  work("a", 100);
  EXPECT_EQ(slots.free("a"), Slots::kMost - 1);
}

TEST_F(SlotsTest, ItUsesFewerThanAreLeft) {
  work("a", 100);
  EXPECT_EQ(fill("a"), 8);
  EXPECT_EQ(fill("b"), 4);
  EXPECT_EQ(fill("c"), 2);
  EXPECT_EQ(fill("d"), 1);
  EXPECT_EQ(slots.used(), 15);
  EXPECT_EQ(slots.free("e"), 1) << "there is one for whoever has none";
  EXPECT_EQ(slots.free("d"), 0);
}

TEST_F(SlotsTest, WhatWaitsUsesNoSlotButIsOpen) {
  EXPECT_EQ(fill("a"), 4);
  for (int i = 0; i < 4; ++i) { slots.wait(pod("a", i)); }
  slots.wait(pod("a", 0));
  EXPECT_EQ(slots.used(), 0);
  EXPECT_EQ(slots.free("a"), 0) << "its window";
  slots.goOn(pod("a", 0));
  slots.goOn(pod("a", 0));
  slots.open(pod("a", 1), "a");
  EXPECT_EQ(slots.used(), 2);
}

TEST_F(SlotsTest, WhatIsParkedIsNoneOfItsNamespaces) {
  EXPECT_EQ(fill("a"), 4);
  (void)slots.takeFreed();
  for (const int i : {0, 1, 0}) { slots.park(pod("a", i)); }
  EXPECT_TRUE(slots.takeFreed());
  EXPECT_EQ(slots.used(), 2);
  EXPECT_EQ(slots.free("a"), 2);
  slots.goOn(pod("a", 0));
  EXPECT_EQ(slots.used(), 3);
  EXPECT_EQ(slots.free("a"), 1);
  slots.wait(pod("a", 1));
  EXPECT_EQ(slots.free("a"), 0) << "its window";
  slots.park(pod("a", 1));
  slots.close(pod("a", 1));
  EXPECT_EQ(slots.free("a"), 1);
  EXPECT_EQ(slots.used(), 3);
}

TEST_F(SlotsTest, HoweverManyAreParkedOthersGoOn) {
  slots = Slots{1000};
  for (int i = 0; i < 2 * Slots::kMost; ++i) {
    ASSERT_GT(slots.free("a"), 0);
    slots.open(pod("a", i), "a");
    slots.park(pod("a", i));
  }
  EXPECT_EQ(slots.free("a"), Slots::kFirst);
  EXPECT_EQ(slots.used(), 0);
  for (int i = 0; i < 2 * Slots::kMost; ++i) { slots.goOn(pod("a", i)); }
  EXPECT_EQ(slots.free("a"), 0) << "they go on all the same";
}

TEST_F(SlotsTest, WhatIsStuckLeavesTheWindowToOthersUpToABound) {
  slots = Slots{1000};
  fill("a");
  EXPECT_FALSE(slots.anyStuck("a"));
  (void)slots.takeFreed();
  for (const int twice : {0, 0}) { slots.stuck(pod("a", twice)); }
  EXPECT_TRUE(slots.takeFreed());
  EXPECT_TRUE(slots.anyStuck("a"));
  EXPECT_FALSE(slots.anyStuck("b"));
  EXPECT_EQ(slots.free("a"), 1);
  for (int i = 1; i < Slots::kMost; ++i) {
    slots.open(pod("a", i), "a");
    slots.stuck(pod("a", i));
  }
  EXPECT_EQ(slots.free("a"), 0);
  slots.close(pod("a", 0));
  EXPECT_EQ(slots.free("a"), 1);
  for (int i = 1; i < Slots::kMost; ++i) { slots.close(pod("a", i)); }
  EXPECT_FALSE(slots.anyStuck("a"));
}

TEST_F(SlotsTest, WhatIsClosedGivesBackWhatItUsed) {
  fill("a");
  slots.wait(pod("a", 1));
  for (int i = 0; i < 4; ++i) {
    slots.close(pod("a", i));
    slots.close(pod("a", i));
  }
  slots.goOn(pod("a", 1));
  EXPECT_EQ(slots.used(), 0);
  EXPECT_EQ(fill("a"), 4);
  slots.reset();
  EXPECT_EQ(slots.used(), 0);
  EXPECT_EQ(slots.free("a"), 4);
}

TEST_F(SlotsTest, WhatIsFreedIsToldOnce) {
  slots.open(pod("a", 0), "a");
  EXPECT_FALSE(slots.takeFreed());
  slots.wait(pod("a", 0));
  EXPECT_TRUE(slots.takeFreed());
  EXPECT_FALSE(slots.takeFreed());
  slots.worked("a");
  EXPECT_TRUE(slots.takeFreed());
  slots.failed("a");
  EXPECT_FALSE(slots.takeFreed());
  slots.close(pod("a", 0));
  EXPECT_TRUE(slots.takeFreed());
}

TEST_F(SlotsTest, WithAllUsedNobodyBeginsOne) {
  for (int i = 0; i < 16; ++i) { slots.open(pod("x" + std::to_string(i), 0), "x" + std::to_string(i)); }
  EXPECT_FALSE(slots.any());
  EXPECT_EQ(slots.free("y"), 0);
}

}  // namespace
}  // namespace gs::scheduler
