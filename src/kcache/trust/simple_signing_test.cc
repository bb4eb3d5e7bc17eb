#include "kcache/trust/simple_signing.h"

#include <gtest/gtest.h>

namespace gs::kcache::trust {
namespace {

const Digest kImage = Digest::of("image");

TEST(SimpleSigning, WhatIsPrintedIsRead) {
  const auto read = parseSimpleSigning(printSimpleSigning({kImage, "quay.io/gkm/a"}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->digest, kImage);
  EXPECT_EQ(read->name, "quay.io/gkm/a");
}

// What cosign 2 writes: the same members, in the same order.
TEST(SimpleSigning, IsWrittenAsCosignDoes) {
  EXPECT_EQ(
      printSimpleSigning({kImage, "quay.io/gkm/a"}),
      R"({"critical":{"identity":{"docker-reference":"quay.io/gkm/a"},"image":{"docker-manifest-digest":")" +
          kImage.text() + R"("},"type":"cosign container image signature"},"optional":null})");
}

TEST(SimpleSigning, WhatIsNoneIsSaid) {
  const auto said = [](std::string_view text) {
    const auto read = parseSimpleSigning(text);
    return read ? std::string{} : read.error().message;
  };
  EXPECT_EQ(said("[]"), "payload: it is no JSON object");
  EXPECT_EQ(said("{}"), "payload: critical.type is not 'cosign container image signature'");
  EXPECT_EQ(said(R"({"critical":{"type":"atomic container signature"}})"),
            "payload: critical.type is not 'cosign container image signature'");
  EXPECT_NE(said(R"({"critical":{"type":"cosign container image signature","image":{}}})")
                .find("payload: critical.image.docker-manifest-digest: "),
            std::string::npos);
  EXPECT_NE(said(std::string(kMaxPayload + 1, ' ')), "");
}

TEST(SimpleSigning, TheTagIsTheDigest) {
  const auto image = *parseReference("quay.io/gkm/a:v1");
  EXPECT_EQ(signatureTag(image, kImage).text(), "quay.io/gkm/a:sha256-" + std::string{kImage.hex()} + ".sig");
}

}  // namespace
}  // namespace gs::kcache::trust
