#include "apiserver/meta/warnings.h"

#include <gtest/gtest.h>

namespace gs::apiserver {
namespace {

using Texts = std::vector<std::string>;

TEST(WarningsTest, EachIsSaidOnceInTheOrderOfTheFirst) {
  EXPECT_EQ(boundedWarnings({"b", "a", "b", "", "a", "c"}), (Texts{"b", "a", "c"}));
}

TEST(WarningsTest, ALongOneStaysWholeWhileThereIsRoom) {
  const Texts all{std::string(4000, 'x'), std::string(96, 'y')};
  EXPECT_EQ(boundedWarnings(all), all);
}

TEST(WarningsTest, WhereAllAreTooMuchEachIsCutByCharacters) {
  std::string umlauts;
  for (int i = 0; i < 300; ++i) { umlauts += "\xC3\xA4"; }
  const auto out = boundedWarnings({std::string(4000, 'x'), umlauts, "short"});
  EXPECT_EQ(out, (Texts{std::string(256, 'x'), umlauts.substr(0, 512), "short"}));
}

TEST(WarningsTest, WhatComesAfterTheLimitIsLeftOut) {
  Texts said;
  for (char c = 'a'; c <= 'z'; ++c) { said.emplace_back(300, c); }
  const auto out = boundedWarnings(said);
  ASSERT_EQ(out.size(), kMaxWarnings / kMaxWarning);
  EXPECT_EQ(out.back(), std::string(256, 'p'));
}

TEST(WarningsTest, BytesThatAreNoTextAreCutToo) {
  const auto out = boundedWarnings({std::string(5000, '\xFF')});
  EXPECT_EQ(out, (Texts{std::string(256, '\xFF')}));
}

}  // namespace
}  // namespace gs::apiserver
