// A Sigstore bundle: a signature with all that it takes to verify it offline (sigstore/protobuf-specs,
// sigstore_bundle.proto, as protobuf's JSON; media types 0.1 to 0.3). cosign 3 writes one for an image as an
// artifact whose subject is the image.
//
// For images the signed thing is an in-toto statement in a DSSE envelope, or the manifest itself
// (messageSignature). A statement says by its predicate type what it means: an attestation (a list of what an
// image was built of, a report of what is wrong with it) is no signature, whoever made it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kcache/trust/rekor.h"

namespace gs::kcache::trust {

inline constexpr std::size_t kMaxBundle = std::size_t{1} << 20;
inline constexpr std::string_view kBundlePrefix = "application/vnd.dev.sigstore.bundle";
inline constexpr std::string_view kBundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// What an artifact has in place of a config.
inline constexpr std::string_view kEmptyConfigType = "application/vnd.oci.empty.v1+json";
inline constexpr std::string_view kStatementType = "application/vnd.in-toto+json";
inline constexpr std::string_view kSignPredicate = "https://sigstore.dev/cosign/sign/v1";
/// By which cosign says, of the artifact that a bundle lies in, what its statement means.
inline constexpr const char* kPredicateAnnotation = "dev.sigstore.bundle.predicateType";

struct MessageSignature {
  std::string sha256;     // hex, of the message; "" not said
  std::string signature;  // bytes
};
struct Envelope {
  std::string payload_type;
  std::string payload;
  std::string signature;
};

struct Bundle {
  std::vector<std::string> certificates;  // DER, the signer's first; none with a key
  std::string key_hint;
  std::vector<LogEntry> entries;
  std::vector<std::string> timestamps;  // RFC 3161 TimeStampResp, DER
  std::variant<MessageSignature, Envelope> content;
};

/// Error Invalid: names the member and what is wrong. An envelope has to have one signature.
[[nodiscard]] Result<Bundle> parseBundle(std::string_view text);
/// As cosign writes one with a key: version 0.3.
[[nodiscard]] std::string printBundle(const Bundle& bundle);

/// What a DSSE signature is of (its "pre-authentication encoding").
[[nodiscard]] std::string signedTextOf(const Envelope& envelope);

struct Statement {
  std::string predicate_type;
  std::vector<std::string> sha256;  // of its subjects, hex; without those that have none
};
[[nodiscard]] Result<Statement> parseStatement(std::string_view payload);
/// That the image of this digest is signed.
[[nodiscard]] std::string printStatement(std::string_view sha256_hex);

}  // namespace gs::kcache::trust
