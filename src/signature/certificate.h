// Certificates of signers, as Fulcio issues them: short-lived, with the identity as a subject alternative
// name and the issuer of the identity as an extension
// (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md), for code signing, and logged before they
// were issued: the logs' promises are embedded (RFC 6962 3.2).
//
// Nothing here reads a clock: a chain is looked at as it was at a time that somebody else has proven.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "signature/public_key.h"

namespace gs::signature {

/// Immutable, cheap to copy; any thread.
class Certificate {
 public:
  /// The first one of a PEM text, or DER. Error Invalid: it is none, or its key is of no kind that is taken.
  [[nodiscard]] static Result<Certificate> parse(std::string_view text);

  [[nodiscard]] const PublicKey& publicKey() const { return public_key_; }
  [[nodiscard]] const std::string& der() const { return der_; }
  /// Mail addresses, URIs, DNS names, and Fulcio's other names: who it is for.
  [[nodiscard]] const std::vector<std::string>& subjects() const { return subjects_; }
  /// Who says so: 1.3.6.1.4.1.57264.1.8, or the older .1.1 when there is no such; "" neither is there.
  [[nodiscard]] const std::string& issuer() const { return issuer_; }
  [[nodiscard]] bool isForCodeSigning() const;
  /// "2025-06-15T15:06:40Z to ...", for people.
  [[nodiscard]] std::string lifeText() const;

 private:
  friend struct CertificateParts;
  Certificate(std::shared_ptr<x509_st> certificate, std::string der, PublicKey public_key)
      : certificate_{std::move(certificate)}, der_{std::move(der)}, public_key_{std::move(public_key)} {}

  std::shared_ptr<x509_st> certificate_;
  std::string der_;
  PublicKey public_key_;
  std::vector<std::string> subjects_;
  std::string issuer_;
};

/// Of a CA, in DER: the certificates from the one that signs up to the root, which is believed.
using Chain = std::vector<std::string>;

/// That `leaf` leads to the last of `authority`, all of them valid at that time. Gives the one that signed
/// the leaf. Error Invalid: why not.
[[nodiscard]] Result<Certificate> checkChain(const Certificate& leaf, const Chain& authority, Wall at);

/// The key of a log that has that id (32 bytes) and counted at that time; nullptr: there is none.
using LogKeys = std::function<const PublicKey*(std::string_view id, Wall at)>;

/// That at least one log has promised the certificate, which `issuer` signed. Error Invalid: none is
/// embedded; of none the log is known; the promise is of another certificate.
[[nodiscard]] Status checkPromises(const Certificate& leaf, const Certificate& issuer, const LogKeys& logs);

}  // namespace gs::signature
