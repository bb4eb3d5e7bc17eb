#include "cacherim/registry/mirrors.h"

#include <gtest/gtest.h>

namespace gs::cacherim {
namespace {

TEST(Mirrors, AreOfARegistryInTheirOrder) {
  EXPECT_EQ(parseMirrors("--m", "").value(), Mirrors{});
  EXPECT_EQ(parseMirrors("--m", "quay.io=https://b:5000,docker.io=http://c/x,quay.io=https://a").value(),
            (Mirrors{{"docker.io", {"http://c/x"}}, {"quay.io", {"https://b:5000", "https://a"}}}));
  EXPECT_EQ(parseMirrors("--m", "quay.io=https://a,").value(), (Mirrors{{"quay.io", {"https://a"}}}));
  EXPECT_EQ(parseMirrors("--m", "localhost:5000=https://a").value(),
            (Mirrors{{"localhost:5000", {"https://a"}}}));
}

TEST(Mirrors, WhatIsNoneIsNamedWithoutItsUrl) {
  for (const char* bad :
       {"quay.io", "quay.io=", "=https://a", "https://a", "quay.io=ftp://a", "quay.io=a:5000", ",",
        "quay.io/a=https://b", "QUAY.IO=https://a", "quay.io=https://u:secret@a"}) {
    const auto read = parseMirrors("--registry-mirror", bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_TRUE(read.error().message.starts_with("--registry-mirror: '")) << read.error().message;
    EXPECT_EQ(read.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace gs::cacherim
