#include "controller/backoff.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;
using Keys = std::vector<std::string>;

class BackoffTest : public ::testing::Test {
 protected:
  Backoff<std::string> backoff;
  Mono now{1h};
};

TEST_F(BackoffTest, AKeyThatIsNotKnownIsDue) {
  EXPECT_TRUE(backoff.due("a", now));
  EXPECT_TRUE(backoff.due("a", Mono{}));
  EXPECT_EQ(backoff.nextDue(), std::nullopt);
}

TEST_F(BackoffTest, EachTryWaitsTwiceAsLongAsTheOneBeforeUpToTenSeconds) {
  for (const Duration wait : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10000ms, 10000ms}) {
    EXPECT_EQ(backoff.tried("a", now), now + wait);
    EXPECT_FALSE(backoff.due("a", now + wait - 1ns));
    EXPECT_TRUE(backoff.due("a", now + wait));
    EXPECT_TRUE(backoff.due("b", now)) << "another key";
    now += wait;
  }
}

TEST_F(BackoffTest, TheTermsAreTheCallers) {
  Backoff<std::string> other{{.first = 1s, .longest = 3s}};
  EXPECT_EQ(other.tried("a", now), now + 1s);
  EXPECT_EQ(other.tried("a", now), now + 2s);
  EXPECT_EQ(other.tried("a", now), now + 3s);
}

TEST_F(BackoffTest, TheServerMayAskForLonger) {
  EXPECT_EQ(backoff.tried("a", now, 7s), now + 7s);
  EXPECT_EQ(backoff.tried("a", now, 100ms), now + 400ms);
}

TEST_F(BackoffTest, WhatIsDueIsToldOncePerTryInOrder) {
  backoff.tried("b", now);
  backoff.tried("a", now);
  backoff.tried("c", now, 1s);
  EXPECT_EQ(backoff.nextDue(), now + 200ms);
  EXPECT_EQ(backoff.takeDue(now + 199ms), Keys{});
  EXPECT_EQ(backoff.takeDue(now + 200ms), (Keys{"a", "b"}));
  EXPECT_EQ(backoff.takeDue(now + 900ms), Keys{});
  backoff.tried("a", now + 900ms);
  EXPECT_EQ(backoff.takeDue(now + 2s), (Keys{"c", "a"}));
}

TEST_F(BackoffTest, AForgottenKeyBeginsAnew) {
  backoff.tried("a", now);
  backoff.forget("a");
  backoff.forget("never tried");
  EXPECT_TRUE(backoff.due("a", now));
  EXPECT_EQ(backoff.takeDue(now + 1h), Keys{});
  EXPECT_EQ(backoff.tried("a", now), now + 200ms);
}

TEST_F(BackoffTest, WhatNobodyTriesAnyMoreIsForgottenAfterAMinute) {
  backoff.tried("a", now);
  EXPECT_EQ(backoff.takeDue(now + 200ms), Keys{"a"});
  EXPECT_EQ(backoff.tries("a"), 1);
  EXPECT_EQ(backoff.nextDue(), now + 200ms + 1min);
  (void)backoff.takeDue(now + 1min);
  EXPECT_EQ(backoff.size(), 1U);
  (void)backoff.takeDue(now + 200ms + 1min);
  EXPECT_EQ(backoff.size(), 0U);
  EXPECT_EQ(backoff.nextDue(), std::nullopt);
}

TEST_F(BackoffTest, ATryInTimeKeepsTheCount) {
  backoff.tried("a", now);
  (void)backoff.takeDue(now + 30s);
  EXPECT_EQ(backoff.tried("a", now + 30s), now + 30s + 400ms);
  (void)backoff.takeDue(now + 61s);
  EXPECT_EQ(backoff.tries("a"), 2);
}

TEST_F(BackoffTest, AResetForgetsAll) {
  backoff.tried("a", now);
  backoff.reset();
  EXPECT_TRUE(backoff.due("a", now));
  EXPECT_EQ(backoff.nextDue(), std::nullopt);
}

}  // namespace
}  // namespace gs::controller
