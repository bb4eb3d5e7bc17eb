// Whether evidence is a good signature of somebody who is trusted.
//
// By a key: the signature is one of the key's. By an identity (keyless), all of these:
//   - the signature is one of the certificate's key;
//   - each entry of a log is about this signature, this signer and this text; the log is in the trusted root;
//     its promise (SET) holds, and its proof leads to a root that the log has signed; it has one of the two;
//   - each timestamp is of the signature, by an authority of the root;
//   - so there is a time that is proven, by a promise or a timestamp: a proof alone says nothing of when;
//   - at each of these times a CA of the root counted, and the certificate was valid and led to it;
//   - it is for code signing, and a CT log of the root has promised it (SCT);
//   - its issuer and one of its subjects are those of an identity that is trusted.
// Nothing is asked of anybody, and no clock is read. Immutable; any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cacherim/trust/evidence.h"
#include "kcache/trust/policy.h"
#include "kcache/trust/trusted_root.h"
#include "signature/certificate.h"
#include "signature/public_key.h"

namespace gs::cacherim::trust {

/// A trusted root whose keys were read. Keys of kinds that are not taken are left out: what they signed is
/// then of a log that is not known.
class Sigstore {
 public:
  explicit Sigstore(const kcache::trust::TrustedRoot& root);

  /// Who it is that signed, for people. Error Invalid: why it does not count.
  [[nodiscard]] Result<std::string> judge(const Evidence& evidence,
                                          const std::vector<kcache::trust::Identity>& identities) const;

 private:
  struct Log {
    std::string id;
    signature::PublicKey key;
    kcache::trust::Validity valid;
  };
  static std::vector<Log> logsOf(const std::vector<kcache::trust::LogKey>& keys);
  [[nodiscard]] Result<std::vector<Wall>> timesOf(const Evidence& evidence,
                                                  const signature::Certificate& leaf) const;
  /// `stamped`: the times of the timestamps. nullopt: it proves no time.
  [[nodiscard]] Result<std::optional<Wall>> checkEntry(const kcache::trust::LogEntry& entry,
                                                       const Evidence& evidence,
                                                       const signature::Certificate& leaf,
                                                       const std::vector<Wall>& stamped) const;
  [[nodiscard]] Result<Wall> checkStamp(const std::string& stamp, const Evidence& evidence) const;
  /// The certificate that signed it.
  [[nodiscard]] Result<signature::Certificate> issuerOf(const signature::Certificate& leaf, Wall at) const;
  [[nodiscard]] Status checkIssued(const signature::Certificate& leaf, const std::vector<Wall>& times) const;

  std::vector<Log> logs_;
  std::vector<Log> certificate_logs_;
  std::vector<kcache::trust::CertificateAuthority> authorities_;
  std::vector<kcache::trust::CertificateAuthority> timestamp_authorities_;
};

struct TrustedKeys {
  std::vector<signature::PublicKey> keys;
};
struct TrustedIdentities {
  std::vector<kcache::trust::Identity> identities;
  std::shared_ptr<const Sigstore> sigstore;
};
using Trusted = std::variant<TrustedKeys, TrustedIdentities>;

/// Texts of trusted roots, by the names that policies have for them.
using TrustedRoots = std::map<std::string, std::string>;

/// The authorities of a rule. Error Invalid: a key or a root cannot be read, or there is no such root; the
/// field is named. A rule that cannot be read as a whole trusts nobody.
[[nodiscard]] Result<std::vector<Trusted>> trustedOf(const kcache::trust::Rule& rule,
                                                     const TrustedRoots& roots);

/// Who it is that signed. Error Invalid: why none of them has.
[[nodiscard]] Result<std::string> judge(const Evidence& evidence, const std::vector<Trusted>& trusted);

}  // namespace gs::cacherim::trust
