// The trusted root of a Sigstore: its CAs, logs and timestamp authorities, and when each of them counted
// (sigstore/protobuf-specs, sigstore_trustroot.proto as protobuf's JSON, version 0.1; what
// `cosign trusted-root create` and the public Sigstore's TUF repository have as trusted_root.json).
//
// Keys and certificates are bytes here; they are read where signatures are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kcache/trust/fields.h"

namespace gs::kcache::trust {

inline constexpr std::size_t kMaxTrustedRoot = std::size_t{1} << 20;

/// A log of signatures (Rekor), or of certificates (CT).
struct LogKey {
  std::string url;
  std::string id;   // 32 bytes, by which entries name it
  std::string key;  // SubjectPublicKeyInfo, DER
  Validity valid{};
};
/// A CA of certificates, or one of timestamps: from the one that signs up to the root.
struct CertificateAuthority {
  std::string url;
  std::vector<std::string> chain;  // DER
  Validity valid{};
};

struct TrustedRoot {
  std::vector<LogKey> logs;
  std::vector<LogKey> certificate_logs;
  std::vector<CertificateAuthority> authorities;
  std::vector<CertificateAuthority> timestamp_authorities;
};

/// Error Invalid: names the member. Members that are not known are left out: newer files have more.
[[nodiscard]] Result<TrustedRoot> parseTrustedRoot(std::string_view text);

}  // namespace gs::kcache::trust
