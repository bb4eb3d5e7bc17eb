#include "signature/public_key.h"

#include <fmt/core.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>

#include "base/base64.h"
#include "base/hash.h"
#include "signature/ed25519ph.h"

namespace gs::signature {
namespace {

constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 8192;
constexpr std::size_t kMaxKeyText = std::size_t{16} << 10;
constexpr std::size_t kMaxSignature = std::size_t{4} << 10;

/// "ECDSA P-256"; "" it is not taken.
std::string kindOf(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519: return "Ed25519";
    case EVP_PKEY_RSA: {
      const int bits = EVP_PKEY_get_bits(key);
      return bits >= kLeastRsaBits && bits <= kMostRsaBits ? fmt::format("RSA {}", bits) : "";
    }
    case EVP_PKEY_EC: break;
    default: return "";
  }
  std::array<char, 64> group{};
  if (EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) != 1) { return ""; }
  const std::string_view name = group.data();
  if (name == "prime256v1" || name == "P-256") { return "ECDSA P-256"; }
  if (name == "secp384r1" || name == "P-384") { return "ECDSA P-384"; }
  if (name == "secp521r1" || name == "P-521") { return "ECDSA P-521"; }
  return "";
}

/// Of an Ed25519 key.
std::string rawOf(EVP_PKEY* key) {
  std::array<unsigned char, 32> out{};
  std::size_t size = out.size();
  if (EVP_PKEY_get_raw_public_key(key, out.data(), &size) != 1) { return ""; }
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)};
}

bool verifiesBy(EVP_PKEY* key, const EVP_MD* hash, int padding, std::string_view message,
                std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>> context{EVP_MD_CTX_new()};
  EVP_PKEY_CTX* how = nullptr;
  const bool good = context != nullptr &&
                    EVP_DigestVerifyInit(context.get(), &how, hash, nullptr, key) == 1 &&
                    (padding == 0 || EVP_PKEY_CTX_set_rsa_padding(how, padding) == 1) &&
                    (padding != RSA_PKCS1_PSS_PADDING ||
                     EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_AUTO) == 1) &&
                    EVP_DigestVerify(context.get(), bytesOf(signature), signature.size(), bytesOf(message),
                                     message.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

Result<PublicKey> PublicKey::of(OwnedKey key) {
  if (key == nullptr) { return fail(Code::Invalid, "it is no public key: " + libraryError()); }
  std::string kind = kindOf(key.get());
  if (kind.empty()) {
    return fail(
        Code::Invalid,
        "a key of this kind is not taken; use ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits or "
        "more");
  }
  std::string der = spkiOf(key.get());
  return PublicKey{std::shared_ptr<evp_pkey_st>{key.release(), FreeKey{}}, std::move(der), std::move(kind)};
}

Result<PublicKey> PublicKey::parse(std::string_view text) {
  if (text.size() > kMaxKeyText) { return fail(Code::Invalid, "it is too long for a public key"); }
  std::string der{text};
  if (text.find("-----BEGIN") != std::string_view::npos) {
    der = fromPem(text, "PUBLIC KEY");
    const std::string pkcs1 = der.empty() ? fromPem(text, "RSA PUBLIC KEY") : "";
    if (!pkcs1.empty()) {
      const unsigned char* at = bytesOf(pkcs1);
      return of(OwnedKey{d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, static_cast<long>(pkcs1.size()))});
    }
    if (der.empty()) {
      return fail(Code::Invalid, "it is no public key in PEM (-----BEGIN PUBLIC KEY-----)");
    }
  }
  const unsigned char* at = bytesOf(der);
  OwnedKey key{d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size()))};
  if (key != nullptr && at != bytesOf(der) + der.size()) {
    return fail(Code::Invalid, "there is something behind the public key");
  }
  return of(std::move(key));
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
  if (signature.empty() || signature.size() > kMaxSignature) { return false; }
  EVP_PKEY* key = key_.get();
  const auto by = [&](const EVP_MD* hash, int padding) {
    return verifiesBy(key, hash, padding, message, signature);
  };
  if (kind_ == "Ed25519") { return by(nullptr, 0) || verifiesEd25519ph(rawOf(key), message, signature); }
  if (kind_.starts_with("RSA")) {
    return by(EVP_sha256(), RSA_PKCS1_PADDING) || by(EVP_sha256(), RSA_PKCS1_PSS_PADDING);
  }
  return by(EVP_sha256(), 0) || (kind_ == "ECDSA P-384" && by(EVP_sha384(), 0)) ||
         (kind_ == "ECDSA P-521" && by(EVP_sha512(), 0));
}

std::string PublicKey::id() const { return sha256Hex(der_); }

}  // namespace gs::signature
