#include "enforce/cdi/name.h"

#include <gtest/gtest.h>

namespace gs::enforce::cdi {
namespace {

TEST(CdiNames, FollowTheGrammarOfTheLibrary) {
  for (const char* fine : {"nvidia.com", "k8s.device-plugin.nvidia.com", "a", "A1_b-c.D", "gpu"}) {
    EXPECT_TRUE(isVendorOrClass(fine)) << fine;
  }
  for (const char* bad :
       {"", "1vendor", ".com", "vendor.", "vendor-", "a b", "a/b", "a:b", "a=b", "gp\xC3\xBC"}) {
    EXPECT_FALSE(isVendorOrClass(bad)) << bad;
  }
  for (const char* fine : {"0", "0:1", "all", "GPU-1", "MIG-99999999-8888", "0000:1b:00.0", "a.b_c"}) {
    EXPECT_TRUE(isDeviceName(fine)) << fine;
  }
  for (const char* bad : {"", ":0", "0:", "-1", "a/b", "a=b", "a b", "a,b", "0\n"}) {
    EXPECT_FALSE(isDeviceName(bad)) << bad;
  }
  EXPECT_TRUE(isDeviceName(std::string(kMostOfAName, 'x')));
  EXPECT_FALSE(isDeviceName(std::string(kMostOfAName + 1, 'x')));
  EXPECT_FALSE(isVendorOrClass(std::string(kMostOfAName + 1, 'x')));
}

TEST(CdiNames, AQualifiedNameIsTakenApartAtTheFirstSlashAndTheFirstEqualsSign) {
  const auto name = parseQualifiedName("nvidia.com/gpu=0:1");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(*name, (QualifiedName{{"nvidia.com", "gpu"}, "0:1"}));
  EXPECT_EQ(name->text(), "nvidia.com/gpu=0:1");
}

TEST(CdiNames, WhatIsNoneIsNamedWithTheGrammar) {
  for (const char* bad : {"", "0", "nvidia.com/gpu", "gpu=0", "/gpu=0", "nvidia.com/=0", "nvidia.com/gpu=",
                          "nvidia.com/gpu/x=0", "nvidia.com/gpu=0=1", "nvidia.com/gpu= 0"}) {
    const auto name = parseQualifiedName(bad);
    ASSERT_FALSE(name) << bad;
    EXPECT_EQ(name.error().code, Code::Invalid) << bad;
    EXPECT_NE(name.error().message.find("no "), std::string::npos) << name.error().message;
  }
  EXPECT_NE(parseQualifiedName("gpu=0").error().message.find("write VENDOR/CLASS"), std::string::npos);
}

}  // namespace
}  // namespace gs::enforce::cdi
