#include "extender/grants/write_troubles.h"

#include <gtest/gtest.h>

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

const model::Uid kRefusedPod{"p"};
constexpr Mono kHour{std::chrono::hours{1}};

kapi::Outcome answeredWith(int http, std::string message = "no") {
  kapi::Outcome o;
  o.http = http;
  o.message = std::move(message);
  return o;
}

TEST(WriteTroubles, ARefusalIsToldUntilItIsTimeToTryAgainAndWaitsGrow) {
  WriteTroubles troubles;
  EXPECT_EQ(troubles.rejectionOf(kRefusedPod, kHour), nullptr);
  const Mono first = troubles.refused(kRefusedPod, "why", kHour);
  EXPECT_GT(first, kHour);
  ASSERT_NE(troubles.rejectionOf(kRefusedPod, first - 1ns), nullptr);
  EXPECT_EQ(*troubles.rejectionOf(kRefusedPod, first - 1ns), "why");
  EXPECT_EQ(troubles.rejectionOf(kRefusedPod, first), nullptr);
  EXPECT_EQ(troubles.rejectionsOf(kRefusedPod), 1) << "the count is kept for the next";
  EXPECT_GT(troubles.refused(kRefusedPod, "again", first) - first, first - kHour);
  EXPECT_EQ(troubles.rejectionsOf(kRefusedPod), 2);
  troubles.forget(kRefusedPod);
  EXPECT_EQ(troubles.rejectionsOf(kRefusedPod), 0);
}

TEST(WriteTroubles, ANamespaceIsStuckAfterManyInARow) {
  WriteTroubles troubles;
  for (int i = 1; i < WriteTroubles::kManyFailures; ++i) { troubles.failedIn("a", answeredWith(500)); }
  for (int i = 0; i < 10; ++i) { troubles.failedIn("b", answeredWith(404)); }
  EXPECT_EQ(troubles.stuckIn("a"), nullptr);
  troubles.failedIn("a", answeredWith(503, std::string(1000, 'x')));
  ASSERT_NE(troubles.stuckIn("a"), nullptr);
  EXPECT_EQ(*troubles.stuckIn("a"), "503 " + std::string(300, 'x'));
  EXPECT_EQ(troubles.stuckIn("b"), nullptr) << "a pod that is gone says nothing of others";
  troubles.refused(kRefusedPod, "why", kHour);
  troubles.worked(kRefusedPod, "a");
  EXPECT_EQ(troubles.stuckIn("a"), nullptr);
  EXPECT_EQ(troubles.rejectionsOf(kRefusedPod), 0);
}

TEST(WriteTroubles, APodIsQuietAWhileAfterAWriteOfItFailed) {
  WriteTroubles troubles;
  EXPECT_TRUE(troubles.isQuiet(kRefusedPod, Mono{1h}));
  troubles.failed(kRefusedPod, Mono{1h});
  EXPECT_EQ(troubles.rejectionOf(kRefusedPod, Mono{1h}), nullptr) << "the API server may have it";
  EXPECT_FALSE(troubles.isQuiet(kRefusedPod, Mono{1h} + 9s));
  EXPECT_TRUE(troubles.isQuiet(kRefusedPod, Mono{1h} + 10s));
  (void)troubles.refused(kRefusedPod, "no", Mono{2h});
  EXPECT_FALSE(troubles.isQuiet(kRefusedPod, Mono{2h} + 9s));
  troubles.worked(kRefusedPod, "ns");
  EXPECT_TRUE(troubles.isQuiet(kRefusedPod, Mono{2h}));
}

}  // namespace
}  // namespace gs::extender
