// Any bytes as what signatures come in: no crash, no hang; what is read prints to what reads as the same, and
// no bytes of a stranger count as a signature.
#include <cstdint>
#include <string>
#include <string_view>

#include "cacherim/trust/judge.h"
#include "json/value.h"
#include "kcache/trust/bundle.h"
#include "kcache/trust/policy.h"
#include "kcache/trust/rekor.h"
#include "kcache/trust/simple_signing.h"
#include "kcache/trust/trusted_root.h"
#include "signature/certificate.h"
#include "signature/timestamp.h"

namespace {

namespace kt = gs::kcache::trust;
namespace ct = gs::cacherim::trust;

void mustBe(bool good) {
  if (!good) { __builtin_trap(); }
}

void readTexts(std::string_view in) {
  if (const auto signing = kt::parseSimpleSigning(in)) {
    const auto again = kt::parseSimpleSigning(kt::printSimpleSigning(*signing));
    mustBe(again && again->digest == signing->digest);
  }
  if (const auto value = gs::json::parse(in)) {
    if (const auto policy = kt::parsePolicy(*value)) {
      const auto image = *gs::kcache::parseReference("quay.io/gkm/a:v1");
      (void)kt::ruleFor(*policy, {"team-a"}, image);
      mustBe(kt::ruleFor(*policy, {}, image).rule != nullptr ||
             kt::ruleFor(*policy, {}, image).kind == kt::Decision::Kind::Refused);
    }
  }
  (void)kt::parseEntryBody(in);
  (void)kt::parseStatement(in);
  (void)kt::parseRekorAnnotation(in);
  if (const auto checkpoint = kt::parseCheckpoint(in)) { mustBe(in.starts_with(checkpoint->signed_text)); }
}

void readBytes(std::string_view in) {
  if (const auto certificate = gs::signature::Certificate::parse(in)) {
    (void)certificate->isForCodeSigning();
    (void)gs::signature::checkChain(*certificate, {certificate->der()}, gs::Wall{});
    (void)gs::signature::checkPromises(*certificate, *certificate,
                                       [&](std::string_view, gs::Wall) { return &certificate->publicKey(); });
  }
  if (const auto key = gs::signature::PublicKey::parse(in)) { mustBe(!key->verifies("text", in)); }
  (void)gs::signature::checkTimestamp(in, "text", {std::string{in}});
}

void judgeBundle(std::string_view in) {
  const auto bundle = kt::parseBundle(in);
  if (!bundle) { return; }
  if (bundle->certificates.empty()) { mustBe(kt::parseBundle(kt::printBundle(*bundle)).has_value()); }
  for (const kt::LogEntry& entry : bundle->entries) {
    (void)kt::promisedText(entry);
    if (entry.proof) { (void)kt::rootOf(kt::leafHash(entry.body), *entry.proof); }
  }
  const gs::cacherim::FetchedManifest image{gs::kcache::Digest::of("image"), "", "image"};
  const auto evidence = ct::evidenceOf(*bundle, image);
  const std::vector<kt::Identity> nobody;
  if (evidence) { mustBe(!ct::Sigstore{{}}.judge(*evidence, nobody)); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  readTexts(in);
  readBytes(in);
  judgeBundle(in);
  if (const auto root = kt::parseTrustedRoot(in)) { (void)ct::Sigstore{*root}; }
  return 0;
}
