#include "model/dra.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

/// semver.org's own example of precedence, and its neighbours: each before the next.
TEST(SemVerOrder, IsThatOfTheStandard) {
  const char* const ascending[] = {"1.0.0-0",      "1.0.0-2",       "1.0.0-11",         "1.0.0--",
                                   "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
                                   "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
                                   "1.0.1",        "1.1.0",         "1.10.0",           "2.0.0-a",
                                   "2.0.0"};
  for (std::size_t i = 0; i + 1 < std::size(ascending); ++i) {
    const auto a = parseSemVer(ascending[i]);
    const auto b = parseSemVer(ascending[i + 1]);
    ASSERT_TRUE(a && b) << ascending[i] << " " << ascending[i + 1];
    EXPECT_TRUE(precedence(*a, *b) < 0) << ascending[i] << " " << ascending[i + 1];
    EXPECT_TRUE(precedence(*b, *a) > 0) << ascending[i] << " " << ascending[i + 1];
    EXPECT_TRUE(precedence(*a, *a) == 0) << ascending[i];
  }
}

TEST(SemVerText, AfterThePlusNothingIsCompared) {
  const auto a = parseSemVer("1.2.3+one");
  const auto b = parseSemVer("1.2.3+two.2");
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(precedence(*a, *b) == 0);
  EXPECT_FALSE(*a == *b) << "they are written otherwise";
}

TEST(SemVerText, WhatIsNoneIsRefused) {
  for (const char* const text : {"",           "1",      "1.2",        "1.2.3.4",
                                 "v1.2.3",     "01.2.3", "1.02.3",     "1.2.03",
                                 "1.2.x",      "1.2.-3", "1.2.3-",     "1.2.3-01",
                                 "1.2.3-a..b", "1.2.3+", "1.2.3+a..b", "1.2.3-\xc3\xa4",
                                 " 1.2.3",     "1.2.3 ", "-1.2.3",     "1.2.99999999999999999999"}) {
    EXPECT_FALSE(parseSemVer(text).has_value()) << text;
  }
  EXPECT_TRUE(parseSemVer("1.2.3-a-b.0a+0.01").has_value());
}

}  // namespace
}  // namespace gs::model
