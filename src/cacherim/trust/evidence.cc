#include "cacherim/trust/evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "json/value.h"
#include "kcache/trust/simple_signing.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;

tl::unexpected<Error> notEvidence(std::string what) { return fail(Code::Invalid, std::move(what)); }

std::string annotation(const kcache::Annotations& annotations, const char* key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string{} : it->second;
}

/// {"SignedRFC3161Timestamp": base64}
Result<std::string> stampOf(const std::string& text) {
  const auto value = json::parse(text, kt::kMaxPayload);
  auto bytes = value ? decodeBase64((*value)["SignedRFC3161Timestamp"].str()) : std::nullopt;
  if (!bytes || bytes->empty()) {
    return notEvidence(fmt::format("annotation {} has no timestamp", kt::kTimestampKey));
  }
  return std::move(*bytes);
}

Status addProofs(const kcache::Annotations& annotations, Evidence& out) {
  if (auto pem = annotation(annotations, kt::kCertificateKey); !pem.empty()) {
    out.certificates.push_back(std::move(pem));
  }
  if (const auto text = annotation(annotations, kt::kRekorKey); !text.empty()) {
    auto entry = kt::parseRekorAnnotation(text);
    if (!entry) { return tl::unexpected(entry.error()); }
    out.entries.push_back(std::move(*entry));
  }
  if (const auto text = annotation(annotations, kt::kTimestampKey); !text.empty()) {
    auto stamp = stampOf(text);
    if (!stamp) { return tl::unexpected(stamp.error()); }
    out.timestamps.push_back(std::move(*stamp));
  }
  return {};
}

Status isAbout(const kt::Envelope& envelope, const kcache::Digest& image) {
  if (envelope.payload_type != kt::kStatementType) {
    return notEvidence(fmt::format("payloadType is not {}", kt::kStatementType));
  }
  const auto statement = kt::parseStatement(envelope.payload);
  if (!statement) { return tl::unexpected(statement.error()); }
  if (statement->predicate_type != kt::kSignPredicate) {
    return fail(Code::Conflict, "it is an attestation, and no signature");
  }
  const auto& subjects = statement->sha256;
  if (std::find(subjects.begin(), subjects.end(), image.hex()) == subjects.end()) {
    return notEvidence("it is about another digest");
  }
  return {};
}

}  // namespace

Result<Evidence> evidenceOf(const std::string& payload, const kcache::Annotations& annotations,
                            const kcache::Digest& image) {
  const auto signing = kt::parseSimpleSigning(payload);
  if (!signing) { return tl::unexpected(signing.error()); }
  if (signing->digest != image) {
    return notEvidence("it is about another digest, " + signing->digest.text());
  }
  auto signature = decodeBase64(annotation(annotations, kt::kSignatureKey));
  if (!signature || signature->empty()) {
    return notEvidence(fmt::format("annotation {} has no signature", kt::kSignatureKey));
  }
  Evidence out{.where = {}, .message = payload, .signature = std::move(*signature)};
  if (Status fine = addProofs(annotations, out); !fine) { return tl::unexpected(fine.error()); }
  return out;
}

Result<Evidence> evidenceOf(const kt::Bundle& bundle, const FetchedManifest& image) {
  Evidence out{.where = {},
               .message = image.text,
               .signature = {},
               .statement = {},
               .certificates = bundle.certificates,
               .entries = bundle.entries,
               .timestamps = bundle.timestamps};
  if (const auto* envelope = std::get_if<kt::Envelope>(&bundle.content)) {
    if (Status fine = isAbout(*envelope, image.digest); !fine) { return tl::unexpected(fine.error()); }
    out.message = kt::signedTextOf(*envelope);
    out.statement = envelope->payload;
    out.signature = envelope->signature;
    return out;
  }
  const auto& message = std::get<kt::MessageSignature>(bundle.content);
  if (!message.sha256.empty() && message.sha256 != image.digest.hex()) {
    return notEvidence("it is about another digest");
  }
  out.signature = message.signature;
  return out;
}

}  // namespace gs::cacherim::trust
