// A public key, and what it says of signatures.
//
// Algorithms as Sigstore's: ECDSA on P-256 and P-384 (and P-521), Ed25519 and Ed25519ph, RSA of 2048 to 8192
// bits with PKCS#1 v1.5 or PSS. The hash is SHA-256; a P-384 key may go with SHA-384 and a P-521 key with
// SHA-512 too, as newer signers have it. RSA keys that are shorter and other curves are refused. Immutable,
// cheap to copy; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "signature/handles.h"

namespace gs::signature {

class PublicKey {
 public:
  /// PEM ("PUBLIC KEY", or PKCS#1's "RSA PUBLIC KEY") or SubjectPublicKeyInfo in DER. Error Invalid: it is
  /// none, or of an algorithm that is not taken.
  [[nodiscard]] static Result<PublicKey> parse(std::string_view text);
  /// Takes it over. Error Invalid: as parse().
  [[nodiscard]] static Result<PublicKey> of(OwnedKey key);

  /// Any of the ways in which its kind of key signs.
  [[nodiscard]] bool verifies(std::string_view message, std::string_view signature) const;
  /// SubjectPublicKeyInfo in DER: two keys are one when these are equal.
  [[nodiscard]] const std::string& der() const { return der_; }
  /// SHA-256 of that, in hex, by which logs are named.
  [[nodiscard]] std::string id() const;
  /// "ECDSA P-256"
  [[nodiscard]] const std::string& kind() const { return kind_; }

 private:
  PublicKey(std::shared_ptr<evp_pkey_st> key, std::string der, std::string kind)
      : key_{std::move(key)}, der_{std::move(der)}, kind_{std::move(kind)} {}

  std::shared_ptr<evp_pkey_st> key_;
  std::string der_;
  std::string kind_;
};

}  // namespace gs::signature
