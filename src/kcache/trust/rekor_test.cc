// More of proofs and promises, with keys: cacherim/trust/keyless_test.cc.
#include "kcache/trust/rekor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/hex.h"
#include "kcache/trust/trusted_root.h"

namespace gs::kcache::trust {
namespace {

const std::string kHex(64, 'a');

std::string sha(const std::string& bytes) { return *decodeHex(sha256Hex(bytes)); }

using Leaves = std::vector<std::string>;
/// RFC 6962 2.1, as it is written there.
std::size_t splitAt(std::size_t size) {
  std::size_t out = 1;
  while (out * 2 < size) { out *= 2; }
  return out;
}
std::string treeHash(const Leaves& d) {
  if (d.size() == 1) { return sha(std::string(1, '\0') + d[0]); }
  const auto k = d.begin() + static_cast<std::ptrdiff_t>(splitAt(d.size()));
  return sha("\x01" + treeHash({d.begin(), k}) + treeHash({k, d.end()}));
}
Leaves pathTo(std::size_t m, const Leaves& d) {
  if (d.size() == 1) { return {}; }
  const std::size_t k = splitAt(d.size());
  const Leaves left(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(k));
  const Leaves right(d.begin() + static_cast<std::ptrdiff_t>(k), d.end());
  Leaves out = m < k ? pathTo(m, left) : pathTo(m - k, right);
  out.push_back(treeHash(m < k ? right : left));
  return out;
}

TEST(RekorProofProperty, EveryLeafLeadsToTheRootOfItsTreeAndNoOtherDoes) {
  EXPECT_TRUE(rc::check([] {
    const auto size = *rc::gen::inRange<std::size_t>(1, 70);
    const auto index = *rc::gen::inRange<std::size_t>(0, size);
    Leaves leaves;
    for (std::size_t i = 0; i < size; ++i) { leaves.push_back("leaf " + std::to_string(i)); }
    InclusionProof proof;
    proof.index = static_cast<std::int64_t>(index);
    proof.size = static_cast<std::int64_t>(size);
    proof.hashes = pathTo(index, leaves);
    RC_ASSERT(rootOf(leafHash(leaves[index]), proof) == treeHash(leaves));
    RC_ASSERT(rootOf(leafHash("other"), proof) != treeHash(leaves));
    proof.hashes.push_back(sha("more"));
    RC_ASSERT(!rootOf(leafHash(leaves[index]), proof));
  }));
}

TEST(RekorProof, OfNoPlaceInItsTreeIsNone) {
  for (const auto& [index, size] : {std::pair{-1, 1}, {0, 0}, {1, 1}, {0, -1}}) {
    InclusionProof proof;
    proof.index = index;
    proof.size = size;
    EXPECT_FALSE(rootOf(leafHash("a"), proof)) << index << ' ' << size;
  }
  InclusionProof large;
  large.index = (std::int64_t{1} << 62) - 1;
  large.size = (std::int64_t{1} << 62) + 1;
  EXPECT_FALSE(rootOf(leafHash("a"), large));
  large.hashes.assign(62, sha("x"));
  large.hashes.push_back(sha("y"));
  EXPECT_TRUE(rootOf(leafHash("a"), large));
}

std::string body(const std::string& kind, const std::string& version, const std::string& spec) {
  return R"({"kind":")" + kind + R"(","apiVersion":")" + version + R"(","spec":)" + spec + "}";
}

TEST(RekorBody, EveryKindSaysWhoSignedWhat) {
  const std::string hash1 = R"({"algorithm":"sha256","value":")" + kHex + R"("})";
  const std::string hash2 =
      R"({"algorithm":"SHA2_256","digest":")" + encodeBase64(*decodeHex(kHex)) + R"("})";
  const std::string signature = encodeBase64("signature");
  const std::string verifier = encodeBase64("verifier");
  const std::string signer2 =
      R"({"content":")" + signature + R"(","verifier":{"publicKey":{"rawBytes":")" + verifier + R"("}}})";
  const std::string table[] = {
      body("hashedrekord", "0.0.1",
           R"({"data":{"hash":)" + hash1 + R"(},"signature":{"content":")" + signature +
               R"(","publicKey":{"content":")" + verifier + R"("}}})"),
      body("hashedrekord", "0.0.2",
           R"({"hashedRekordV002":{"data":)" + hash2 + R"(,"signature":)" + signer2 + "}}"),
      body("dsse", "0.0.1",
           R"({"payloadHash":)" + hash1 + R"(,"signatures":[{"signature":")" + signature +
               R"(","verifier":")" + verifier + R"("}]})"),
      body("dsse", "0.0.2",
           R"({"dsseV002":{"payloadHash":)" + hash2 + R"(,"signatures":[)" + signer2 + "]}}"),
      body("intoto", "0.0.2",
           R"({"content":{"payloadHash":)" + hash1 + R"(,"envelope":{"signatures":[{"sig":")" +
               encodeBase64(signature) + R"(","publicKey":")" + verifier + R"("}]}}})"),
  };
  for (const std::string& text : table) {
    const auto read = parseEntryBody(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(read->payload_sha256, kHex) << text;
    ASSERT_EQ(read->signers.size(), 1U) << text;
    EXPECT_EQ(read->signers[0].signature, "signature") << text;
    EXPECT_EQ(read->signers[0].verifier, "verifier") << text;
    const std::size_t at = text.find(text.find("SHA2_256") != std::string::npos ? "SHA2_256" : "sha256");
    EXPECT_NE(
        parseEntryBody(std::string{text}.replace(at, 3, "xxx")).error().message.find("algorithm is not"),
        std::string::npos);
  }
  EXPECT_EQ(parseEntryBody(body("dsse", "0.0.1", R"({"payloadHash":)" + hash1 + "}")).error().message,
            "log entry: it has no signature");
  EXPECT_EQ(parseEntryBody(body("dsse", "0.0.3", "{}")).error().message,
            "log entry: its kind 'dsse 0.0.3' is not known");
}

TEST(RekorAnnotation, IsAnEntryWithItsPromise) {
  const std::string text = R"({"SignedEntryTimestamp":"cHJvbWlzZQ==","Payload":{"body":"Ym9keQ==",)"
                           R"("integratedTime":1750000000,"logIndex":7,"logID":")" +
                           kHex + R"("}})";
  const auto entry = parseRekorAnnotation(text);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->promise, "promise");
  EXPECT_EQ(entry->body, "body");
  EXPECT_EQ(promisedText(*entry),
            R"({"body":"Ym9keQ==","integratedTime":1750000000,"logID":")" + kHex + R"(","logIndex":7})");
  EXPECT_EQ(parseRekorAnnotation("{}").error().message, "log entry.SignedEntryTimestamp is missing");
  EXPECT_EQ(
      parseRekorAnnotation(std::string{text}.replace(text.find("\"logID\":\"") + 9, 1, "x")).error().message,
      "log entry: Payload.logID is no SHA-256 in hex");
}

TEST(Checkpoint, IsATextWithSignatures) {
  const std::string root = encodeBase64(sha("root"));
  const std::string text = "origin\n4\n" + root + "\nmore\n";
  const std::string line = "\xe2\x80\x94 a name " + encodeBase64("hintsignature") + "\n";
  const auto read = parseCheckpoint(text + "\n" + line + line);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->origin, "origin");
  EXPECT_EQ(read->size, 4);
  EXPECT_EQ(read->root, sha("root"));
  EXPECT_EQ(read->signed_text, text);
  ASSERT_EQ(read->signatures.size(), 2U);
  EXPECT_EQ(read->signatures[0].name, "a name");
  EXPECT_EQ(read->signatures[0].key_hint, "hint");
  EXPECT_EQ(read->signatures[0].signature, "signature");
  const auto said = [](const std::string& bad) { return parseCheckpoint(bad).error().message; };
  EXPECT_EQ(said(text), "checkpoint: it has no signatures");
  EXPECT_EQ(said("a\n\n"), "checkpoint: it lacks origin, size or root");
  EXPECT_EQ(said("a\n4x\n" + root + "\n\n" + line), "checkpoint: its size is no number");
  EXPECT_EQ(said("a\n-4\n" + root + "\n\n" + line), "checkpoint: its size is no number");
  EXPECT_EQ(said("a\n4\nYQ==\n\n" + line), "checkpoint: its root is no hash");
  EXPECT_EQ(said(text + "\nx\n"), "checkpoint: a line is no signature");
  EXPECT_EQ(said(text + "\n\xe2\x80\x94 a YQ==\n"), "checkpoint: a signature is no base64 of one");
  EXPECT_EQ(said(text + "\n\xe2\x80\x94 a"), "checkpoint: a line does not end");
  std::string many = text + "\n";
  for (int i = 0; i < 33; ++i) { many += line; }
  EXPECT_EQ(said(many), "checkpoint: it has too many signatures");
}

TEST(TrustedRoot, WhatIsWrongIsSaid) {
  const auto said = [](const std::string& members) {
    const auto root = parseTrustedRoot(
        R"({"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1")" + members + "}");
    return root ? "" : root.error().message;
  };
  const std::string ca = R"(,"certificateAuthorities":[{"certChain":{"certificates":[{"rawBytes":"YQ=="}]},)"
                         R"("validFor":{"start":"2020-01-01T00:00:00Z"}}])";
  EXPECT_EQ(said(ca), "");
  EXPECT_EQ(said(""), "trusted root: it has no certificateAuthorities, and so verifies nothing");
  EXPECT_EQ(said(R"(,"certificateAuthorities":[{}])"),
            "trusted root: certificateAuthorities[0].certChain has no certificate");
  EXPECT_EQ(said(ca + R"(,"tlogs":[{}])"), "trusted root: tlogs[0].publicKey.rawBytes is missing");
  EXPECT_EQ(said(ca + R"(,"ctlogs":[{"publicKey":{"rawBytes":"YQ==","validFor":{"end":"soon"}}}])"),
            "trusted root: ctlogs[0].publicKey.validFor has a member end that is no time like "
            "2025-06-15T15:06:40Z");
  EXPECT_EQ(parseTrustedRoot("{}").error().message,
            "trusted root: mediaType is not application/vnd.dev.sigstore.trustedroot+json;version=0.1");
}

TEST(TrustedRoot, ALogWithoutAnIdIsNamedByItsKey) {
  const auto root =
      parseTrustedRoot(R"({"mediaType":"application/vnd.dev.sigstore.trustedroot.v0.2+json",)"
                       R"("certificateAuthorities":[{"certChain":{"certificates":[{"rawBytes":"YQ=="}]}}],)"
                       R"("tlogs":[{"publicKey":{"rawBytes":"YQ=="}}]})");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->logs[0].id, sha("a"));
  EXPECT_TRUE(root->logs[0].valid.holds(Wall{}));
}

}  // namespace
}  // namespace gs::kcache::trust
