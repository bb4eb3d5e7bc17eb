// Certificates of signers and stamps of time.
#include "signature/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hex.h"
#include "signature/fake_sigstore_test.h"
#include "signature/timestamp.h"

namespace gs::signature {
namespace {

using std::chrono::minutes;
const Wall kAt{std::chrono::seconds{1'750'000'000}};  // 2025-06-15T15:06:40Z

class CertificateTest : public testing::Test {
 protected:
  static Wanted wanted() {
    Wanted out;
    out.from = kAt;
    out.until = kAt + minutes{10};
    out.log = &log_;
    out.promised_at = kAt;
    return out;
  }
  static Certificate issued(const Wanted& w) { return *Certificate::parse(issue(ca_, w).der); }
  static std::string promised(const Wanted& w) {
    const Certificate leaf = issued(w);
    const Status fine =
        checkPromises(leaf, *Certificate::parse(ca_.signer_der), [](std::string_view id, Wall at) {
          return encodeHex(id) == log_.publicKey().id() && at >= kAt ? &log_.publicKey() : nullptr;
        });
    return fine ? "" : fine.error().message;
  }

  static inline const FakeAuthority ca_ = makeAuthority("codeSigning");
  static inline const FakeAuthority tsa_ = makeAuthority("timeStamping");
  static inline const PrivateKey log_ = PrivateKey::generate();
};

TEST_F(CertificateTest, SaysWhoItIsFor) {
  Wanted w = wanted();
  w.subject = "email:me@example.com,URI:https://example.com/flow";
  const Signer signer = issue(ca_, w);
  const auto certificate = Certificate::parse(signer.pem);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_EQ(certificate->subjects(),
            (std::vector<std::string>{"me@example.com", "https://example.com/flow"}));
  EXPECT_EQ(certificate->issuer(), "https://accounts.example");
  EXPECT_TRUE(certificate->isForCodeSigning());
  EXPECT_EQ(certificate->lifeText(), "2025-06-15T15:06:40Z to 2025-06-15T15:16:40Z");
  EXPECT_EQ(certificate->publicKey().der(), signer.key.publicKey().der());
  w.has_old_issuer_only = true;
  w.subject = "otherName:1.3.6.1.4.1.57264.1.7;UTF8:me!example.com";
  w.is_for_code_signing = false;
  EXPECT_EQ(issued(w).issuer(), "https://accounts.example");
  EXPECT_EQ(issued(w).subjects(), std::vector<std::string>{"me!example.com"});
  EXPECT_FALSE(issued(w).isForCodeSigning());
  w.subject = "IP:127.0.0.1,otherName:1.2.3.4;UTF8:me";
  EXPECT_TRUE(issued(w).subjects().empty());
}

TEST_F(CertificateTest, WhatIsNoneIsSaid) {
  for (const std::string& bad : {std::string{}, std::string{"x"}, certificatePem("x"), ca_.signer_der + "x",
                                 ca_.signer_der.substr(0, 100), std::string(std::size_t{1} << 17, 'x')}) {
    const auto certificate = Certificate::parse(bad);
    ASSERT_FALSE(certificate);
    EXPECT_EQ(certificate.error().message, "certificate: it is no X.509 certificate");
  }
}

TEST_F(CertificateTest, LeadsToItsCaWhileItIsValid) {
  const Certificate leaf = issued(wanted());
  const auto said = [&](const Chain& chain, Wall at) {
    const auto issuer = checkChain(leaf, chain, at);
    return issuer ? "" : issuer.error().message;
  };
  const std::string life = " (the certificate is valid 2025-06-15T15:06:40Z to 2025-06-15T15:16:40Z)";
  EXPECT_EQ(said(ca_.chain(), kAt), "");
  EXPECT_EQ(said(ca_.chain(), kAt + minutes{9}), "");
  EXPECT_EQ(said(ca_.chain(), kAt - minutes{1}), "certificate is not yet valid" + life);
  EXPECT_EQ(said(ca_.chain(), kAt + minutes{11}), "certificate has expired" + life);
  EXPECT_EQ(said({ca_.root_der}, kAt), "unable to get local issuer certificate" + life);
  EXPECT_EQ(said({ca_.signer_der}, kAt), "");
  EXPECT_EQ(said(tsa_.chain(), kAt), "unable to get local issuer certificate" + life);
  EXPECT_EQ(said({"x"}, kAt), "a certificate of the trusted root cannot be read");
  EXPECT_EQ(said({}, kAt), "the trusted root has a CA without certificates");
  EXPECT_EQ(checkChain(leaf, ca_.chain(), kAt)->der(), ca_.signer_der);
  EXPECT_EQ(checkChain(*Certificate::parse(ca_.root_der), ca_.chain(), kAt).error().message,
            "the certificate is itself a root");
}

TEST_F(CertificateTest, IsPromisedByALogThatIsKnown) {
  EXPECT_EQ(promised(wanted()), "");
  Wanted w = wanted();
  w.log = nullptr;
  EXPECT_EQ(promised(w), "the certificate has no promise of a CT log (SCT) in it");
  const PrivateKey other = PrivateKey::generate();
  w.log = &other;
  EXPECT_EQ(promised(w), "no CT log (SCT) of the certificate is in the trusted root");
  w = wanted();
  w.promised_at = kAt - minutes{1};
  EXPECT_EQ(promised(w), "no CT log (SCT) of the certificate is in the trusted root");
  w = wanted();
  w.promise_is_of_another = true;
  EXPECT_EQ(promised(w), "the promise of the CT log (SCT) in the certificate is not about it");
}

TEST_F(CertificateTest, AStampSaysWhen) {
  const std::string stamp = stampOf(tsa_, "signature", kAt);
  const auto at = checkTimestamp(stamp, "signature", tsa_.chain());
  ASSERT_TRUE(at) << at.error().message;
  EXPECT_EQ(*at, kAt);
  const auto said = [](std::string_view bytes, std::string_view stamped, const Chain& chain) {
    const auto time = checkTimestamp(bytes, stamped, chain);
    return time ? "" : time.error().message;
  };
  EXPECT_EQ(said(stamp, "another", tsa_.chain()), "timestamp: message imprint mismatch");
  EXPECT_EQ(said(stamp, "signature", makeAuthority("timeStamping").chain()),
            "timestamp: certificate verify error");
  EXPECT_EQ(said(stampOf(tsa_, "signature", kAt - std::chrono::years{10}), "signature", tsa_.chain()),
            "timestamp: certificate verify error");
  EXPECT_EQ(said("x", "signature", tsa_.chain()), "timestamp: it is none (RFC 3161)");
  EXPECT_EQ(said(stamp, "signature", {}), "timestamp: a certificate of the trusted root cannot be read");
  // A certificate for code signing stamps nothing, even of a CA that is trusted.
  Wanted w = wanted();
  w.until = kAt + minutes{10};
  const Signer signer = issue(ca_, w);
  EXPECT_NE(said(std::string{"\x30\x00", 2}, "signature", ca_.chain()), "");
  std::string changed = stamp;
  changed[changed.size() - 3] = static_cast<char>(changed[changed.size() - 3] ^ 1);
  EXPECT_NE(said(changed, "signature", tsa_.chain()), "");
}

}  // namespace
}  // namespace gs::signature
