#include "controller/keyed_calls.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;
using Calls = KeyedCalls<std::string, int>;

constexpr Mono kStart{10s};

TEST(KeyedCalls, OneCallPerKeyIsUnderWay) {
  Calls calls{7};
  EXPECT_TRUE(calls.due("a", kStart));
  const kapi::Token token = calls.begin("a", 3);
  EXPECT_EQ(kapi::tokenOwner(token), 7);
  EXPECT_FALSE(calls.due("a", kStart));
  EXPECT_TRUE(calls.due("b", kStart));
  EXPECT_EQ(calls.underWay(), 1U);
  const auto answered = calls.answered(token);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->key, "a");
  EXPECT_EQ(answered->what, 3);
  EXPECT_FALSE(answered->stale);
  EXPECT_FALSE(calls.answered(token)) << "a second time";
  EXPECT_TRUE(calls.due("a", kStart));
}

TEST(KeyedCalls, OneThatWasReplacedOrDroppedIsStale) {
  Calls calls{7};
  const auto first = calls.begin("a");
  const auto second = calls.begin("a");
  EXPECT_TRUE(calls.answered(first)->stale);
  EXPECT_TRUE(calls.open("a")) << "the second";
  calls.drop("a");
  EXPECT_FALSE(calls.open("a"));
  EXPECT_EQ(calls.underWay(), 1U);
  EXPECT_TRUE(calls.answered(second)->stale);
  EXPECT_EQ(calls.underWay(), 0U);
}

TEST(KeyedCalls, AFailedKeyWaitsLongerEachTime) {
  Calls calls{7, {1s, 3s}};
  EXPECT_EQ(calls.failed("a", kStart), kStart + 1s);
  EXPECT_FALSE(calls.due("a", kStart + 999ms));
  EXPECT_TRUE(calls.due("a", kStart + 1s));
  EXPECT_EQ(calls.nextDue(), kStart + 1s);
  EXPECT_EQ(calls.takeDue(kStart + 1s), std::vector<std::string>{"a"});
  EXPECT_EQ(calls.failed("a", kStart + 1s), kStart + 3s);
  EXPECT_EQ(calls.failed("a", kStart + 3s, 10s), kStart + 13s) << "as the server asked";
  EXPECT_EQ(calls.failures("a"), 3);
  calls.worked("a");
  EXPECT_TRUE(calls.due("a", kStart));
  EXPECT_EQ(calls.size(), 0U);
}

TEST(KeyedCalls, AnAnswerOfBeforeAResetIsNobodys) {
  Calls calls{7};
  const auto token = calls.begin("a");
  calls.failed("b", kStart);
  calls.reset();
  EXPECT_FALSE(calls.answered(token));
  EXPECT_TRUE(calls.due("a", kStart) && calls.due("b", kStart));
  EXPECT_NE(calls.begin("a"), token);
}

}  // namespace
}  // namespace gs::controller
