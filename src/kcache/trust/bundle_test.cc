#include "kcache/trust/bundle.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/hash.h"
#include "json/value.h"

namespace gs::kcache::trust {
namespace {

const std::string kSubject(64, 'a');

Bundle keyed() {
  return {.certificates = {},
          .key_hint = "hint",
          .entries = {},
          .timestamps = {},
          .content = Envelope{std::string{kStatementType}, printStatement(kSubject), "signature"}};
}

/// What is said of a bundle after a change to its text.
std::string saidAfter(const std::function<void(json::Value&)>& change) {
  json::Value value = *json::parse(printBundle(keyed()));
  change(value);
  const auto bundle = parseBundle(json::print(value));
  return bundle ? "" : bundle.error().message;
}

TEST(Bundle, WhatIsPrintedIsRead) {
  const auto read = parseBundle(printBundle(keyed()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->key_hint, "hint");
  const auto& envelope = std::get<Envelope>(read->content);
  EXPECT_EQ(envelope.signature, "signature");
  EXPECT_EQ(parseStatement(envelope.payload)->sha256, std::vector<std::string>{kSubject});
  Bundle message = keyed();
  message.key_hint.clear();
  message.certificates = {"certificate"};
  message.content = MessageSignature{kSubject, "s"};
  const auto again = parseBundle(printBundle(message));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->certificates, message.certificates);
  EXPECT_EQ(std::get<MessageSignature>(again->content).sha256, kSubject);
}

TEST(Bundle, EveryVersionIsTaken) {
  for (const char* type : {"application/vnd.dev.sigstore.bundle.v0.3+json",
                           "application/vnd.dev.sigstore.bundle+json;version=0.1",
                           "application/vnd.dev.sigstore.bundle+json;version=0.2",
                           "application/vnd.dev.sigstore.bundle+json;version=0.3"}) {
    EXPECT_EQ(saidAfter([&](auto& b) { b.set("mediaType", type); }), "") << type;
  }
  EXPECT_NE(saidAfter([](auto& b) { b.set("mediaType", "application/vnd.dev.sigstore.bundle.v0.4+json"); }),
            "");
  json::Object chain{
      {"certificates", json::Array{json::Object{{"rawBytes", "YQ=="}}, json::Object{{"rawBytes", "Yg=="}}}}};
  json::Value value = *json::parse(printBundle(keyed()));
  value.set("verificationMaterial", json::Object{{"x509CertificateChain", chain}});
  EXPECT_EQ(parseBundle(json::print(value))->certificates, (std::vector<std::string>{"a", "b"}));
}

TEST(Bundle, WhatIsWrongIsSaid) {
  const auto material = [](const char* text) {
    return saidAfter([&](auto& b) { b.set("verificationMaterial", *json::parse(text)); });
  };
  const std::string entry =
      R"({"publicKey":{"hint":""},"tlogEntries":[{"logId":{"keyId":"YQ=="},"canonicalizedBody":"YQ==",)";
  EXPECT_EQ(material("{}"), "bundle: verificationMaterial has no certificate and no publicKey");
  EXPECT_EQ(material(R"({"certificate":{}})"),
            "bundle: verificationMaterial.certificate.rawBytes is missing");
  EXPECT_EQ(material(R"({"certificate":{"rawBytes":"?"}})"),
            "bundle: verificationMaterial.certificate.rawBytes is no base64");
  EXPECT_EQ(material(R"({"publicKey":{},"tlogEntries":{}})"),
            "bundle: verificationMaterial.tlogEntries is no list");
  EXPECT_EQ(material(R"({"publicKey":{},"tlogEntries":[{}]})"),
            "bundle: verificationMaterial.tlogEntries[0].logId.keyId is missing");
  EXPECT_EQ(material((entry + R"("logIndex":"-1"}]})").c_str()),
            "bundle: verificationMaterial.tlogEntries[0].logIndex is no number");
  EXPECT_EQ(material((entry + R"("logIndex":"1x"}]})").c_str()),
            "bundle: verificationMaterial.tlogEntries[0].logIndex is no number");
  EXPECT_EQ(
      material((entry + R"("inclusionProof":{"rootHash":"YQ==","hashes":["YQ=="]}}]})").c_str()),
      "bundle: verificationMaterial.tlogEntries[0].inclusionProof.hashes has something that is no hash");
  EXPECT_EQ(material((entry + R"("logIndex":5}]})").c_str()), "");
  EXPECT_EQ(saidAfter([](auto& b) { b.erase("dsseEnvelope"); }),
            "bundle: it is to have one of messageSignature and dsseEnvelope");
  EXPECT_EQ(saidAfter([](auto& b) { b.set("messageSignature", json::Object{}); }),
            "bundle: it is to have one of messageSignature and dsseEnvelope");
  EXPECT_EQ(saidAfter([](auto& b) { b.child("dsseEnvelope").set("signatures", json::Array{}); }),
            "bundle: dsseEnvelope.signatures is to have one entry");
  EXPECT_EQ(saidAfter([](auto& b) {
              b.child("dsseEnvelope").child("signatures").array().push_back(json::Object{{"sig", "YQ=="}});
            }),
            "bundle: dsseEnvelope.signatures is to have one entry");
  json::Array many(33, json::Object{});
  EXPECT_EQ(saidAfter([&](auto& b) { b.child("verificationMaterial").set("tlogEntries", many); }),
            "bundle: verificationMaterial.tlogEntries has 33 entries; 32 are allowed");
  EXPECT_NE(parseBundle(std::string(200, '[') + std::string(200, ']')).error().message, "");
}

TEST(Bundle, AnEnvelopesSignedTextIsThatOfDsse) {
  // The example of the DSSE specification.
  EXPECT_EQ(signedTextOf({"http://example.com/HelloWorld", "hello world", ""}),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Bundle, AStatementSaysWhatItIs) {
  const auto said = [](const char* text) {
    const auto statement = parseStatement(text);
    return statement ? "" : statement.error().message;
  };
  EXPECT_EQ(parseStatement(printStatement(kSubject))->predicate_type, kSignPredicate);
  EXPECT_EQ(said("{}"), "statement: _type is not that of an in-toto statement");
  EXPECT_EQ(said(R"({"_type":"https://in-toto.io/Statement/v0.1","subject":[{}]})"), "");
}

}  // namespace
}  // namespace gs::kcache::trust
