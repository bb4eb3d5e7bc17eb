#include "base/base64.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Base64, EncodesWhatItDecodes) {
  EXPECT_EQ(encodeBase64(""), "");
  EXPECT_EQ(encodeBase64("f"), "Zg==");
  EXPECT_EQ(encodeBase64("fo"), "Zm8=");
  EXPECT_EQ(encodeBase64("foo"), "Zm9v");
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all.push_back(static_cast<char>(c));
    EXPECT_EQ(decodeBase64(encodeBase64(all)), all);
  }
}

TEST(Base64, DecodesWithPaddingAndLineBreaks) {
  EXPECT_EQ(decodeBase64(""), "");
  EXPECT_EQ(decodeBase64("Zg=="), "f");
  EXPECT_EQ(decodeBase64("Zm8="), "fo");
  EXPECT_EQ(decodeBase64("Zm9v"), "foo");
  EXPECT_EQ(decodeBase64("Zm9v\r\nYmFy\n"), "foobar");
  EXPECT_EQ(decodeBase64("/+8="), "\xff\xef");
  EXPECT_EQ(decodeBase64("Zg==\n"), "f");
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "=", "====", "Zg==Zg==", "Z g=", "Zm9_", "Zm-v", "Zg=a"}) {
    EXPECT_EQ(decodeBase64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace gs
