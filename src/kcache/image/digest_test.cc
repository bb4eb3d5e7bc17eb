#include "kcache/image/digest.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace gs::kcache {
namespace {

TEST(Digest, IsSha256AndSixtyFourLowerCaseHexDigits) {
  const std::string good = "sha256:" + std::string(63, '0') + "f";
  const auto digest = Digest::parse(good);
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->text(), good);
  EXPECT_EQ(digest->hex(), std::string(63, '0') + "f");
}

TEST(Digest, AnythingElseIsRefusedAndNamed) {
  const std::string zeros(64, '0');
  for (const std::string& bad :
       {std::string{}, std::string{"sha256:"}, zeros, "sha512:" + zeros, "sha256:" + zeros + "0",
        "sha256:" + zeros.substr(1), "sha256:" + zeros.substr(1) + "F", "sha256:" + zeros.substr(1) + "/",
        "SHA256:" + zeros, " sha256:" + zeros, "sha256:../" + zeros.substr(3)}) {
    const auto digest = Digest::parse(bad);
    ASSERT_FALSE(digest) << bad;
    EXPECT_EQ(digest.error().code, Code::Invalid);
    EXPECT_NE(digest.error().message.find("is no digest: write sha256: and 64"), std::string::npos) << bad;
  }
}

TEST(Digest, AWrongOneIsNamedInWholeCharacters) {
  const auto digest = Digest::parse("sha256:" + std::string(64, 'a') + "\u00e4");
  ASSERT_FALSE(digest);
  EXPECT_TRUE(isUtf8(digest.error().message)) << digest.error().message;
}

TEST(Digest, OfBytesIsWhatSha256SumSays) {
  EXPECT_EQ(Digest::of("").text(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace gs::kcache
