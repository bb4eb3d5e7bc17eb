#include "extender/grants/binding_callers.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

const model::Uid kBoundPod{"p"};
constexpr Mono dueAt(int seconds) { return Mono{std::chrono::seconds{seconds}}; }

Caller callerWith(RequestId request_id) {
  Caller c;
  c.request_id = request_id;
  return c;
}

TEST(BindingCallers, OneWaitsForThePodsCall) {
  BindingCallers callers;
  EXPECT_FALSE(callers.underWay(kBoundPod));
  callers.await(kBoundPod, callerWith(1));
  EXPECT_TRUE(callers.underWay(kBoundPod));
  EXPECT_FALSE(callers.underWay(model::Uid{"q"}));
  EXPECT_EQ(callers.take(kBoundPod)->request_id, 1U);
  EXPECT_FALSE(callers.underWay(kBoundPod));
  EXPECT_FALSE(callers.take(kBoundPod).has_value());
}

TEST(BindingCallers, AConflictIsTriedAgainWhenItsTimeHasCome) {
  BindingCallers callers;
  EXPECT_EQ(callers.nextDue(), Mono::max());
  callers.tryLater(dueAt(5), callerWith(1));
  callers.tryLater(dueAt(3), callerWith(2));
  callers.tryLater(dueAt(3), callerWith(3));
  EXPECT_EQ(callers.nextDue(), dueAt(3));
  EXPECT_FALSE(callers.takeDue(dueAt(2)).has_value());
  EXPECT_EQ(callers.takeDue(dueAt(3))->request_id, 2U);
  EXPECT_EQ(callers.takeDue(dueAt(3))->request_id, 3U);
  EXPECT_FALSE(callers.takeDue(dueAt(3)).has_value());
  EXPECT_FALSE(callers.underWay(kBoundPod));
  callers.await(kBoundPod, callerWith(4));
  const auto all = callers.takeAll();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].request_id, 4U);
  EXPECT_EQ(all[1].request_id, 1U);
  EXPECT_EQ(callers.nextDue(), Mono::max());
  EXPECT_TRUE(callers.takeAll().empty());
}

}  // namespace
}  // namespace gs::extender
