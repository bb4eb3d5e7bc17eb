#include "apiserver/registry/ip_address.h"

#include <gtest/gtest.h>

namespace gs::apiserver {
namespace {

struct Read {
  const char* text;
  const char* canonical;  // "": it is none
};

TEST(IpAddress, IsReadAndPrintedAsGoDoes) {
  for (const Read& c : {Read{"10.0.0.1", "10.0.0.1"},
                        {"010.000.0.01", "10.0.0.1"},
                        {"0.0.0.0", "0.0.0.0"},
                        {"2001:DB8::1", "2001:db8::1"},
                        {"2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
                        {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
                        {"::", "::"},
                        {"::1", "::1"},
                        {"1::", "1::"},
                        {"::1.2.3.4", "::102:304"},
                        {"::ffff:10.0.0.1", "10.0.0.1"},
                        {"::ffff:010.0.0.1", "10.0.0.1"},
                        {"::ffff:a00:1", "10.0.0.1"},
                        {"", ""},
                        {"x", ""},
                        {"10.0.0", ""},
                        {"10.0.0.256", ""},
                        {"10.0.0.1.2", ""},
                        {"10.0.0.-1", ""},
                        {" 10.0.0.1", ""},
                        {"1:2:3:4:5:6:7", ""},
                        {"1:2:3:4:5:6:7:8:9", ""},
                        {"1::2::3", ""},
                        {"12345::", ""},
                        {"fe80::1%eth0", ""},
                        {":1", ""},
                        {"1:", ""},
                        {"1.2.3.4::", ""}}) {
    const auto ip = parseIp(c.text);
    EXPECT_EQ(ip ? canonicalIp(*ip) : "", c.canonical) << c.text;
  }
  EXPECT_FALSE(parseIp(std::string_view{"::1\0", 4}));
}

TEST(IpAddress, ARangeIsInAnotherThatIsLarger) {
  const auto is_in = [](const char* part, const char* whole) {
    return isStrictSubset(*parseCidr(part), *parseCidr(whole));
  };
  EXPECT_TRUE(is_in("10.1.0.0/16", "10.0.0.0/8"));
  EXPECT_TRUE(is_in("10.0.0.0/8", "0.0.0.0/0"));
  EXPECT_TRUE(is_in("2001:db8:1::/48", "2001:db8::/32"));
  EXPECT_FALSE(is_in("10.0.0.0/8", "10.0.0.0/8"));
  EXPECT_FALSE(is_in("11.0.0.0/16", "10.0.0.0/8"));
  EXPECT_FALSE(is_in("10.0.0.0/8", "10.0.0.0/16"));
  EXPECT_FALSE(is_in("10.0.0.0/8", "::/0"));
  for (const char* none : {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "x/8"}) {
    EXPECT_FALSE(parseCidr(none)) << none;
  }
}

}  // namespace
}  // namespace gs::apiserver
