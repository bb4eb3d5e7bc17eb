// Evidence: one signature of an image, whichever way it was found: a layer of the image with cosign's older
// tag (kcache/trust/simple_signing.h), or a Sigstore bundle (kcache/trust/bundle.h). What makes evidence is
// that the signed text names the digest of the image; whether it is a good signature, and whose, is judge.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cacherim/image/image_source.h"
#include "kcache/image/digest.h"
#include "kcache/trust/bundle.h"

namespace gs::cacherim::trust {

struct Evidence {
  std::string where;  // for people: "bundle sha256:..."
  std::string message;
  std::string signature;                    // of `message`
  std::optional<std::string> statement{};   // in the envelope that `message` is of
  std::vector<std::string> certificates{};  // PEM or DER, the signer's first; none with a key
  std::vector<kcache::trust::LogEntry> entries{};
  std::vector<std::string> timestamps{};  // RFC 3161
};

/// Error Invalid: it is no signature of that image; the text says why.
[[nodiscard]] Result<Evidence> evidenceOf(const std::string& payload, const kcache::Annotations& annotations,
                                          const kcache::Digest& image);
/// `image`: the manifest that the bundle is found by. Error Conflict: it is an attestation.
[[nodiscard]] Result<Evidence> evidenceOf(const kcache::trust::Bundle& bundle, const FetchedManifest& image);

}  // namespace gs::cacherim::trust
