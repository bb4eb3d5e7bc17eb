#include "extender/write_troubles.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

const model::Uid kPod{"p"};
constexpr Mono kNow{std::chrono::hours{1}};

kapi::Outcome outcomeOf(int http, std::string message = "no") {
  kapi::Outcome o;
  o.http = http;
  o.message = std::move(message);
  return o;
}

TEST(WriteTroubles, ARefusalIsToldUntilItIsTimeToTryAgainAndWaitsGrow) {
  WriteTroubles troubles;
  EXPECT_EQ(troubles.refusalOf(kPod, kNow), nullptr);
  const Mono first = troubles.refused(kPod, "why", kNow);
  EXPECT_GT(first, kNow);
  ASSERT_NE(troubles.refusalOf(kPod, first - 1ns), nullptr);
  EXPECT_EQ(*troubles.refusalOf(kPod, first - 1ns), "why");
  EXPECT_EQ(troubles.refusalOf(kPod, first), nullptr);
  EXPECT_EQ(troubles.refusalsOf(kPod), 1) << "the count is kept for the next";
  EXPECT_GT(troubles.refused(kPod, "again", first) - first, first - kNow);
  EXPECT_EQ(troubles.refusalsOf(kPod), 2);
  troubles.forget(kPod);
  EXPECT_EQ(troubles.refusalsOf(kPod), 0);
}

TEST(WriteTroubles, ANamespaceIsStuckAfterManyInARow) {
  WriteTroubles troubles;
  for (int i = 1; i < WriteTroubles::kManyFailures; ++i) { troubles.failedIn("a", outcomeOf(500)); }
  for (int i = 0; i < 10; ++i) { troubles.failedIn("b", outcomeOf(404)); }
  EXPECT_EQ(troubles.stuckIn("a"), nullptr);
  troubles.failedIn("a", outcomeOf(503, std::string(1000, 'x')));
  ASSERT_NE(troubles.stuckIn("a"), nullptr);
  EXPECT_EQ(*troubles.stuckIn("a"), "503 " + std::string(300, 'x'));
  EXPECT_EQ(troubles.stuckIn("b"), nullptr) << "a pod that is gone says nothing of others";
  troubles.refused(kPod, "why", kNow);
  troubles.worked(kPod, "a");
  EXPECT_EQ(troubles.stuckIn("a"), nullptr);
  EXPECT_EQ(troubles.refusalsOf(kPod), 0);
}

}  // namespace
}  // namespace gs::extender
