#include "extender/grants/callers.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

constexpr Mono secondOf(int seconds) { return Mono{std::chrono::seconds{seconds}}; }

Caller callerUntil(RequestId request_id, int until) {
  Caller c;
  c.request_id = request_id;
  c.until = secondOf(until);
  return c;
}

std::vector<RequestId> idsOf(const Callers::List& list) {
  std::vector<RequestId> out;
  for (const Caller& c : list) { out.push_back(c.request_id); }
  return out;
}

using Ids = std::vector<RequestId>;

TEST(Callers, EachIsTakenOnceInTheOrderInWhichTheyCame) {
  Callers callers;
  EXPECT_TRUE(callers.empty());
  callers.awaitDecision(callerUntil(1, 5));
  callers.awaitWrite(callerUntil(2, 5));
  callers.awaitWrite(callerUntil(3, 5));
  callers.awaitDecision(callerUntil(4, 5));
  EXPECT_FALSE(callers.empty());
  EXPECT_EQ(idsOf(callers.takeForWrite()), (Ids{2, 3}));
  EXPECT_FALSE(callers.awaitWrite());
  EXPECT_TRUE(callers.awaitDecision());
  callers.awaitWrite(callerUntil(5, 5));
  EXPECT_EQ(idsOf(callers.takeAll()), (Ids{5, 1, 4})) << "those for the write first";
  EXPECT_TRUE(callers.empty());
  EXPECT_TRUE(callers.takeAll().empty());
  EXPECT_TRUE(callers.takeForDecision().empty());
}

TEST(Callers, WhoseTimeIsOverIsTakenAndOthersKeepTheirOrder) {
  Callers callers;
  EXPECT_EQ(callers.nextLate(), Mono::max());
  callers.awaitWrite(callerUntil(1, 9));
  callers.awaitWrite(callerUntil(2, 4));
  callers.awaitDecision(callerUntil(3, 4));
  callers.awaitDecision(callerUntil(4, 7));
  EXPECT_EQ(callers.nextLate(), secondOf(4));
  EXPECT_TRUE(callers.takeLate(secondOf(4) - 1ns).empty());
  EXPECT_EQ(idsOf(callers.takeLate(secondOf(4))), (Ids{2, 3})) << "at that instant it is over";
  EXPECT_EQ(callers.nextLate(), secondOf(7));
  EXPECT_EQ(idsOf(callers.takeAll()), (Ids{1, 4}));
}

}  // namespace
}  // namespace gs::extender
