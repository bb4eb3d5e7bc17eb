#include "base/check.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Check, TrueDoesNotEvaluateTheMessage) {
  int evaluated = 0;
  GS_CHECK(1 + 1 == 2, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, FalsePrintsPlaceConditionAndMessage) {
  EXPECT_DEATH(GS_CHECK(1 == 2, "device {} of {}", 3, "node-a"),
               "check_test.cc:.*GS_CHECK.1 == 2. failed: device 3 of node-a");
}

TEST(CheckDeathTest, TheMessageMayBeLeftOut) { EXPECT_DEATH(GS_CHECK(false), "GS_CHECK.false. failed"); }

}  // namespace
}  // namespace gs
