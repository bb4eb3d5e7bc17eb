// A private key that signs images.
//
// Read are: PKCS#8 in PEM, plain or with a password (ECDSA, RSA, Ed25519), the older "EC PRIVATE KEY" and
// "RSA PRIVATE KEY", and what `cosign generate-key-pair` writes, "ENCRYPTED SIGSTORE PRIVATE KEY" (and its
// older name "ENCRYPTED COSIGN PRIVATE KEY"): a JSON of the tool's, {kdf: scrypt, cipher: nacl/secretbox}
// (secretbox.h). No key in hardware and none of a service.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "signature/public_key.h"

namespace gs::signature {

class PrivateKey {
 public:
  /// `password`: for one that is encrypted; no plain key looks at it. Error Invalid: it is none, or of an
  /// algorithm that is not taken, or the password is wrong.
  [[nodiscard]] static Result<PrivateKey> parse(std::string_view pem, std::string_view password);
  /// A new one, ECDSA on P-256.
  [[nodiscard]] static PrivateKey generate();

  /// With SHA-256 (Ed25519: none; RSA: PKCS#1 v1.5), as cosign does.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  [[nodiscard]] const PublicKey& publicKey() const { return public_key_; }
  /// "-----BEGIN PUBLIC KEY-----..."
  [[nodiscard]] std::string publicPem() const;

 private:
  PrivateKey(std::shared_ptr<evp_pkey_st> key, PublicKey public_key)
      : key_{std::move(key)}, public_key_{std::move(public_key)} {}
  [[nodiscard]] static Result<PrivateKey> of(OwnedKey key);

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_key_;
};

}  // namespace gs::signature
