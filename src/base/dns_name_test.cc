#include "base/dns_name.h"

#include <gtest/gtest.h>

#include <string>

namespace gs {
namespace {

TEST(DnsName, HasPartsOfLowerCaseLettersDigitsAndDashes) {
  for (const char* good : {"a", "0", "a-b", "a.b-c.d0", "1.2.3"}) {
    EXPECT_TRUE(isDnsSubdomain(good)) << good;
  }
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "A", "a_b", "a b", "a,b", "a/b",
                          "../a", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(isDnsSubdomain(bad)) << bad;
    EXPECT_FALSE(isDnsLabel(bad)) << bad;
  }
  EXPECT_TRUE(isDnsLabel("a-b"));
  EXPECT_FALSE(isDnsLabel("a.b"));
}

TEST(DnsName, HasALengthAtMost) {
  EXPECT_TRUE(isDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(isDnsLabel(std::string(64, 'a')));
  EXPECT_TRUE(isDnsSubdomain(std::string(253, 'a'))) << "in one part, as Kubernetes takes it";
  EXPECT_FALSE(isDnsSubdomain(std::string(254, 'a')));
}

}  // namespace
}  // namespace gs
