// Simple signing: the text that cosign signs for an image, before its bundles (containers/image's
// docs/signature-protocol, cosign's SIGNATURE_SPEC): which manifest, by digest, and under which name. It lies
// as a layer of the image with the tag sha256-<hex>.sig, and the layer's annotations have the signature.
//
// Nothing but the digest counts: an image that was copied to another registry keeps its signatures, so the
// name is for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kcache/image/digest.h"
#include "kcache/image/reference.h"

namespace gs::kcache::trust {

inline constexpr std::size_t kMaxPayload = std::size_t{64} << 10;
inline constexpr std::string_view kSimpleSigningType = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The kind of artifact that has such layers, where they have the image as its subject in place of that tag
/// (cosign, --registry-referrers-mode=oci-1-1).
inline constexpr std::string_view kSignatureArtifact = "application/vnd.dev.cosign.artifact.sig.v1+json";
/// Annotations of the layer.
inline constexpr const char* kSignatureKey = "dev.cosignproject.cosign/signature";  // base64
inline constexpr const char* kCertificateKey = "dev.sigstore.cosign/certificate";   // PEM
inline constexpr const char* kRekorKey = "dev.sigstore.cosign/bundle";              // see rekor.h
inline constexpr const char* kTimestampKey =
    "dev.sigstore.cosign/rfc3161timestamp";  // {"SignedRFC3161Timestamp"}

struct SimpleSigning {
  Digest digest;     // of the manifest
  std::string name;  // docker-reference
};

/// Error Invalid: it is none, or is of another type.
[[nodiscard]] Result<SimpleSigning> parseSimpleSigning(std::string_view text);
[[nodiscard]] std::string printSimpleSigning(const SimpleSigning& signing);

/// The tag "sha256-<hex>.sig" of the same repository.
[[nodiscard]] Reference signatureTag(const Reference& repository, const Digest& image);

}  // namespace gs::kcache::trust
