#include "pattern/pattern.h"

#include <gtest/gtest.h>

#include <string>

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

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) { out += part; }
  return out;
}

TEST(Pattern, ItsCostIsThatOfItsProgram) {
  const auto small = Pattern::compile("b+");
  const auto large = Pattern::compile("(a[ab]{999}|b)c");
  EXPECT_LT(small->cost(64), 64U * 20);
  EXPECT_GE(large->cost(64), 64U * 999);
  EXPECT_GE(large->size(), 999U);
  EXPECT_GE(small->size(), 64U) << "any takes some memory";
  EXPECT_GE(Pattern::compile("[" + std::string(500, 'a') + "]")->size(), 502U) << "it has to be read";
  EXPECT_GE(Pattern::compile("[\\pL\\p{Lu}\\PN]")->size(), 3U * 256);
}

// Each in some ms: RE2 reads all of a pattern before it counts, and some for hundreds of ms.
TEST(Pattern, LargerThanAllowedIsNone) {
  constexpr std::size_t kMost = 4'096;
  for (const auto& large :
       {std::string{"[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}"}, repeated("a{1000}", 1'000),
        repeated("(?:a?){0,1000}", 100), repeated("(?i)\\pL|", 100), "[" + repeated("\\PL", 20) + "]",
        repeated("((a{10}){10}){10}", 5), std::string(4'097, 'a'), repeated("[^a]", 1'000)}) {
    EXPECT_FALSE(Pattern::compile(large, kMost)) << large.substr(0, 40);
  }
  for (const auto& fine : {std::string{"[ab]{1000}[ab]{1000}[ab]{1000}"}, std::string(4'000, 'a'),
                           std::string{"^.{0,63}$"}, std::string{"\\pL{2}"}, repeated("\\x{1000}", 10),
                           repeated("\\{1000}", 10), repeated("{x{1000,y{,1000}", 10)}) {
    const auto compiled = Pattern::compile(fine, kMost);
    ASSERT_TRUE(compiled) << fine.substr(0, 40);
    EXPECT_LE(compiled->size(), kMost);
    EXPECT_FALSE(Pattern::compile(fine, compiled->size() - 1)) << fine.substr(0, 40);
  }
}

}  // namespace
}  // namespace gs
