#include "extender/binding_callers.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

const model::Uid kPod{"p"};
constexpr Mono at(int seconds) { return Mono{std::chrono::seconds{seconds}}; }

Caller callerOf(Ticket ticket) {
  Caller c;
  c.ticket = ticket;
  return c;
}

TEST(BindingCallers, OneWaitsForThePodsCall) {
  BindingCallers callers;
  EXPECT_FALSE(callers.underWay(kPod));
  callers.await(kPod, callerOf(1));
  EXPECT_TRUE(callers.underWay(kPod));
  EXPECT_FALSE(callers.underWay(model::Uid{"q"}));
  EXPECT_EQ(callers.take(kPod)->ticket, 1U);
  EXPECT_FALSE(callers.underWay(kPod));
  EXPECT_FALSE(callers.take(kPod).has_value());
}

TEST(BindingCallers, AConflictIsTriedAgainWhenItsTimeHasCome) {
  BindingCallers callers;
  EXPECT_EQ(callers.nextDue(), Mono::max());
  callers.tryLater(at(5), callerOf(1));
  callers.tryLater(at(3), callerOf(2));
  callers.tryLater(at(3), callerOf(3));
  EXPECT_EQ(callers.nextDue(), at(3));
  EXPECT_FALSE(callers.takeDue(at(2)).has_value());
  EXPECT_EQ(callers.takeDue(at(3))->ticket, 2U);
  EXPECT_EQ(callers.takeDue(at(3))->ticket, 3U);
  EXPECT_FALSE(callers.takeDue(at(3)).has_value());
  EXPECT_FALSE(callers.underWay(kPod));
  callers.await(kPod, callerOf(4));
  const auto all = callers.takeAll();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].ticket, 4U);
  EXPECT_EQ(all[1].ticket, 1U);
  EXPECT_EQ(callers.nextDue(), Mono::max());
  EXPECT_TRUE(callers.takeAll().empty());
}

}  // namespace
}  // namespace gs::extender
