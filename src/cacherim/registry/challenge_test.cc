#include "cacherim/registry/challenge.h"

#include <gtest/gtest.h>

namespace gs::cacherim {
namespace {

TEST(Challenge, OfATokenServer) {
  const auto all = parseChallenges(
      R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push")");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].scheme, "bearer");
  EXPECT_EQ(all[0].parameter("realm"), "https://auth.docker.io/token");
  EXPECT_EQ(all[0].parameter("service"), "registry.docker.io");
  EXPECT_EQ(all[0].parameter("scope"), "repository:a/b:pull,push");  // the comma is inside quotes
  EXPECT_EQ(all[0].parameter("error"), "");
}

TEST(Challenge, SeveralInOneHeaderInAnyCaseAndWithoutQuotes) {
  const auto all = parseChallenges("BASIC Realm = x , bEARER realm=https://a/t,SERVICE=s, Negotiate");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], (Challenge{"basic", {{"realm", "x"}}}));
  EXPECT_EQ(all[1], (Challenge{"bearer", {{"realm", "https://a/t"}, {"service", "s"}}}));
  EXPECT_EQ(all[2], (Challenge{"negotiate", {}}));
}

TEST(Challenge, QuotedTextMayHoldQuotesAndBackslashes) {
  const auto all = parseChallenges(R"(Basic realm="a \"b\" \\c")");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].parameter("realm"), R"(a "b" \c)");
}

TEST(Challenge, WhatCannotBeReadIsLeftOut) {
  EXPECT_TRUE(parseChallenges("").empty());
  EXPECT_TRUE(parseChallenges(" , ,, ").empty());
  EXPECT_TRUE(parseChallenges("realm=\"x\"").empty());  // of no scheme
  EXPECT_EQ(parseChallenges("Bearer realm=\"open"), (std::vector<Challenge>{{"bearer", {}}}));
  EXPECT_EQ(parseChallenges("(), Basic realm=x"), (std::vector<Challenge>{{"basic", {{"realm", "x"}}}}));
}

}  // namespace
}  // namespace gs::cacherim
