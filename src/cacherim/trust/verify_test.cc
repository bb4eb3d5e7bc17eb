// Signatures by keys, and how they are found. Those by identities: keyless_test.cc.
#include "cacherim/trust/verify.h"

#include <gtest/gtest.h>

#include "cacherim/trust/image_of_test.h"
#include "json/value.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
using signature::PrivateKey;

const PrivateKey kOurs = PrivateKey::generate();
const PrivateKey kOthers = PrivateKey::generate();
const std::vector<Trusted> kTrusted{TrustedKeys{{kOurs.publicKey()}}};

kt::Bundle bundleOf(const PrivateKey& key, const std::string& statement) {
  kt::Envelope envelope{std::string{kt::kStatementType}, statement, ""};
  envelope.signature = *key.sign(kt::signedTextOf(envelope));
  return {.certificates = {}, .key_hint = "hint", .entries = {}, .timestamps = {}, .content = envelope};
}

/// A statement about the image that is no signature; each number another one.
std::string attestationOf(const SignedImage& image, int number) {
  std::string out = kt::printStatement(image.digest.hex());
  const std::string sign{kt::kSignPredicate};
  out.replace(out.find(sign), sign.size(), "https://example.com/scan/v" + std::to_string(number));
  return out;
}

std::string said(SignedImage& image) {
  const auto verified = image.verify(kTrusted);
  if (verified) { return ""; }
  EXPECT_EQ(verified.error().code, Code::Conflict) << verified.error().message;
  return verified.error().message;
}

TEST(VerifyImage, ByAKeyUnderTheOlderTag) {
  SignedImage image;
  image.addLayer(kOurs, image.payload());
  const auto verified = image.verify(kTrusted);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->image.digest, image.digest);
  EXPECT_EQ(verified->who, "key sha256:" + kOurs.publicKey().id());
  EXPECT_EQ(verified->where, "sha256-" + std::string{image.digest.hex()} + ".sig layer 0");
}

TEST(VerifyImage, ByAKeyInABundle) {
  SignedImage image;
  image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
  const auto verified = image.verify(kTrusted);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->where.starts_with("bundle sha256:"));
}

// As cosign 2.6 lists what it writes, where the registry has no referrers API.
TEST(VerifyImage, ABundleCountsThoughItsListDoesNotSayWhatItIs) {
  for (const char* type : {"", "application/vnd.oci.empty.v1+json"}) {
    SignedImage image;
    image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
    image.referrers.back().artifact_type = type;
    EXPECT_TRUE(image.verify(kTrusted)) << type;
  }
  SignedImage image;
  image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
  image.referrers.back().artifact_type = "application/spdx+json";
  EXPECT_TRUE(said(image).ends_with(" has no signatures"));
}

TEST(VerifyImage, WhatAListDoesNotNameComesLastAndIsNoSignatureWhereItIsSomethingElse) {
  SignedImage image;
  for (int i = 0; i < 40; ++i) {
    image.addBundle(std::to_string(i), image.digest);
    image.referrers.back().artifact_type = "";
  }
  image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
  EXPECT_TRUE(image.verify(kTrusted));

  SignedImage other;
  other.referrers = {{std::string{kcache::media::kOciManifest},
                      other.images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                                                .config = other.images.put("c", "{}"),
                                                .layers = {other.images.put("text/spdx", "parts")}}),
                      1}};
  EXPECT_TRUE(said(other).ends_with(" has no signatures"));
}

TEST(VerifyImage, ByAKeyInABundleAboutTheManifestItself) {
  SignedImage image;
  const std::string& manifest = image.images.manifests["v1"];
  kt::Bundle bundle{.certificates = {},
                    .key_hint = "",
                    .entries = {},
                    .timestamps = {},
                    .content = kt::MessageSignature{std::string{image.digest.hex()}, *kOurs.sign(manifest)}};
  image.addBundle(bundle);
  EXPECT_TRUE(image.verify(kTrusted));
  SignedImage other;
  std::get<kt::MessageSignature>(bundle.content).sha256 = std::string(64, 'a');
  other.addBundle(bundle);
  EXPECT_NE(said(other).find("it is about another digest"), std::string::npos);
}

// One resolution (docs/reference/gkm-faults.md 5): a tag that moves in between changes nothing.
TEST(VerifyImage, TheNameIsResolvedOnce) {
  SignedImage image;
  image.addLayer(kOurs, image.payload());
  ASSERT_TRUE(image.verify(kTrusted));
  const auto& asked = image.images.asked;
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "quay.io/gkm/a:v1"), 1);
  EXPECT_EQ(asked.size(), 2U);
}

TEST(VerifyImage, WhatDoesNotCountIsSaid) {
  struct Row {
    const char* said;
    std::function<void(SignedImage&)> add;
  };
  const std::string other = "sha256:" + std::string(64, 'b');
  const Row table[] = {
      {" has no signatures", [](SignedImage&) {}},
      {" layer 0: it is of none of the keys", [](SignedImage& i) { i.addLayer(kOthers, i.payload()); }},
      {"it is about another digest, ",
       [&](SignedImage& i) {
         i.addLayer(kOurs, kt::printSimpleSigning({*kcache::Digest::parse(other), "x"}));
       }},
      {"payload: critical.type is not", [](SignedImage& i) { i.addLayer(kOurs, "{}"); }},
      {"annotation dev.cosignproject.cosign/signature has no signature",
       [](SignedImage& i) { i.addLayer(i.payload(), {}); }},
      {"it is of none of the keys",
       [](SignedImage& i) {
         i.addLayer(i.payload() + " ", {{kt::kSignatureKey, encodeBase64(*kOurs.sign(i.payload()))}});
       }},
      {"bytes; 65536 are allowed",
       [](SignedImage& i) { i.addLayer(kOurs, i.payload() + std::string(kt::kMaxPayload, ' ')); }},
      {"it is of none of the keys",
       [](SignedImage& i) { i.addBundle(bundleOf(kOthers, kt::printStatement(i.digest.hex()))); }},
      {"it is about another digest",
       [&](SignedImage& i) { i.addBundle(bundleOf(kOurs, kt::printStatement(std::string(64, 'b')))); }},
      {" has no signatures; attestations, which are no signatures: 1",
       [](SignedImage& i) { i.addBundle(bundleOf(kOurs, attestationOf(i, 0))); }},
      {"its subject is another image",
       [&](SignedImage& i) {
         i.addBundle(kt::printBundle(bundleOf(kOurs, kt::printStatement(i.digest.hex()))),
                     *kcache::Digest::parse(other));
       }},
      {"bundle: ", [](SignedImage& i) { i.addBundle("no JSON", i.digest); }},
  };
  for (const Row& row : table) {
    SignedImage image;
    row.add(image);
    const std::string text = said(image);
    EXPECT_NE(text.find(row.said), std::string::npos) << row.said << "\n  " << text;
    EXPECT_NE(text.find("quay.io/gkm/a@" + image.digest.text()), std::string::npos) << text;
  }
}

TEST(VerifyImage, ABadOneAmongGoodOnesIsPassedOver) {
  SignedImage image;
  image.addBundle("no JSON", image.digest);
  image.addLayer(kOthers, image.payload());
  image.addLayer(kOurs, image.payload());
  const auto verified = image.verify(kTrusted);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->where.ends_with(" layer 1"));
  EXPECT_EQ(verified->others.size(), 2U);
}

TEST(VerifyImage, NoMoreThan32TextsAreFetchedAndWhatIsLeftOutIsSaid) {
  SignedImage image;
  const auto other_text = [&](int i) {
    return image.payload() + std::string(static_cast<std::size_t>(i), ' ');
  };
  for (int i = 1; i <= 32; ++i) { image.addLayer(kOthers, other_text(i)); }
  image.addLayer(kOurs, image.payload());
  image.addLayer(kOurs, other_text(40));
  const std::string text = said(image);
  EXPECT_NE(text.find("; and 24 more; 2 layers of sha256-"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(".sig more were not looked at, after 32 texts")) << text;
}

TEST(VerifyImage, OfOneTextThatManySignedEachSignatureIsLookedAt) {
  SignedImage image;
  for (int i = 0; i < 40; ++i) { image.addLayer(kOthers, image.payload()); }
  image.addLayer(kOurs, image.payload());
  const auto verified = image.verify(kTrusted);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->where.ends_with(".sig layer 40"));
}

// A scanner adds an attestation each day; the signature is older than all of them, or younger.
TEST(VerifyImage, AttestationsHideNoSignature) {
  for (const bool is_said : {false, true}) {
    for (const int before : {0, 31, 32, 200}) {
      SignedImage image;
      const auto attest = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
          image.addBundle(bundleOf(kOurs, attestationOf(image, i)));
          if (is_said) { image.referrers.back().annotations = {{kt::kPredicateAnnotation, "another"}}; }
        }
      };
      attest(0, before);
      image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
      attest(before, 200);
      EXPECT_TRUE(image.verify(kTrusted)) << is_said << ' ' << before;
      if (is_said) { EXPECT_EQ(image.images.asked.size(), 2U) << "what says that it is none is not fetched"; }
    }
  }
}

TEST(VerifyImage, WhatSaysThatItIsASignatureComesFirst) {
  SignedImage image;
  for (int i = 0; i < 40; ++i) { image.addBundle("no JSON " + std::to_string(i), image.digest); }
  image.addBundle(bundleOf(kOurs, kt::printStatement(image.digest.hex())));
  const std::string text = said(image);
  EXPECT_NE(text.find("9 artifacts more were not looked at, after 32 that do not count"), std::string::npos)
      << text;
  image.referrers.back().annotations = {{kt::kPredicateAnnotation, std::string{kt::kSignPredicate}}};
  EXPECT_TRUE(image.verify(kTrusted));
}

TEST(VerifyImage, AListThatWasCutIsSaid) {
  SignedImage image;
  image.is_cut = true;
  EXPECT_NE(said(image).find(
                "the list of what refers to it is too long, and was left after 0 that may be signatures"),
            std::string::npos);
}

// cosign sign --registry-referrers-mode=oci-1-1
TEST(VerifyImage, ByAKeyInAnArtifact) {
  SignedImage image;
  const auto signedBy = [&](const PrivateKey& key) {
    return kcache::Annotations{{kt::kSignatureKey, encodeBase64(*key.sign(image.payload()))}};
  };
  image.addArtifact({{image.payload(), signedBy(kOthers)}, {image.payload(), signedBy(kOurs)}}, image.digest);
  const auto verified = image.verify(kTrusted);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->where.starts_with("artifact sha256:")) << verified->where;
  EXPECT_TRUE(verified->where.ends_with(" layer 1")) << verified->where;
  image.referrers.back().artifact_type = "";
  EXPECT_TRUE(image.verify(kTrusted)) << "a list need not say what it is";
  SignedImage other;
  other.addArtifact({{image.payload(), signedBy(kOurs)}},
                    *kcache::Digest::parse("sha256:" + std::string(64, 'b')));
  EXPECT_NE(said(other).find("its subject is another image"), std::string::npos);
}

// "Not signed" and "cannot say now" are two answers: the second is tried again.
TEST(VerifyImage, ARegistryThatIsAwayIsNoMissingSignature) {
  SignedImage image;
  image.images.away = true;
  const auto verified = image.verify(kTrusted);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Code::Unavailable);
  EXPECT_NE(verified.error().message.find("the registry is away"), std::string::npos);
  image.images.manifests.erase("v1");
  image.images.away = false;
  EXPECT_EQ(image.verify(kTrusted).error().code, Code::NotFound);
}

TEST(VerifyImage, ARegistryThatIsHalfAwayIsEnoughWithAGoodSignature) {
  SignedImage image;
  image.addLayer(kOurs, image.payload());
  image.images.away = true;  // no referrers; the tag is there
  EXPECT_TRUE(image.verify(kTrusted));
}

TEST(TrustedOf, WhatCannotBeReadIsNamed) {
  kt::Rule rule{.name = "rules[0]",
                .images = {},
                .namespaces = {},
                .authorities = {kt::Keyed{{kOurs.publicPem(), "-----BEGIN PUBLIC KEY-----"}}}};
  EXPECT_EQ(trustedOf(rule, {}).error().message,
            "rules[0].require[0].publicKeys[1]: it is no public key in PEM (-----BEGIN PUBLIC KEY-----)");
  rule.authorities = {kt::Keyed{{kOurs.publicPem()}}, kt::Keyless{{}, "root.json"}};
  EXPECT_EQ(trustedOf(rule, {}).error().message,
            "rules[0].require[1].trustedRoot: there is no 'root.json' beside the policy; add it");
  EXPECT_EQ(trustedOf(rule, {{"root.json", "[]"}}).error().message,
            "rules[0].require[1].trustedRoot: 'root.json': trusted root: it is no JSON object");
  rule.authorities.pop_back();
  ASSERT_TRUE(trustedOf(rule, {}));
}

kt::Policy policyFor(const std::string& pem) {
  const json::Value key = json::Object{{"publicKeys", json::Array{pem}}};
  const json::Value rule = json::Object{{"images", json::Array{"quay.io/gkm/*"}},
                                        {"scope", json::Object{{"namespaces", json::Array{"team-a"}}}},
                                        {"require", json::Array{key}}};
  auto policy = kt::parsePolicy(json::Object{{"rules", json::Array{rule}}});
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return *policy;
}

TEST(AdmitImage, ByTheRuleForItsPlace) {
  SignedImage image;
  const auto admitted = [&](const std::string& ns, const std::string& pem) {
    return admitImage(image.source(), policyFor(pem), {}, {ns}, image.reference);
  };
  const auto unsigned_one = admitted("team-a", kOurs.publicPem());
  ASSERT_FALSE(unsigned_one);
  EXPECT_EQ(unsigned_one.error(),
            (Error{Code::Conflict, "gkm-trust-policy, rules[0] requires a signature: quay.io/gkm/a@" +
                                       image.digest.text() + " has no signatures"}));
  EXPECT_EQ(admitted("team-b", kOurs.publicPem())->why,
            "no rule of the ConfigMap gkm-trust-policy is for quay.io/gkm/a in namespace team-b");
  EXPECT_EQ(admitted("", kOurs.publicPem()).error().code, Code::Conflict);
  image.addLayer(kOurs, image.payload());
  const auto signed_one = admitted("team-a", kOurs.publicPem());
  ASSERT_TRUE(signed_one) << signed_one.error().message;
  EXPECT_EQ(signed_one->image.digest, image.digest);
  EXPECT_EQ(signed_one->why, "signed by key sha256:" + kOurs.publicKey().id());
  EXPECT_EQ(admitted("team-a", "-----BEGIN PUBLIC KEY-----").error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::cacherim::trust
