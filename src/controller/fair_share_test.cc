#include "controller/fair_share.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

TEST(FairShare, ANamespaceUsesNoMoreThanItLeaves) {
  FairShare share{16};
  const auto fill = [&](const char* ns, int n) {
    int taken = 0;
    for (; share.any(n) && share.free(ns) >= n; taken += n) { share.take(ns, n); }
    return taken;
  };
  EXPECT_EQ(fill("a", 1), 8);
  EXPECT_EQ(fill("b", 1), 4);
  EXPECT_EQ(fill("c", 2), 2);
  EXPECT_EQ(fill("d", 2), 2) << "there is room for whoever has none, until all is used";
  EXPECT_FALSE(share.any());
  EXPECT_EQ(share.free("e"), 0);
  share.giveBack("a", 8);
  EXPECT_EQ(share.usedBy("a"), 0);
  EXPECT_EQ(fill("e", 1), 4);
}

TEST(FairShare, AResetGivesAllBack) {
  FairShare share{2};
  share.take("a", 2);
  EXPECT_FALSE(share.any());
  share.reset();
  EXPECT_EQ(share.used(), 0);
  EXPECT_EQ(share.free("a"), 2);
}

}  // namespace
}  // namespace gs::controller
