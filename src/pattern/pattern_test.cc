#include "pattern/pattern.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

// What else it takes and bounds: apiserver/schema/pattern_test.cc.
TEST(Pattern, MatchesAnywhereOrTheWhole) {
  EXPECT_TRUE(Pattern::compile("b+")->matches("abbc"));
  const auto whole = Pattern::compileWhole("https://github.com/me/.*|x");
  EXPECT_TRUE(whole->matches("https://github.com/me/repo"));
  EXPECT_TRUE(whole->matches("x"));
  EXPECT_FALSE(whole->matches("https://evil.example/https://github.com/me/repo"));
  EXPECT_FALSE(whole->matches("xx"));
  EXPECT_FALSE(whole->matches("x\n"));
  EXPECT_TRUE(Pattern::compileWhole("^x$")->matches("x"));
}

TEST(Pattern, OfPartsThatAreNoneTogetherIsNone) {
  for (const char* bad : {"a)|(b", "(", "\\", "[", "\\Qx"}) {
    EXPECT_FALSE(Pattern::compileWhole(bad)) << bad;
  }
}

}  // namespace
}  // namespace gs
