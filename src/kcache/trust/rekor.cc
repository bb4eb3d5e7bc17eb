#include "kcache/trust/rekor.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "base/base64.h"
#include "base/hash.h"
#include "base/hex.h"
#include "kcache/trust/fields.h"

namespace gs::kcache::trust {
namespace {

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kMostProof = 63;  // levels of a tree of 2^63 leaves
constexpr std::size_t kMaxCheckpoint = std::size_t{16} << 10;
constexpr std::size_t kKeyHint = 4;

tl::unexpected<Error> badEntry(std::string_view what) {
  return fail(Code::Invalid, fmt::format("log entry: {}", what));
}

std::string sha256(std::string_view bytes) { return *decodeHex(sha256Hex(bytes)); }
std::string nodeHash(std::string_view left, std::string_view right) {
  return sha256("\x01" + std::string{left} + std::string{right});
}

bool isSha256(std::string_view hex) { return hex.size() == 2 * kHashBytes && decodeHex(hex).has_value(); }

// ---- bodies, kind by kind

/// {"content": signature, "publicKey": {"content": PEM}} and {"algorithm","value"}
Result<EntryBody> hashedRekord1(const json::Value& spec) {
  EntryBody out{.kind = "hashedrekord", .signers = {}, .payload_sha256 = {}};
  const json::Value& hash = spec["data"]["hash"];
  if (hash["algorithm"].str() != "sha256") { return badEntry("spec.data.hash.algorithm is not sha256"); }
  out.payload_sha256 = hash["value"].str();
  auto signature = bytesAt(spec["signature"], "content", "log entry: spec.signature");
  if (!signature) { return tl::unexpected(signature.error()); }
  auto verifier = bytesAt(spec["signature"]["publicKey"], "content", "log entry: spec.signature.publicKey");
  if (!verifier) { return tl::unexpected(verifier.error()); }
  out.signers.push_back({std::move(*signature), std::move(*verifier)});
  return out;
}

/// {"content", "verifier": {"x509Certificate" or "publicKey": {"rawBytes"}}}
Result<EntryBody::Signer> signer2(const json::Value& in, const std::string& path) {
  auto signature = bytesAt(in, "content", path);
  if (!signature) { return tl::unexpected(signature.error()); }
  const bool is_certificate = !in["verifier"]["x509Certificate"].isNull();
  const char* member = is_certificate ? "x509Certificate" : "publicKey";
  auto verifier = bytesAt(in["verifier"][member], "rawBytes", fmt::format("{}.verifier.{}", path, member));
  if (!verifier) { return tl::unexpected(verifier.error()); }
  return EntryBody::Signer{std::move(*signature), std::move(*verifier)};
}

Result<std::string> digest2(const json::Value& in, const std::string& path) {
  if (in["algorithm"].str() != "SHA2_256") { return badEntry(path + ".algorithm is not SHA2_256"); }
  auto bytes = bytesAt(in, "digest", "log entry: " + path);
  if (!bytes) { return tl::unexpected(bytes.error()); }
  return encodeHex(*bytes);
}

Result<EntryBody> hashedRekord2(const json::Value& spec) {
  const json::Value& in = spec["hashedRekordV002"];
  auto digest = digest2(in["data"], "spec.hashedRekordV002.data");
  if (!digest) { return tl::unexpected(digest.error()); }
  auto signer = signer2(in["signature"], "log entry: spec.hashedRekordV002.signature");
  if (!signer) { return tl::unexpected(signer.error()); }
  return EntryBody{"hashedrekord", {std::move(*signer)}, std::move(*digest)};
}

Result<EntryBody> dsse2(const json::Value& spec) {
  const json::Value& in = spec["dsseV002"];
  auto digest = digest2(in["payloadHash"], "spec.dsseV002.payloadHash");
  if (!digest) { return tl::unexpected(digest.error()); }
  EntryBody out{"dsse", {}, std::move(*digest)};
  const auto list = listAt(in, "signatures", "log entry: spec.dsseV002");
  if (!list) { return tl::unexpected(list.error()); }
  for (const json::Value& one : *list) {
    auto signer = signer2(one, "log entry: spec.dsseV002.signatures[]");
    if (!signer) { return tl::unexpected(signer.error()); }
    out.signers.push_back(std::move(*signer));
  }
  return out;
}

/// {"algorithm": "sha256", "value": hex}
Result<std::string> payloadHash(const json::Value& in, std::string_view path) {
  if (in["algorithm"].str() != "sha256") { return badEntry(fmt::format("{}.algorithm is not sha256", path)); }
  return std::string{in["value"].str()};
}

/// Signatures as base64 of their bytes; intoto has that in base64 once more. `list`, `signature`, `verifier`:
/// names of members.
Result<std::vector<EntryBody::Signer>> signers1(const json::Value& in, const char* signature,
                                                const char* verifier, bool twice) {
  std::vector<EntryBody::Signer> out;
  const auto list = listAt(in, "signatures", "log entry: spec");
  if (!list) { return tl::unexpected(list.error()); }
  for (const json::Value& one : *list) {
    auto bytes = bytesAt(one, signature, "log entry: spec.signatures[]");
    if (!bytes) { return tl::unexpected(bytes.error()); }
    auto key = bytesAt(one, verifier, "log entry: spec.signatures[]");
    if (!key) { return tl::unexpected(key.error()); }
    if (twice) {
      auto inner = decodeBase64(*bytes);
      if (!inner) { return badEntry("spec.content.envelope.signatures[].sig is no base64 in base64"); }
      *bytes = std::move(*inner);
    }
    out.push_back({std::move(*bytes), std::move(*key)});
  }
  return out;
}

Result<EntryBody> dsse1(const json::Value& spec) {
  auto hash = payloadHash(spec["payloadHash"], "spec.payloadHash");
  if (!hash) { return tl::unexpected(hash.error()); }
  auto signers = signers1(spec, "signature", "verifier", false);
  if (!signers) { return tl::unexpected(signers.error()); }
  return EntryBody{"dsse", std::move(*signers), std::move(*hash)};
}

Result<EntryBody> intoto2(const json::Value& spec) {
  auto hash = payloadHash(spec["content"]["payloadHash"], "spec.content.payloadHash");
  if (!hash) { return tl::unexpected(hash.error()); }
  auto signers = signers1(spec["content"]["envelope"], "sig", "publicKey", true);
  if (!signers) { return tl::unexpected(signers.error()); }
  return EntryBody{"intoto", std::move(*signers), std::move(*hash)};
}

// ---- the tree

std::uint64_t levels(std::uint64_t size) {
  std::uint64_t out = 0;
  for (; size != 0; size >>= 1U) { ++out; }
  return out;
}
std::uint64_t ones(std::uint64_t number) {
  std::uint64_t out = 0;
  for (; number != 0; number &= number - 1) { ++out; }
  return out;
}

// ---- checkpoints

/// The text up to the next '\n', and `at` behind it. nullopt: there is none.
std::optional<std::string_view> lineAt(std::string_view text, std::size_t& at) {
  const std::size_t end = text.find('\n', at);
  if (end == std::string_view::npos) { return std::nullopt; }
  const std::string_view line = text.substr(at, end - at);
  at = end + 1;
  return line;
}

tl::unexpected<Error> badCheckpoint(std::string_view what) {
  return fail(Code::Invalid, fmt::format("checkpoint: {}", what));
}

Status addSignature(std::string_view line, Checkpoint& out) {
  constexpr std::string_view kDash = "\xe2\x80\x94 ";
  const std::size_t space = line.rfind(' ');
  if (!line.starts_with(kDash) || space < kDash.size()) { return badCheckpoint("a line is no signature"); }
  const auto bytes = decodeBase64(line.substr(space + 1));
  if (!bytes || bytes->size() <= kKeyHint) { return badCheckpoint("a signature is no base64 of one"); }
  out.signatures.push_back({std::string{line.substr(kDash.size(), space - kDash.size())},
                            bytes->substr(0, kKeyHint), bytes->substr(kKeyHint)});
  return {};
}

}  // namespace

Result<LogEntry> parseRekorAnnotation(std::string_view text) {
  const auto value = objectOf("log entry", text, 2 * kMaxEntryBody);
  if (!value) { return tl::unexpected(value.error()); }
  const json::Value& payload = (*value)["Payload"];
  LogEntry out;
  auto promise = bytesAt(*value, "SignedEntryTimestamp", "log entry");
  if (!promise) { return tl::unexpected(promise.error()); }
  auto body = bytesAt(payload, "body", "log entry: Payload");
  if (!body) { return tl::unexpected(body.error()); }
  const auto time = numberAt(payload, "integratedTime", "log entry: Payload");
  if (!time) { return tl::unexpected(time.error()); }
  const auto index = numberAt(payload, "logIndex", "log entry: Payload");
  if (!index) { return tl::unexpected(index.error()); }
  auto id = decodeHex(payload["logID"].str());
  if (!id || id->size() != kHashBytes) { return badEntry("Payload.logID is no SHA-256 in hex"); }
  return LogEntry{.log_id = std::move(*id),
                  .log_index = *index,
                  .integrated_time = *time,
                  .body = std::move(*body),
                  .promise = std::move(*promise)};
}

std::string promisedText(const LogEntry& entry) {
  return fmt::format(R"({{"body":"{}","integratedTime":{},"logID":"{}","logIndex":{}}})",
                     encodeBase64(entry.body), entry.integrated_time, encodeHex(entry.log_id),
                     entry.log_index);
}

Result<EntryBody> parseEntryBody(std::string_view text) {
  const auto value = objectOf("log entry", text, kMaxEntryBody);
  if (!value) { return tl::unexpected(value.error()); }
  const std::string kind{(*value)["kind"].str()};
  const std::string version{(*value)["apiVersion"].str()};
  const std::string name = kind + ' ' + version;
  const json::Value& spec = (*value)["spec"];
  auto out = name == "hashedrekord 0.0.1"   ? hashedRekord1(spec)
             : name == "hashedrekord 0.0.2" ? hashedRekord2(spec)
             : name == "dsse 0.0.1"         ? dsse1(spec)
             : name == "dsse 0.0.2"         ? dsse2(spec)
             : name == "intoto 0.0.2"
                 ? intoto2(spec)
                 : Result<EntryBody>{badEntry(fmt::format("its kind '{}' is not known", name))};
  if (!out) { return out; }
  if (!isSha256(out->payload_sha256)) { return badEntry("its hash is no SHA-256"); }
  if (out->signers.empty()) { return badEntry("it has no signature"); }
  return out;
}

std::string leafHash(std::string_view body) { return sha256(std::string(1, '\0') + std::string{body}); }

// The proof's hashes are first those of the subtrees that the leaf lies in together with others (`inner`),
// and then those to the left of them on the way to the root.
std::optional<std::string> rootOf(std::string_view leaf, const InclusionProof& proof) {
  if (proof.index < 0 || proof.size <= proof.index || proof.hashes.size() > kMostProof) {
    return std::nullopt;
  }
  const auto index = static_cast<std::uint64_t>(proof.index);
  const std::uint64_t inner = levels(index ^ static_cast<std::uint64_t>(proof.size - 1));
  const std::uint64_t border = inner < 64 ? ones(index >> inner) : 0;
  if (proof.hashes.size() != inner + border) { return std::nullopt; }
  std::string out{leaf};
  for (std::uint64_t i = 0; i < proof.hashes.size(); ++i) {
    const std::string& other = proof.hashes[i];
    const bool is_left = i >= inner || ((index >> i) & 1U) != 0;
    out = is_left ? nodeHash(other, out) : nodeHash(out, other);
  }
  return out;
}

Result<Checkpoint> parseCheckpoint(std::string_view text) {
  if (text.size() > kMaxCheckpoint) { return badCheckpoint("it is too long"); }
  const std::size_t blank = text.find("\n\n");
  if (blank == std::string_view::npos) { return badCheckpoint("it has no signatures"); }
  Checkpoint out;
  out.signed_text = text.substr(0, blank + 1);
  std::size_t at = 0;
  const auto origin = lineAt(out.signed_text, at);
  const auto size = lineAt(out.signed_text, at);
  const auto root = lineAt(out.signed_text, at);
  if (!origin || origin->empty() || !size || !root) { return badCheckpoint("it lacks origin, size or root"); }
  out.origin = *origin;
  const auto [end, error] = std::from_chars(size->data(), size->data() + size->size(), out.size);
  if (error != std::errc{} || end != size->data() + size->size() || out.size < 0) {
    return badCheckpoint("its size is no number");
  }
  out.root = decodeBase64(*root).value_or("");
  if (out.root.size() != kHashBytes) { return badCheckpoint("its root is no hash"); }
  for (at = blank + 2; at < text.size();) {
    const auto line = lineAt(text, at);
    if (!line) { return badCheckpoint("a line does not end"); }
    if (out.signatures.size() == kMostItems) { return badCheckpoint("it has too many signatures"); }
    if (Status added = addSignature(*line, out); !added) { return tl::unexpected(added.error()); }
  }
  return out;
}

}  // namespace gs::kcache::trust
