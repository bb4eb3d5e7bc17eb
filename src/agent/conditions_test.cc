#include "agent/conditions.h"

#include <gtest/gtest.h>

namespace gs::agent {
namespace {

using namespace std::chrono_literals;

Now sinceStart(std::chrono::seconds passed) { return {Mono{passed}, Wall{passed}}; }

TEST(Conditions, OneKeepsSinceWhenItHoldsUntilItTurns) {
  Conditions all;
  EXPECT_EQ(all.find(kDriverCondition), nullptr);
  all.set(kDriverCondition, true, "Answers", "it answers", sinceStart(1s));
  all.set(kDriverCondition, true, "Answers", "in other words", sinceStart(2s));
  ASSERT_NE(all.find(kDriverCondition), nullptr);
  EXPECT_EQ(all.find(kDriverCondition)->since, Wall{1s});
  EXPECT_EQ(all.find(kDriverCondition)->message, "in other words");
  all.set(kDriverCondition, false, "DriverHangs", "it hangs", sinceStart(3s));
  EXPECT_EQ(all.find(kDriverCondition)->since, Wall{3s});
}

TEST(Conditions, WhatStoodThereGoesOnHoldingWhetherItIsReadBeforeOrAfter) {
  for (const bool is_read_late : {false, true}) {
    SCOPED_TRACE(is_read_late);
    const std::vector<Condition> before{{kDriverCondition, true, "Answers", "it answers", Wall{1s}},
                                        {kContainersCondition, true, "Seen", "they are", Wall{2s}},
                                        {kUnknownSetCondition, true, "Picks", "a plugin picks", Wall{3s}}};
    Conditions all;
    if (!is_read_late) { all.stoodThere(before); }
    all.set(kDriverCondition, true, "Answers", "it answers", sinceStart(9s));
    all.set(kContainersCondition, false, "NoRuntime", "nobody is asked", sinceStart(9s));
    if (is_read_late) { all.stoodThere(before); }
    EXPECT_EQ(all.find(kDriverCondition)->since, Wall{1s});
    EXPECT_EQ(all.find(kContainersCondition)->since, Wall{9s}) << "it turned";
    EXPECT_EQ(all.find(kUnknownSetCondition), nullptr) << "this process has not said it";
    EXPECT_EQ(all.all().size(), 2U);
  }
}

}  // namespace
}  // namespace gs::agent
