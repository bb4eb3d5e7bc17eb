#include "base/hex.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Hex, BytesGoAndComeBack) {
  const std::string bytes{"\x00\x7f\x80\xff", 4};
  EXPECT_EQ(encodeHex(bytes), "007f80ff");
  EXPECT_EQ(decodeHex("007F80ff"), bytes);
  EXPECT_EQ(decodeHex(""), "");
}

TEST(Hex, WhatIsNoneIsRefused) {
  for (const char* bad : {"0", "0g", "x0", " 00"}) { EXPECT_FALSE(decodeHex(bad)) << bad; }
}

}  // namespace
}  // namespace gs
