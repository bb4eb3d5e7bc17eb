// That nobody hides a good signature by putting others beside it: each source of them has limits of its own.
#include <gtest/gtest.h>

#include <array>

#include "cacherim/trust/image_of_test.h"
#include "json/value.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
using signature::PrivateKey;

class SignatureLimits : public ::testing::Test {
 public:
  using Put = void (SignatureLimits::*)(SignedImage&, int);
  /// A source of signatures: puts a good one there, or one of many that do not count.
  struct Source {
    const char* what;
    Put good;
    Put bad;
  };

  static kcache::Annotations signedBy(const PrivateKey& key, const std::string& text) {
    return {{kt::kSignatureKey, encodeBase64(*key.sign(text))}};
  }
  /// Another text about the same image with each number.
  static std::string textOf(const SignedImage& image, int number) {
    return image.payload() + std::string(static_cast<std::size_t>(number), ' ');
  }
  void addGoodBundle(SignedImage& image, const std::string& artifact_type, const char* predicate) {
    kt::Envelope envelope{std::string{kt::kStatementType}, kt::printStatement(image.digest.hex()), ""};
    envelope.signature = *ours_.sign(kt::signedTextOf(envelope));
    image.addBundle(
        {.certificates = {}, .key_hint = "", .entries = {}, .timestamps = {}, .content = envelope});
    list(image, artifact_type, predicate);
  }
  static void addBadBundle(SignedImage& image, int i, const std::string& artifact_type,
                           const char* predicate) {
    image.addBundle(artifact_type + (predicate == nullptr ? "" : predicate) + std::to_string(i),
                    image.digest);
    list(image, artifact_type, predicate);
  }
  static void list(SignedImage& image, const std::string& artifact_type, const char* predicate) {
    image.referrers.back().artifact_type = artifact_type;
    if (predicate != nullptr) {
      image.referrers.back().annotations = {{kt::kPredicateAnnotation, predicate}};
    }
  }
  void goodTag(SignedImage& image, int /*i*/) { image.addLayer(ours_, image.payload()); }
  void badTag(SignedImage& image, int i) { image.addLayer(others_, textOf(image, i + 1)); }
  void goodArtifact(SignedImage& image, int /*i*/) {
    image.addArtifact({{image.payload(), signedBy(ours_, image.payload())}}, image.digest);
  }
  void badArtifact(SignedImage& image, int i) {
    const std::string text = textOf(image, i + 1);
    image.addArtifact({{text, signedBy(others_, text)}}, image.digest);
  }
  void goodSaid(SignedImage& image, int /*i*/) { addGoodBundle(image, std::string{kt::kBundleType}, kSign); }
  void badSaid(SignedImage& image, int i) { addBadBundle(image, i, std::string{kt::kBundleType}, kSign); }
  void goodNamed(SignedImage& image, int /*i*/) {
    addGoodBundle(image, std::string{kt::kBundleType}, nullptr);
  }
  void badNamed(SignedImage& image, int i) { addBadBundle(image, i, std::string{kt::kBundleType}, nullptr); }
  void goodUnnamed(SignedImage& image, int /*i*/) { addGoodBundle(image, "", nullptr); }
  void badUnnamed(SignedImage& image, int i) { addBadBundle(image, i, "", nullptr); }

  [[nodiscard]] Result<Verified> verify(SignedImage& image) const {
    return image.verify({TrustedKeys{{ours_.publicKey()}}});
  }
  [[nodiscard]] std::string said(SignedImage& image) const {
    const auto verified = verify(image);
    return verified ? "it is verified" : verified.error().message;
  }

  static constexpr const char* kSign = "https://sigstore.dev/cosign/sign/v1";
  const PrivateKey ours_ = PrivateKey::generate();
  const PrivateKey others_ = PrivateKey::generate();
};

TEST_F(SignatureLimits, NoSourceTakesTheRoomOfAnother) {
  using T = SignatureLimits;
  const std::array<Source, 4> sources{
      {{"the older tag", &T::goodTag, &T::badTag},
       {"bundles that say what they are", &T::goodSaid, &T::badSaid},
       {"bundles", &T::goodNamed, &T::badNamed},
       {"artifacts of which nothing is said", &T::goodUnnamed, &T::badUnnamed}}};
  for (const Source& full : sources) {
    for (const Source& good : sources) {
      if (&full == &good) { continue; }
      SignedImage image;
      for (int i = 0; i < 60; ++i) { (this->*full.bad)(image, i); }
      (this->*good.good)(image, 0);
      EXPECT_TRUE(verify(image)) << good.what << ", behind 60 of " << full.what << ": " << said(image);
    }
  }
}

TEST_F(SignatureLimits, TextsOfArtifactsTakeNoRoomFromTheOlderTag) {
  SignedImage image;
  for (int i = 0; i < 60; ++i) { badArtifact(image, i); }
  goodTag(image, 0);
  EXPECT_TRUE(verify(image)) << said(image);
}

TEST_F(SignatureLimits, TextsOfOneArtifactTakeNoRoomFromAnother) {
  SignedImage image;
  std::vector<std::pair<std::string, kcache::Annotations>> many;
  for (int i = 0; i < 60; ++i) {
    const std::string text = textOf(image, i + 1);
    many.emplace_back(text, signedBy(others_, text));
  }
  image.addArtifact(many, image.digest);
  const std::string text = said(image);
  EXPECT_NE(text.find("56 layers of artifact sha256:"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" more were not looked at, after 4 texts")) << text;
  goodArtifact(image, 0);
  EXPECT_TRUE(verify(image)) << said(image);
}

// Whoever names a text may say a wrong size of it, and it cannot be read so.
TEST_F(SignatureLimits, AWrongSizeOfATextHidesNoSignatureOfIt) {
  SignedImage image;
  goodTag(image, 0);
  const std::string tag = kt::signatureTag(image.reference, image.digest).tag;
  std::string& manifest = image.images.manifests.at(tag);
  auto parsed = std::get<kcache::Manifest>(*kcache::parseManifest(manifest, ""));
  parsed.layers.insert(parsed.layers.begin(), parsed.layers.front());
  parsed.layers.front().size = 1;
  manifest = kcache::printManifest(parsed);
  const auto verified = verify(image);
  ASSERT_TRUE(verified) << said(image);
  EXPECT_TRUE(verified->where.ends_with(" layer 1"));
}

TEST_F(SignatureLimits, ALayerThatCannotBeReadHidesNoOther) {
  SignedImage image;
  goodTag(image, 0);
  std::string& manifest = image.images.manifests.at(kt::signatureTag(image.reference, image.digest).tag);
  manifest.insert(manifest.find(R"("layers":[)") + 10, R"({"mediaType":"m","digest":"sha512:0"},7,)");
  EXPECT_TRUE(verify(image)) << said(image);
}

// A cache that is signed anew each night has one more each time.
TEST_F(SignatureLimits, SignaturesOfOneTextAreLookedAtUpTo1024) {
  const auto many = [this](int count) {
    SignedImage image;
    const auto layer = image.images.put(std::string{kt::kSimpleSigningType}, image.payload(),
                                        signedBy(others_, image.payload()));
    auto good = layer;
    good.annotations = signedBy(ours_, image.payload());
    std::vector<kcache::Descriptor> layers(static_cast<std::size_t>(count - 1), layer);
    layers.push_back(good);
    image.images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                              .config = image.images.put("c", "{}"),
                              .layers = layers},
                             kt::signatureTag(image.reference, image.digest).tag);
    return image;
  };
  SignedImage most = many(1024);
  const auto verified = verify(most);
  ASSERT_TRUE(verified) << said(most);
  EXPECT_LE(verified->others.size(), 9U) << "what does not count is said in short";
  SignedImage more = many(1025);
  const std::string text = said(more);
  EXPECT_NE(text.find("; and 1016 more; 1 layers of sha256-"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(".sig more were not looked at, after 1024 signatures")) << text;
}

// Who lists an artifact may say of it what it is not.
TEST_F(SignatureLimits, WhatOneEntrySaysOfAnArtifactHidesNoOther) {
  SignedImage image;
  goodSaid(image, 0);
  const kcache::Descriptor good = image.referrers.back();
  kcache::Descriptor another = good;
  another.annotations = {{kt::kPredicateAnnotation, "https://spdx.dev/Document"}};
  image.referrers = {another, good, another};
  const auto verified = verify(image);
  ASSERT_TRUE(verified) << said(image);
  EXPECT_EQ(image.images.asked.size(), 2U);
}

TEST_F(SignatureLimits, AnArtifactThatIsListedTwiceIsLookedAtOnce) {
  SignedImage image;
  badNamed(image, 0);
  image.referrers.push_back(image.referrers.back());
  list(image, "", nullptr);
  EXPECT_FALSE(verify(image));
  const auto& asked = image.images.asked;
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "quay.io/gkm/a@" + image.referrers.front().digest.text()),
            1);
}

}  // namespace
}  // namespace gs::cacherim::trust
