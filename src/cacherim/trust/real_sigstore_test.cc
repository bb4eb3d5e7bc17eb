// What real Sigstores have written: a bundle of the public one, from 2023, and one of a private one with its
// trusted root. They are seeds of the fuzzer too (fuzz/corpus/signatures; from sigstore-go 0.6.1, Apache
// 2.0).
#include <gtest/gtest.h>

#include <algorithm>

#include "base/base64.h"
#include "base/files.h"
#include "cacherim/trust/judge.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;

std::string seed(const char* name) {
  const auto text = readFile(std::string{"fuzz/corpus/signatures/"} + name);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}
Sigstore sigstoreOf(const char* name) {
  const auto root = kt::parseTrustedRoot(seed(name));
  EXPECT_TRUE(root) << (root ? "" : root.error().message);
  return Sigstore{root.value_or(kt::TrustedRoot{})};
}
kt::Bundle bundleOf(const char* name) {
  auto bundle = kt::parseBundle(seed(name));
  EXPECT_TRUE(bundle) << (bundle ? "" : bundle.error().message);
  return bundle.value_or(kt::Bundle{});
}
std::vector<kt::Identity> anybody() { return {{*kt::TextMatch::whole(".*"), *kt::TextMatch::whole(".*")}}; }
std::string resultOf(const Result<std::string>& who) { return who ? *who : who.error().message; }

/// Of an attestation, which is no signature of an image.
Evidence evidenceIn(const kt::Bundle& bundle) {
  const auto& envelope = std::get<kt::Envelope>(bundle.content);
  return {.where = {},
          .message = kt::signedTextOf(envelope),
          .signature = envelope.signature,
          .statement = envelope.payload,
          .certificates = bundle.certificates,
          .entries = bundle.entries,
          .timestamps = bundle.timestamps};
}

TEST(RealSigstore, ABundleOfThePublicOneCounts) {
  const Sigstore sigstore = sigstoreOf("public_trusted_root.json");
  const Evidence evidence = evidenceIn(bundleOf("public_bundle_0_1.json"));
  EXPECT_EQ(resultOf(sigstore.judge(evidence, anybody())),
            R"("https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main" by )"
            R"("https://token.actions.githubusercontent.com")");
}

TEST(RealSigstore, OfAnotherSigstoreItDoesNot) {
  const Sigstore sigstore = sigstoreOf("private_trusted_root.json");
  EXPECT_EQ(resultOf(sigstore.judge(evidenceIn(bundleOf("public_bundle_0_1.json")), anybody())),
            "the log of its entry is not in the trusted root");
}

TEST(RealSigstore, EachByteOfItsSignaturesCounts) {
  const Sigstore sigstore = sigstoreOf("public_trusted_root.json");
  const Evidence good = evidenceIn(bundleOf("public_bundle_0_1.json"));
  const auto changed = [&](const std::function<std::string&(Evidence&)>& part, std::size_t at) {
    Evidence out = good;
    std::string& text = part(out);
    text[at % text.size()] = static_cast<char>(text[at % text.size()] ^ 1);
    return sigstore.judge(out, anybody()).has_value();
  };
  for (std::size_t at = 0; at < 70; ++at) {
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return e.signature; }, at)) << at;
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return e.entries[0].promise; }, at)) << at;
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return e.message; }, at)) << at;
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return *e.statement; }, at)) << at;
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return e.entries[0].body; }, 7 * at)) << at;
    EXPECT_FALSE(changed([](Evidence& e) -> std::string& { return e.certificates[0]; }, 11 * at)) << at;
  }
}

// Its text is not known; all else is.
TEST(RealSigstore, TheEntryOfAPrivateOneIsInItsTree) {
  const auto root = kt::parseTrustedRoot(seed("private_trusted_root.json"));
  const kt::Bundle bundle = bundleOf("private_bundle_0_3.json");
  ASSERT_TRUE(root);
  ASSERT_EQ(bundle.entries.size(), 1U);
  const kt::LogEntry& entry = bundle.entries[0];
  const auto log = signature::PublicKey::parse(root->logs.at(0).key);
  ASSERT_TRUE(log);
  EXPECT_EQ(entry.log_id, root->logs[0].id);
  EXPECT_TRUE(log->verifies(kt::promisedText(entry), entry.promise));
  EXPECT_EQ(kt::rootOf(kt::leafHash(entry.body), *entry.proof), entry.proof->root);
  const auto checkpoint = kt::parseCheckpoint(entry.proof->checkpoint);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->origin, "rekor-00001-deployment-56bf7777c9-jds5x - 6364419738405537866");
  EXPECT_EQ(checkpoint->size, 4);
  EXPECT_EQ(checkpoint->root, entry.proof->root);
  EXPECT_TRUE(log->verifies(checkpoint->signed_text, checkpoint->signatures.at(0).signature));
}

TEST(RealSigstore, TheCertificateOfAPrivateOneHasAnotherKindOfName) {
  const auto leaf = signature::Certificate::parse(bundleOf("private_bundle_0_3.json").certificates.at(0));
  ASSERT_TRUE(leaf) << leaf.error().message;
  EXPECT_EQ(leaf->subjects(), std::vector<std::string>{"foo!oidc.local"});
  EXPECT_EQ(leaf->issuer(), "http://oidc.local:8080");
}

}  // namespace
}  // namespace gs::cacherim::trust
