#include "base/secret.h"

#include <gtest/gtest.h>

#include <set>

#include "base/base64.h"

namespace gs {
namespace {

// RFC 4231, test case 2.
TEST(Secret, HmacIsThatOfTheStandard) {
  EXPECT_EQ(encodeBase64(hmacSha256("Jefe", "what do ya want for nothing?")),
            "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
  EXPECT_NE(hmacSha256("Jefe", "a"), hmacSha256("jefe", "a"));
  EXPECT_EQ(hmacSha256("", "").size(), 32U);
}

TEST(Secret, EqualIsEqualInAllBytes) {
  EXPECT_TRUE(areEqualSecrets("", ""));
  EXPECT_TRUE(areEqualSecrets("ab", "ab"));
  EXPECT_FALSE(areEqualSecrets("ab", "ac"));
  EXPECT_FALSE(areEqualSecrets("ab", "a"));
}

TEST(Secret, NoTwoKeysAreTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) { seen.insert(secretBytes(32)); }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen.begin()->size(), 32U);
}

}  // namespace
}  // namespace gs
