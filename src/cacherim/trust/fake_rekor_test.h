// For tests only: a log of signatures. What it says of the tree is written once more than in kcache/trust: as
// RFC 6962 2.1 has it, by recursion.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/base64.h"
#include "base/hash.h"
#include "base/hex.h"
#include "json/value.h"
#include "kcache/trust/rekor.h"
#include "signature/private_key.h"

namespace gs::cacherim::trust {

class FakeRekor {
 public:
  [[nodiscard]] const signature::PrivateKey& key() const { return key_; }
  [[nodiscard]] std::string id() const { return *decodeHex(key_.publicKey().id()); }

  /// Not yet promised or proven.
  [[nodiscard]] kcache::trust::LogEntry entry(const std::string& body, std::int64_t at) const {
    return {.log_id = id(), .log_index = 1000, .integrated_time = at, .body = body, .promise = {}};
  }
  void promise(kcache::trust::LogEntry& entry) const {
    entry.promise = *key_.sign(kcache::trust::promisedText(entry));
  }
  /// In a tree of `size` leaves at `index`.
  void prove(kcache::trust::LogEntry& entry, std::size_t index = 3, std::size_t size = 6) const {
    std::vector<std::string> leaves;
    for (std::size_t i = 0; i < size; ++i) {
      leaves.push_back(i == index ? entry.body : "leaf " + std::to_string(i));
    }
    kcache::trust::InclusionProof out;
    out.index = static_cast<std::int64_t>(index);
    out.size = static_cast<std::int64_t>(size);
    out.root = rootOf(leaves);
    out.hashes = pathOf(index, leaves);
    out.checkpoint = checkpoint(out, key_);
    entry.proof = std::move(out);
  }
  [[nodiscard]] static std::string checkpoint(const kcache::trust::InclusionProof& proof,
                                              const signature::PrivateKey& key) {
    const std::string text = fmt::format("rekor.test - 1\n{}\n{}\n", proof.size, encodeBase64(proof.root));
    const std::string hint = decodeHex(key.publicKey().id())->substr(0, 4);
    return fmt::format("{}\n\xe2\x80\x94 rekor.test {}\n", text, encodeBase64(hint + *key.sign(text)));
  }

  /// Who signed what, as entries say it.
  static std::string hashedRekord(const std::string& message, const std::string& signature,
                                  const std::string& verifier) {
    return json::print(json::Object{
        {"apiVersion", "0.0.1"},
        {"kind", "hashedrekord"},
        {"spec",
         json::Object{{"data", json::Object{{"hash", json::Object{{"algorithm", "sha256"},
                                                                  {"value", sha256Hex(message)}}}}},
                      {"signature",
                       json::Object{{"content", encodeBase64(signature)},
                                    {"publicKey", json::Object{{"content", encodeBase64(verifier)}}}}}}}});
  }
  static std::string dsse(const std::string& payload, const std::string& signature,
                          const std::string& verifier) {
    const json::Value signer =
        json::Object{{"signature", encodeBase64(signature)}, {"verifier", encodeBase64(verifier)}};
    return json::print(json::Object{
        {"apiVersion", "0.0.1"},
        {"kind", "dsse"},
        {"spec",
         json::Object{{"payloadHash", json::Object{{"algorithm", "sha256"}, {"value", sha256Hex(payload)}}},
                      {"signatures", json::Array{signer}}}}});
  }

 private:
  using Leaves = std::vector<std::string>;
  static std::string sha(const std::string& bytes) { return *decodeHex(sha256Hex(bytes)); }
  /// The largest power of two below.
  static std::ptrdiff_t split(std::size_t size) {
    std::size_t out = 1;
    while (out * 2 < size) { out *= 2; }
    return static_cast<std::ptrdiff_t>(out);
  }
  static std::string rootOf(const Leaves& leaves) {
    if (leaves.size() == 1) { return sha(std::string(1, '\0') + leaves[0]); }
    const auto middle = leaves.begin() + split(leaves.size());
    return sha("\x01" + rootOf({leaves.begin(), middle}) + rootOf({middle, leaves.end()}));
  }
  static std::vector<std::string> pathOf(std::size_t index, const Leaves& leaves) {
    if (leaves.size() == 1) { return {}; }
    const auto at = static_cast<std::size_t>(split(leaves.size()));
    const Leaves left(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(at));
    const Leaves right(leaves.begin() + static_cast<std::ptrdiff_t>(at), leaves.end());
    auto out = index < at ? pathOf(index, left) : pathOf(index - at, right);
    out.push_back(index < at ? rootOf(right) : rootOf(left));
    return out;
  }

  signature::PrivateKey key_ = signature::PrivateKey::generate();
};

}  // namespace gs::cacherim::trust
