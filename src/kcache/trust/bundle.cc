#include "kcache/trust/bundle.h"

#include <fmt/core.h>

#include <utility>

#include "base/base64.h"
#include "base/hex.h"
#include "kcache/trust/fields.h"

namespace gs::kcache::trust {
namespace {

constexpr std::size_t kProofHash = 32;

tl::unexpected<Error> badBundle(std::string_view what) {
  return fail(Code::Invalid, fmt::format("bundle: {}", what));
}

bool isKnownType(std::string_view type) {
  for (const char* version : {".v0.3+json", "+json;version=0.1", "+json;version=0.2", "+json;version=0.3"}) {
    if (type == std::string{kBundlePrefix} + version) { return true; }
  }
  return false;
}

Result<std::optional<InclusionProof>> proofOf(const json::Value& in, const std::string& path) {
  if (in.isNull()) { return std::nullopt; }
  InclusionProof out;
  const auto index = numberAt(in, "logIndex", path);
  if (!index) { return tl::unexpected(index.error()); }
  const auto size = numberAt(in, "treeSize", path);
  if (!size) { return tl::unexpected(size.error()); }
  auto root = bytesAt(in, "rootHash", path);
  if (!root) { return tl::unexpected(root.error()); }
  // A tree of 2^63 leaves has more levels than a list may have entries.
  const json::Array& hashes = in["hashes"].items();
  constexpr std::size_t kMostLevels = 63;
  if (hashes.size() > kMostLevels) { return badBundle("an inclusion proof has more than 63 hashes"); }
  for (const json::Value& hash : hashes) {
    auto bytes = decodeBase64(hash.str());
    if (!bytes || bytes->size() != kProofHash) {
      return badBundle(path + ".hashes has something that is no hash");
    }
    out.hashes.push_back(std::move(*bytes));
  }
  out.index = *index;
  out.size = *size;
  out.root = std::move(*root);
  out.checkpoint = in["checkpoint"]["envelope"].str();
  return out;
}

Result<LogEntry> entryOf(const json::Value& in, const std::string& path) {
  LogEntry out;
  const auto index = numberAt(in, "logIndex", path);
  if (!index) { return tl::unexpected(index.error()); }
  const auto time = numberAt(in, "integratedTime", path);
  if (!time) { return tl::unexpected(time.error()); }
  auto id = bytesAt(in["logId"], "keyId", path + ".logId");
  if (!id) { return tl::unexpected(id.error()); }
  auto body = bytesAt(in, "canonicalizedBody", path);
  if (!body) { return tl::unexpected(body.error()); }
  auto promise = bytesOrNone(in["inclusionPromise"], "signedEntryTimestamp", path + ".inclusionPromise");
  if (!promise) { return tl::unexpected(promise.error()); }
  auto proof = proofOf(in["inclusionProof"], path + ".inclusionProof");
  if (!proof) { return tl::unexpected(proof.error()); }
  return LogEntry{std::move(*id), *index, *time, std::move(*body), std::move(*promise), std::move(*proof)};
}

/// The three ways to say who signed: a chain (0.1, 0.2), a certificate (0.3), a key that is known.
Status readSigner(const json::Value& material, Bundle& out) {
  const std::string path = "bundle: verificationMaterial";
  const auto chain = listAt(material["x509CertificateChain"], "certificates", path + ".x509CertificateChain");
  if (!chain) { return tl::unexpected(chain.error()); }
  json::Array certificates = *chain;
  if (!material["certificate"].isNull()) {
    certificates.insert(certificates.begin(), material["certificate"]);
  }
  for (const json::Value& one : certificates) {
    auto der = bytesAt(one, "rawBytes", path + ".certificate");
    if (!der) { return tl::unexpected(der.error()); }
    out.certificates.push_back(std::move(*der));
  }
  out.key_hint = material["publicKey"]["hint"].str();
  if (out.certificates.empty() && material["publicKey"].isNull()) {
    return badBundle("verificationMaterial has no certificate and no publicKey");
  }
  return {};
}

Status readMaterial(const json::Value& material, Bundle& out) {
  if (Status fine = readSigner(material, out); !fine) { return fine; }
  const auto entries = listAt(material, "tlogEntries", "bundle: verificationMaterial");
  if (!entries) { return tl::unexpected(entries.error()); }
  for (std::size_t i = 0; i < entries->size(); ++i) {
    auto entry = entryOf((*entries)[i], fmt::format("bundle: verificationMaterial.tlogEntries[{}]", i));
    if (!entry) { return tl::unexpected(entry.error()); }
    out.entries.push_back(std::move(*entry));
  }
  const auto stamps = listAt(material["timestampVerificationData"], "rfc3161Timestamps",
                             "bundle: verificationMaterial.timestampVerificationData");
  if (!stamps) { return tl::unexpected(stamps.error()); }
  for (const json::Value& one : *stamps) {
    auto stamp = bytesAt(one, "signedTimestamp", "bundle: rfc3161Timestamps");
    if (!stamp) { return tl::unexpected(stamp.error()); }
    out.timestamps.push_back(std::move(*stamp));
  }
  return {};
}

Result<Envelope> envelopeOf(const json::Value& in) {
  const auto signatures = listAt(in, "signatures", "bundle: dsseEnvelope");
  if (!signatures) { return tl::unexpected(signatures.error()); }
  if (signatures->size() != 1) { return badBundle("dsseEnvelope.signatures is to have one entry"); }
  auto signature = bytesAt(signatures->front(), "sig", "bundle: dsseEnvelope.signatures[0]");
  if (!signature) { return tl::unexpected(signature.error()); }
  auto payload = bytesAt(in, "payload", "bundle: dsseEnvelope");
  if (!payload) { return tl::unexpected(payload.error()); }
  return Envelope{std::string{in["payloadType"].str()}, std::move(*payload), std::move(*signature)};
}

Result<MessageSignature> messageOf(const json::Value& in) {
  auto signature = bytesAt(in, "signature", "bundle: messageSignature");
  if (!signature) { return tl::unexpected(signature.error()); }
  const json::Value& digest = in["messageDigest"];
  auto bytes = bytesOrNone(digest, "digest", "bundle: messageSignature.messageDigest");
  if (!bytes) { return tl::unexpected(bytes.error()); }
  if (!bytes->empty() && digest["algorithm"].str() != "SHA2_256") {
    return badBundle("messageSignature.messageDigest.algorithm is not SHA2_256");
  }
  return MessageSignature{encodeHex(*bytes), std::move(*signature)};
}

Status readContent(const json::Value& value, Bundle& out) {
  if (value["messageSignature"].isNull() == value["dsseEnvelope"].isNull()) {
    return badBundle("it is to have one of messageSignature and dsseEnvelope");
  }
  if (value["dsseEnvelope"].isNull()) {
    auto message = messageOf(value["messageSignature"]);
    if (!message) { return tl::unexpected(message.error()); }
    out.content = std::move(*message);
    return {};
  }
  auto envelope = envelopeOf(value["dsseEnvelope"]);
  if (!envelope) { return tl::unexpected(envelope.error()); }
  out.content = std::move(*envelope);
  return {};
}

}  // namespace

Result<Bundle> parseBundle(std::string_view text) {
  const auto value = objectOf("bundle", text, kMaxBundle);
  if (!value) { return tl::unexpected(value.error()); }
  if (!isKnownType((*value)["mediaType"].str())) {
    return badBundle(fmt::format("mediaType is not {} (or 0.1, 0.2)", kBundleType));
  }
  Bundle out;
  if (Status fine = readMaterial((*value)["verificationMaterial"], out); !fine) {
    return tl::unexpected(fine.error());
  }
  if (Status fine = readContent(*value, out); !fine) { return tl::unexpected(fine.error()); }
  return out;
}

std::string printBundle(const Bundle& bundle) {
  json::Object material;
  if (bundle.certificates.empty()) {
    material.set("publicKey", json::Object{{"hint", bundle.key_hint}});
  } else {
    material.set("certificate", json::Object{{"rawBytes", encodeBase64(bundle.certificates.front())}});
  }
  json::Object out{{"mediaType", kBundleType}, {"verificationMaterial", std::move(material)}};
  if (const auto* envelope = std::get_if<Envelope>(&bundle.content)) {
    const json::Value signature = json::Object{{"sig", encodeBase64(envelope->signature)}};
    out.set("dsseEnvelope", json::Object{{"payload", encodeBase64(envelope->payload)},
                                         {"payloadType", envelope->payload_type},
                                         {"signatures", json::Array{signature}}});
  } else {
    const auto& message = std::get<MessageSignature>(bundle.content);
    json::Object in;
    if (!message.sha256.empty()) {
      in.set("messageDigest", json::Object{{"algorithm", "SHA2_256"},
                                           {"digest", encodeBase64(decodeHex(message.sha256).value_or(""))}});
    }
    in.set("signature", encodeBase64(message.signature));
    out.set("messageSignature", std::move(in));
  }
  return json::print(out);
}

std::string signedTextOf(const Envelope& envelope) {
  return fmt::format("DSSEv1 {} {} {} {}", envelope.payload_type.size(), envelope.payload_type,
                     envelope.payload.size(), envelope.payload);
}

Result<Statement> parseStatement(std::string_view payload) {
  const auto value = objectOf("statement", payload, kMaxBundle);
  if (!value) { return tl::unexpected(value.error()); }
  const std::string_view type = (*value)["_type"].str();
  if (type != "https://in-toto.io/Statement/v1" && type != "https://in-toto.io/Statement/v0.1") {
    return fail(Code::Invalid, "statement: _type is not that of an in-toto statement");
  }
  const auto subjects = listAt(*value, "subject", "statement: ");
  if (!subjects) { return tl::unexpected(subjects.error()); }
  Statement out{std::string{(*value)["predicateType"].str()}, {}};
  for (const json::Value& one : *subjects) {
    const std::string_view hex = one["digest"]["sha256"].str();
    if (!hex.empty()) { out.sha256.emplace_back(hex); }
  }
  return out;
}

std::string printStatement(std::string_view sha256_hex) {
  const json::Value subject = json::Object{{"digest", json::Object{{"sha256", sha256_hex}}}};
  return json::print(json::Object{{"_type", "https://in-toto.io/Statement/v1"},
                                  {"subject", json::Array{subject}},
                                  {"predicateType", kSignPredicate},
                                  {"predicate", json::Object{}}});
}

}  // namespace gs::kcache::trust
