#include "base/percent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gs {
namespace {

TEST(PercentProperty, DecodesToTheSameAndHoldsNothingWithAMeaning) {
  EXPECT_TRUE(rc::check([](const std::string& text, bool plus_is_space) {
    const std::string encoded = percentEncode(text);
    RC_ASSERT(percentDecode(encoded, plus_is_space) == text);
    RC_ASSERT(encoded.find_first_of("/?#&=+ \"<>\\") == std::string::npos);
    RC_ASSERT(encoded != "." && encoded != "..");
  }));
}

TEST(PercentEncode, BytesAndNamesThatAPathWouldResolveAway) {
  EXPECT_EQ(percentEncode("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(percentEncode("a/b c%"), "a%2Fb%20c%25");
  EXPECT_EQ(percentEncode("\xff"), "%FF");
  EXPECT_EQ(percentEncode(".."), "%2E%2E");
  EXPECT_EQ(percentEncode("..."), "...");
}

TEST(PercentDecode, WhatIsNoCodeStandsForItself) {
  EXPECT_EQ(percentDecode("%41%2f%2F"), "A//");
  for (const char* plain : {"%", "%4", "%4g", "%g4", "100%", "%%4"}) {
    EXPECT_EQ(percentDecode(plain), plain) << plain;
  }
  EXPECT_EQ(percentDecode("%%41"), "%A");
}

TEST(PercentDecode, APlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(percentDecode("a+b%2B", true), "a b+");
  EXPECT_EQ(percentDecode("a+b%2B"), "a+b+");
}

}  // namespace
}  // namespace gs
