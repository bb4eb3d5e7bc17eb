#include "kcache/kinds/first.h"

#include <gtest/gtest.h>

#include <string>

#include "kapi/time.h"

namespace gs::kcache {
namespace {

using namespace std::chrono_literals;

const Wall kAskedAt = *kapi::parseTime("2026-11-26T14:00:00Z");

TEST(FetchFirst, IsReadAsItWasWritten) {
  const FetchFirst first{kAskedAt, {"vectors", "w-1.x"}};
  EXPECT_EQ(printFirst(first), "2026-11-26T14:00:00Z vectors,w-1.x");
  EXPECT_EQ(parseFirst(printFirst(first)), first);
}

TEST(FetchFirst, WhatCannotBeReadIsNoRequest) {
  std::string nine = "2026-11-26T14:00:00Z a";
  for (int i = 0; i < 8; ++i) { nine += ",a"; }
  for (const std::string& text :
       {std::string{}, std::string{" "}, std::string{"a,b"}, std::string{"2026-11-26T14:00:00Z"},
        std::string{"2026-11-26T14:00:00Z "}, std::string{"2026-11-26T14:00:00Z a,,b"},
        std::string{"2026-11-26T14:00:00Z a,"}, std::string{"2026-11-26T14:00:00Z a b"},
        std::string{"2026-11-26T14:00:00Z ../x"}, std::string{"tomorrow a"},
        "2026-11-26T14:00:00Z " + std::string(254, 'a'), nine, std::string(100'000, '1')}) {
    EXPECT_EQ(parseFirst(text), std::nullopt) << text.substr(0, 100);
  }
}

TEST(FetchFirst, CountsForAWhile) {
  const FetchFirst first{kAskedAt, {"a"}};
  EXPECT_TRUE(first.counts(kAskedAt));
  EXPECT_TRUE(first.counts(kAskedAt + 9min));
  EXPECT_FALSE(first.counts(kAskedAt + 10min));
  EXPECT_TRUE(first.counts(kAskedAt - 9min)) << "by a clock that is behind";
  EXPECT_FALSE(first.counts(kAskedAt - 10min)) << "nobody asks for ever";
}

}  // namespace
}  // namespace gs::kcache
