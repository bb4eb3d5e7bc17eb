// Rekor's log as values: what an entry says, what the log promised, and the proof that the entry is in it
// (sigstore/rekor: openapi types hashedrekord, dsse, intoto; RFC 6962 for the tree; the note format of
// transparency-dev for checkpoints). Pure; nothing here knows keys: verifying is cacherim/trust.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gs::kcache::trust {

inline constexpr std::size_t kMaxEntryBody = std::size_t{256} << 10;

struct InclusionProof {
  std::int64_t index = 0;  // in the tree that the root is of
  std::int64_t size = 0;   // leaves of it
  std::string root;        // 32 bytes
  std::vector<std::string> hashes;
  std::string checkpoint;  // a signed note; "" none
};

/// An entry as a bundle or an annotation has it.
struct LogEntry {
  std::string log_id;                // 32 bytes: SHA-256 of the log's key
  std::int64_t log_index = 0;        // in the log as a whole
  std::int64_t integrated_time = 0;  // seconds since 1970; 0: not said
  std::string body;                  // the entry itself, JSON
  std::string promise;               // the SET: the log's signature of the above; "" none
  std::optional<InclusionProof> proof{};
};

/// What cosign's annotation dev.sigstore.cosign/bundle has: {"SignedEntryTimestamp","Payload":{body,...}}.
[[nodiscard]] Result<LogEntry> parseRekorAnnotation(std::string_view text);

/// The text that the SET signs: body, integratedTime, logID, logIndex as canonical JSON (RFC 8785).
[[nodiscard]] std::string promisedText(const LogEntry& entry);

/// What an entry says: who signed what.
struct EntryBody {
  std::string kind;  // hashedrekord, dsse, intoto
  struct Signer {
    std::string signature;  // bytes
    std::string verifier;   // a certificate or a public key, in PEM or DER
  };
  std::vector<Signer> signers;
  std::string payload_sha256;  // hex: of what was signed (hashedrekord), or of the envelope's payload
};
/// hashedrekord 0.0.1 and 0.0.2, dsse 0.0.1 and 0.0.2, intoto 0.0.2. Error Invalid: another kind, or not as
/// that kind is.
[[nodiscard]] Result<EntryBody> parseEntryBody(std::string_view text);

/// RFC 6962 2.1: the hash of a leaf, and the root that a proof leads to, 32 bytes each. nullopt: the proof is
/// not of such an index and size.
[[nodiscard]] std::string leafHash(std::string_view body);
[[nodiscard]] std::optional<std::string> rootOf(std::string_view leaf, const InclusionProof& proof);

/// A log's tree as it was signed: "<origin>\n<size>\n<root>\n...\n\n— <name> <base64>\n".
struct Checkpoint {
  std::string origin;
  std::int64_t size = 0;
  std::string root;
  std::string signed_text;
  struct Signature {
    std::string name;
    std::string key_hint;   // 4 bytes
    std::string signature;  // bytes
  };
  std::vector<Signature> signatures;
};
[[nodiscard]] Result<Checkpoint> parseCheckpoint(std::string_view text);

}  // namespace gs::kcache::trust
