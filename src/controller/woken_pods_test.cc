#include "controller/woken_pods.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;

const model::Uid kFirst{"first"};

/// How many more of it may be woken.
int roomOf(WokenPods& woken, const std::string& ns) {
  int n = 0;
  for (; woken.hasRoom(ns); ++n) { woken.add(model::Uid{ns + std::to_string(n)}, ns, Mono{1h}); }
  return n;
}

TEST(WokenPods, OneNamespaceLeavesHalfToOthers) {
  WokenPods woken;
  EXPECT_EQ(roomOf(woken, "a"), 4);
  EXPECT_EQ(roomOf(woken, "b"), 2);
}

TEST(WokenPods, WhoIsAskedAboutMakesRoom) {
  WokenPods woken;
  woken.add(kFirst, "a", Mono{1s});
  (void)roomOf(woken, "a");
  EXPECT_TRUE(woken.over(kFirst));
  EXPECT_FALSE(woken.over(kFirst));
  EXPECT_TRUE(woken.hasRoom("a"));
}

TEST(WokenPods, NobodyIsAwaitedForEver) {
  WokenPods woken;
  woken.add(kFirst, "a", Mono{1s});
  woken.add(model::Uid{"second"}, "a", Mono{2s});
  EXPECT_EQ(woken.nextDue(), Mono{13s});
  EXPECT_TRUE(woken.takeOver(Mono{12s}).empty());
  EXPECT_EQ(woken.takeOver(Mono{13s}), std::vector{kFirst});
  EXPECT_EQ(woken.nextDue(), Mono{14s});
}

TEST(WokenPods, WhoIsWokenAgainCountsOnce) {
  WokenPods woken;
  woken.add(kFirst, "a", Mono{1s});
  woken.add(kFirst, "a", Mono{9s});
  EXPECT_EQ(woken.size(), 1U);
  EXPECT_EQ(woken.nextDue(), Mono{21s});
  EXPECT_EQ(roomOf(woken, "a"), 3);
}

}  // namespace
}  // namespace gs::controller
