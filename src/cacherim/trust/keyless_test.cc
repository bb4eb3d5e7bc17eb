// Signatures by identities: a whole Sigstore, and each check of it broken once.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cacherim/trust/fake_rekor_test.h"
#include "cacherim/trust/image_of_test.h"
#include "kcache/trust/trusted_root.h"
#include "signature/fake_sigstore_test.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
using signature::PrivateKey;
using signature::Signer;
using signature::Wanted;
using std::chrono::minutes;

const Wall kAt{std::chrono::seconds{1'750'000'000}};
const char* const kMe = "me@example.com";
const char* const kIssuer = "https://accounts.example";

std::int64_t secondsOf(Wall at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

/// Keys that last for all tests of this file.
struct Parts {
  signature::FakeAuthority ca = signature::makeAuthority("codeSigning");
  signature::FakeAuthority tsa = signature::makeAuthority("timeStamping");
  PrivateKey ct_log = PrivateKey::generate();
  FakeRekor rekor;

  [[nodiscard]] kt::TrustedRoot root() const {
    const kt::Validity always;
    return {.logs = {{"https://rekor.test", rekor.id(), rekor.key().publicKey().der(), always}},
            .certificate_logs = {{"https://ct.test", *decodeHex(ct_log.publicKey().id()),
                                  ct_log.publicKey().der(), always}},
            .authorities = {{"https://fulcio.test", ca.chain(), always}},
            .timestamp_authorities = {{"https://tsa.test", tsa.chain(), always}}};
  }
};
const Parts& ours() {
  static const Parts kParts;
  return kParts;
}
const Parts& others() {
  static const Parts kParts;
  return kParts;
}

std::vector<Trusted> trusting(const kt::TrustedRoot& root, const std::string& issuer = kIssuer,
                              const std::string& subject = kMe) {
  return {TrustedIdentities{{{kt::TextMatch::exactly(issuer), kt::TextMatch::exactly(subject)}},
                            std::make_shared<const Sigstore>(root)}};
}

Wanted wanted() {
  Wanted out;
  out.from = kAt;
  out.until = kAt + minutes{10};
  out.log = &ours().ct_log;
  out.promised_at = kAt;
  return out;
}

/// How one signature is made. What a row of a table changes.
struct How {
  Wanted certificate = wanted();
  const Parts* of = &ours();
  Wall at = kAt + minutes{1};
  bool promise = true;
  bool prove = true;
  bool stamp = false;
  std::function<void(kt::LogEntry&)> log_sees = [](kt::LogEntry&) {};  // before it promises and proves
  std::function<void(kt::LogEntry&)> then = [](kt::LogEntry&) {};      // afterwards
  std::function<std::string(std::string)> signed_as = [](std::string text) { return text; };
};

struct Signature {
  Signer signer;
  std::string bytes;
  kt::LogEntry entry;
  std::vector<std::string> stamps;
};

/// `body`: what the log is told of the signature.
template <class Body>
Signature makeSignature(const How& how, const std::string& message, const Body& body) {
  Signer signer = issue(how.of->ca, how.certificate);
  std::string bytes = *signer.key.sign(how.signed_as(message));
  kt::LogEntry entry = how.of->rekor.entry(body(bytes, signer.pem), secondsOf(how.at));
  how.log_sees(entry);
  if (how.promise) { how.of->rekor.promise(entry); }
  if (how.prove) { how.of->rekor.prove(entry); }
  how.then(entry);
  std::vector<std::string> stamps;
  if (how.stamp) { stamps.push_back(stampOf(how.of->tsa, bytes, how.at)); }
  return {std::move(signer), std::move(bytes), std::move(entry), std::move(stamps)};
}

/// As cosign 3 does it.
kt::Bundle bundleBy(const How& how, const kcache::Digest& image) {
  kt::Envelope envelope{std::string{kt::kStatementType}, kt::printStatement(image.hex()), ""};
  const Signature made = makeSignature(
      how, kt::signedTextOf(envelope),
      [&](const auto& bytes, const auto& pem) { return FakeRekor::dsse(envelope.payload, bytes, pem); });
  envelope.signature = made.bytes;
  kt::Bundle out{.certificates = {made.signer.der},
                 .key_hint = {},
                 .entries = {},
                 .timestamps = made.stamps,
                 .content = envelope};
  if (how.promise || how.prove) { out.entries.push_back(made.entry); }
  return out;
}

/// The text of one, which printBundle() writes for keys only.
json::Value entryJson(const kt::LogEntry& entry) {
  json::Object out{{"logIndex", std::to_string(entry.log_index)},
                   {"logId", json::Object{{"keyId", encodeBase64(entry.log_id)}}},
                   {"integratedTime", std::to_string(entry.integrated_time)},
                   {"canonicalizedBody", encodeBase64(entry.body)}};
  if (!entry.promise.empty()) {
    out.set("inclusionPromise", json::Object{{"signedEntryTimestamp", encodeBase64(entry.promise)}});
  }
  if (entry.proof) {
    json::Array hashes;
    for (const std::string& hash : entry.proof->hashes) { hashes.emplace_back(encodeBase64(hash)); }
    out.set("inclusionProof",
            json::Object{{"logIndex", std::to_string(entry.proof->index)},
                         {"treeSize", std::to_string(entry.proof->size)},
                         {"rootHash", encodeBase64(entry.proof->root)},
                         {"hashes", std::move(hashes)},
                         {"checkpoint", json::Object{{"envelope", entry.proof->checkpoint}}}});
  }
  return out;
}
std::string bundleText(const kt::Bundle& bundle) {
  json::Value out = *json::parse(kt::printBundle(bundle));
  json::Array entries;
  for (const kt::LogEntry& one : bundle.entries) { entries.push_back(entryJson(one)); }
  json::Array stamps;
  for (const std::string& one : bundle.timestamps) {
    stamps.emplace_back(json::Object{{"signedTimestamp", encodeBase64(one)}});
  }
  json::Value& material = out.child("verificationMaterial");
  material.set("tlogEntries", std::move(entries));
  material.set("timestampVerificationData", json::Object{{"rfc3161Timestamps", std::move(stamps)}});
  return json::print(out);
}

/// As cosign 2 does it.
void addLegacy(SignedImage& image, const How& how) {
  const std::string payload = image.payload();
  const Signature made = makeSignature(how, payload, [&](const auto& bytes, const auto& pem) {
    return FakeRekor::hashedRekord(payload, bytes, pem);
  });
  kcache::Annotations annotations{{kt::kSignatureKey, encodeBase64(made.bytes)},
                                  {kt::kCertificateKey, made.signer.pem}};
  if (how.promise) {
    annotations[kt::kRekorKey] =
        json::print(json::Object{{"SignedEntryTimestamp", encodeBase64(made.entry.promise)},
                                 {"Payload", json::Object{{"body", encodeBase64(made.entry.body)},
                                                          {"integratedTime", made.entry.integrated_time},
                                                          {"logIndex", made.entry.log_index},
                                                          {"logID", encodeHex(made.entry.log_id)}}}});
  }
  if (how.stamp) {
    annotations[kt::kTimestampKey] =
        json::print(json::Object{{"SignedRFC3161Timestamp", encodeBase64(made.stamps.at(0))}});
  }
  image.addLayer(payload, annotations);
}

std::string said(const Result<Verified>& verified) { return verified ? "" : verified.error().message; }

TEST(Keyless, AnIdentityCountsByABundleAndByTheOlderTag) {
  for (const bool stamp : {false, true}) {
    for (const bool promise : {true, false}) {
      if (!promise && !stamp) { continue; }
      How how;
      how.stamp = stamp;
      how.promise = promise;
      SignedImage image;
      image.addBundle(bundleText(bundleBy(how, image.digest)), image.digest);
      const auto verified = image.verify(trusting(ours().root()));
      ASSERT_TRUE(verified) << verified.error().message;
      EXPECT_EQ(verified->who, R"("me@example.com" by "https://accounts.example")");
      SignedImage legacy;
      addLegacy(legacy, how);
      EXPECT_EQ(said(legacy.verify(trusting(ours().root()))), "");
    }
  }
}

TEST(Keyless, ATimestampAloneIsEnough) {
  How how;
  how.stamp = true;
  how.promise = how.prove = false;
  SignedImage image;
  image.addBundle(bundleText(bundleBy(how, image.digest)), image.digest);
  EXPECT_EQ(said(image.verify(trusting(ours().root()))), "");
}

struct Broken {
  const char* name;
  const char* said;
  How how;
};
How with(const std::function<void(How&)>& change) {
  How out;
  change(out);
  return out;
}

// Everything else is right in each of them.
std::vector<Broken> brokenOnes() {
  return {
      {"NoPromiseOfACtLog", "has no promise of a CT log (SCT) in it",
       with([](How& h) { h.certificate.log = nullptr; })},
      {"PromiseOfAnotherCtLog", "no CT log (SCT) of the certificate is in the trusted root",
       with([](How& h) { h.certificate.log = &others().ct_log; })},
      {"PromiseOfAnotherCertificate", "the promise of the CT log (SCT) in the certificate is not about it",
       with([](How& h) { h.certificate.promise_is_of_another = true; })},
      {"NotForCodeSigning", "its certificate is not for code signing",
       with([](How& h) { h.certificate.is_for_code_signing = false; })},
      {"SignedLater", "its certificate was not good at 2025-06-15T15:17:40Z: certificate has expired",
       with([](How& h) { h.at = kAt + minutes{11}; })},
      {"SignedEarlier", "its certificate was not good at 2025-06-15T15:05:40Z: certificate is not yet valid",
       with([](How& h) { h.at = kAt - minutes{1}; })},
      {"StampedLater", "its certificate was not good at 2025-06-15T15:17:40Z: certificate has expired",
       with([](How& h) {
         h.at = kAt + minutes{11};
         h.stamp = true;
         h.promise = h.prove = false;
       })},
      {"NothingSaysWhen", "nothing proves when it was signed: no promise of a log (SET), and no timestamp",
       with([](How& h) { h.promise = h.prove = false; })},
      {"AProofSaysNothingOfWhen", "nothing proves when it was signed",
       with([](How& h) { h.promise = false; })},
      {"NeitherPromiseNorProof", "its entry has no promise (SET) and no proof", with([](How& h) {
         h.prove = false;
         h.stamp = true;
         h.then = [](kt::LogEntry& e) { e.promise.clear(); };
       })},
      {"PromiseOfAnotherTime", "the log's promise (SET) is not about its entry",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.integrated_time += 1; }; })},
      {"PromiseOfAnotherIndex", "the log's promise (SET) is not about its entry",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.log_index += 1; }; })},
      {"PromiseOfAnotherBody", "the log's promise (SET) is not about its entry", with([](How& h) {
         h.then = [](kt::LogEntry& e) {
           e.body.insert(1, " ");
           ours().rekor.prove(e);
         };
       })},
      {"PromiseByAnotherLog", "the log's promise (SET) is not about its entry",
       with([](How& h) { h.then = [](kt::LogEntry& e) { others().rekor.promise(e); }; })},
      {"LogThatIsNotKnown", "the log of its entry is not in the trusted root",
       with([](How& h) { h.log_sees = [](kt::LogEntry& e) { e.log_id = others().rekor.id(); }; })},
      {"EntryOfNoKnownKind", "its kind 'alpine 0.0.1' is not known", with([](How& h) {
         h.log_sees = [](kt::LogEntry& e) { e.body = R"({"apiVersion":"0.0.1","kind":"alpine"})"; };
       })},
      {"EntryAboutAnotherText", "the log's entry is about another text", with([](How& h) {
         h.log_sees = [](kt::LogEntry& e) {
           const auto body = *kt::parseEntryBody(e.body);
           e.body = FakeRekor::dsse("other", body.signers[0].signature, body.signers[0].verifier);
         };
       })},
      {"EntryAboutAnotherSignature", "the log's entry is about another signature", with([](How& h) {
         h.log_sees = [](kt::LogEntry& e) {
           json::Value body = *json::parse(e.body);
           body.child("spec").child("signatures").array()[0].set("signature", encodeBase64("another"));
           e.body = json::print(body);
         };
       })},
      {"EntryOfAnotherKind", "the log's entry is about another text", with([](How& h) {
         h.log_sees = [](kt::LogEntry& e) {
           const auto body = *kt::parseEntryBody(e.body);
           e.body = FakeRekor::hashedRekord("m", body.signers[0].signature, body.signers[0].verifier);
         };
       })},
      {"EntryAboutAnotherSigner", "the log's entry is about another signer", with([](How& h) {
         h.log_sees = [](kt::LogEntry& e) {
           json::Value body = *json::parse(e.body);
           body.child("spec")
               .child("signatures")
               .array()[0]
               .set("verifier", encodeBase64(issue(ours().ca, wanted()).pem));
           e.body = json::print(body);
         };
       })},
      {"ProofOfAnotherLeaf", "the log's proof does not lead to its root",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.proof->index = 2; }; })},
      {"ProofWithAnotherHash", "the log's proof does not lead to its root",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.proof->hashes[0][0] ^= 1; }; })},
      {"ProofTooShort", "the log's proof does not lead to its root",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.proof->hashes.pop_back(); }; })},
      {"ProofOfATreeThatIsNot", "the log's proof does not lead to its root",
       with([](How& h) { h.then = [](kt::LogEntry& e) { e.proof->size = 0; }; })},
      {"CheckpointByAnotherLog", "the log's checkpoint is not signed by the log", with([](How& h) {
         h.then = [](kt::LogEntry& e) {
           e.proof->checkpoint = FakeRekor::checkpoint(*e.proof, others().rekor.key());
         };
       })},
      {"CheckpointOfAnotherTree", "the log's checkpoint is of another tree than its proof", with([](How& h) {
         h.then = [](kt::LogEntry& e) {
           kt::InclusionProof other = *e.proof;
           other.size += 1;
           e.proof->checkpoint = FakeRekor::checkpoint(other, ours().rekor.key());
         };
       })},
      {"NoCheckpoint", "checkpoint: it has no signatures", with([](How& h) {
         h.promise = false;
         h.then = [](kt::LogEntry& e) { e.proof->checkpoint = "x"; };
       })},
      {"SignatureOfAnotherText", "it is not of the certificate's key",
       with([](How& h) { h.signed_as = [](const std::string& text) { return text + "x"; }; })},
      {"NobodysCa", "certificate signature failure", with([](How& h) {
         static const Parts kHalf = [] {
           Parts out = ours();
           out.ca = others().ca;
           return out;
         }();
         h.of = &kHalf;
       })},
      {"StampOfNobody", "timestamp: certificate verify error", with([](How& h) {
         static const Parts kHalf = [] {
           Parts out = ours();
           out.tsa = others().tsa;
           return out;
         }();
         h.of = &kHalf;
         h.stamp = true;
       })},
      {"AnotherSubject", R"(it is of "you@example.com", who is not trusted)",
       with([](How& h) { h.certificate.subject = "email:you@example.com"; })},
      {"NoSubject", "it is of nobody, who is not trusted", with([](How& h) { h.certificate.subject = ""; })},
      {"AnotherIssuer", R"(by the issuer "https://evil.example", which is not trusted)",
       with([](How& h) { h.certificate.issuer = "https://evil.example"; })},
      {"NoIssuer", R"(by the issuer "", which is not trusted)",
       with([](How& h) { h.certificate.issuer = ""; })},
  };
}

class BrokenKeyless : public testing::TestWithParam<Broken> {};

TEST_P(BrokenKeyless, IsRefusedForItsReason) {
  SignedImage image;
  image.addBundle(bundleText(bundleBy(GetParam().how, image.digest)), image.digest);
  const auto verified = image.verify(trusting(ours().root()));
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Code::Conflict);
  EXPECT_NE(verified.error().message.find(GetParam().said), std::string::npos) << verified.error().message;
}
INSTANTIATE_TEST_SUITE_P(Table, BrokenKeyless, testing::ValuesIn(brokenOnes()),
                         [](const auto& info) { return std::string{info.param.name}; });

TEST(Keyless, WithoutACertificateItIsNobodys) {
  SignedImage image;
  kt::Bundle bundle = bundleBy({}, image.digest);
  bundle.certificates.clear();
  image.addBundle(bundleText(bundle), image.digest);
  EXPECT_NE(said(image.verify(trusting(ours().root()))).find("it has no certificate: it was made with a key"),
            std::string::npos);
}

TEST(Keyless, AStampOfAnotherSignatureDoesNotCount) {
  SignedImage image;
  How how;
  how.stamp = true;
  kt::Bundle bundle = bundleBy(how, image.digest);
  bundle.timestamps = {stampOf(ours().tsa, "another", kAt)};
  image.addBundle(bundleText(bundle), image.digest);
  EXPECT_NE(said(image.verify(trusting(ours().root()))).find("timestamp: message imprint mismatch"),
            std::string::npos);
}

TEST(Keyless, AKeyOrACaThatDidNotCountThenIsNone) {
  const auto saidWith = [](const std::function<void(kt::TrustedRoot&)>& change) {
    SignedImage image;
    How how;
    how.stamp = true;
    image.addBundle(bundleText(bundleBy(how, image.digest)), image.digest);
    kt::TrustedRoot root = ours().root();
    change(root);
    return said(image.verify(trusting(root)));
  };
  const kt::Validity before{Wall{}, kAt - minutes{1}};
  const kt::Validity after{kAt + minutes{5}, std::nullopt};
  EXPECT_EQ(saidWith([](auto&) {}), "");
  for (const kt::Validity& then : {before, after}) {
    EXPECT_NE(saidWith([&](auto& r) { r.logs[0].valid = then; }).find("the log of its entry is not in the"),
              std::string::npos);
    EXPECT_NE(saidWith([&](auto& r) { r.certificate_logs[0].valid = then; }).find("no CT log (SCT)"),
              std::string::npos);
    EXPECT_NE(saidWith([&](auto& r) {
                r.authorities[0].valid = then;
              }).find("no CA of the trusted root counted at 2025-06-15T15:07:40Z"),
              std::string::npos);
    EXPECT_NE(saidWith([&](auto& r) {
                r.timestamp_authorities[0].valid = then;
              }).find("the authority of its timestamp did not count then"),
              std::string::npos);
  }
  EXPECT_NE(saidWith([](auto& r) {
              r.timestamp_authorities.clear();
            }).find("the trusted root has no authority of timestamps"),
            std::string::npos);
}

// Without a promise nobody has signed the time that the entry says.
TEST(Keyless, ATimeThatNobodySignedSaysNothingOfAKeyOfALog) {
  How how;
  how.stamp = true;
  how.promise = false;
  const auto saidWhen = [](const How& how, const kt::Validity& log) {
    SignedImage image;
    image.addBundle(bundleText(bundleBy(how, image.digest)), image.digest);
    kt::TrustedRoot root = ours().root();
    root.logs[0].valid = log;
    return said(image.verify(trusting(root)));
  };
  const kt::Validity always;
  const kt::Validity before{Wall{}, kAt - minutes{1}};
  EXPECT_EQ(saidWhen(how, always), "");
  how.log_sees = [](kt::LogEntry& e) { e.integrated_time = secondsOf(kAt - minutes{2}); };
  EXPECT_NE(saidWhen(how, before).find("the log of its entry is not in the trusted root"), std::string::npos);
  how.log_sees = [](kt::LogEntry& e) { e.integrated_time = 0; };
  EXPECT_EQ(saidWhen(how, always), "");
  EXPECT_NE(saidWhen(how, before).find("the log of its entry is not in the trusted root"), std::string::npos);
  how.stamp = false;  // nothing at all says when
  EXPECT_NE(saidWhen(how, always).find("nothing proves when it was signed"), std::string::npos);
}

TEST(Keyless, OneOfSeveralCasAndIdentitiesIsEnough) {
  SignedImage image;
  image.addBundle(bundleText(bundleBy({}, image.digest)), image.digest);
  kt::TrustedRoot root = others().root();
  root.authorities.push_back(ours().root().authorities[0]);
  root.logs.push_back(ours().root().logs[0]);
  root.certificate_logs.push_back(ours().root().certificate_logs[0]);
  auto trusted = trusting(root, kIssuer, "you@example.com");
  EXPECT_NE(said(image.verify(trusted)), "");
  std::get<TrustedIdentities>(trusted[0])
      .identities.push_back(
          {*kt::TextMatch::whole("https://accounts[.].*"), *kt::TextMatch::whole(".*@example[.]com")});
  EXPECT_EQ(said(image.verify(trusted)), "");
}

}  // namespace
}  // namespace gs::cacherim::trust
