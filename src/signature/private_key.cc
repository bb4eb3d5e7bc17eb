#include "signature/private_key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "signature/cosign_key.h"

namespace gs::signature {
namespace {

constexpr std::size_t kMaxPrivateText = std::size_t{64} << 10;

/// Asked by OpenSSL for the password of a key that has one.
int givePassword(char* to, int room, int /*writing*/, void* password) {
  const auto* text = static_cast<const std::string_view*>(password);
  if (text->empty() || text->size() > static_cast<std::size_t>(room)) { return -1; }
  std::memcpy(to, text->data(), text->size());
  return static_cast<int>(text->size());
}

OwnedKey readPem(std::string_view pem, std::string_view password) {
  const std::unique_ptr<BIO, Freer<BIO_free>> in{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  return OwnedKey{PEM_read_bio_PrivateKey(in.get(), nullptr, &givePassword, &password)};
}

OwnedKey readPkcs8(std::string_view der) {
  const unsigned char* at = bytesOf(der);
  return OwnedKey{d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(der.size()))};
}

}  // namespace

Result<PrivateKey> PrivateKey::of(OwnedKey key) {
  auto public_key = PublicKey::parse(spkiOf(key.get()));
  if (!public_key) { return tl::unexpected(public_key.error()); }
  return PrivateKey{std::shared_ptr<evp_pkey_st>{key.release(), FreeKey{}}, std::move(*public_key)};
}

Result<PrivateKey> PrivateKey::parse(std::string_view pem, std::string_view password) {
  if (pem.size() > kMaxPrivateText) { return fail(Code::Invalid, "it is too long for a private key"); }
  for (const char* label : {"ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"}) {
    const std::string box = fromPem(pem, label);
    if (box.empty()) { continue; }
    const auto der = openCosignKey(box, password);
    if (!der) { return tl::unexpected(der.error()); }
    OwnedKey key = readPkcs8(*der);
    if (key == nullptr) {
      return fail(Code::Invalid, "what is encrypted in it is no PKCS#8 key: " + libraryError());
    }
    return of(std::move(key));
  }
  OwnedKey key = readPem(pem, password);
  if (key != nullptr) { return of(std::move(key)); }
  const std::string why = libraryError();
  if (pem.find("ENCRYPTED") != std::string_view::npos) {
    return fail(Code::Invalid, password.empty() ? "it is encrypted, and there is no password"
                                                : "the password is not that of the key (" + why + ")");
  }
  return fail(Code::Invalid, "it is no private key in PEM: " + why);
}

PrivateKey PrivateKey::generate() {
  OwnedKey key{EVP_EC_gen("P-256")};
  GS_CHECK(key != nullptr, "OpenSSL makes no key");
  return *of(std::move(key));
}

Result<std::string> PrivateKey::sign(std::string_view message) const {
  const std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>> context{EVP_MD_CTX_new()};
  const EVP_MD* hash = public_key_.kind() == "Ed25519" ? nullptr : EVP_sha256();
  std::size_t size = 0;
  std::string out;
  const bool begun = context != nullptr &&
                     EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key_.get()) == 1 &&
                     EVP_DigestSign(context.get(), nullptr, &size, bytesOf(message), message.size()) == 1;
  out.resize(begun ? size : 0);
  if (!begun || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                               bytesOf(message), message.size()) != 1) {
    return fail(Code::Internal, "the key does not sign: " + libraryError());
  }
  out.resize(size);
  return out;
}

std::string PrivateKey::publicPem() const {
  const std::unique_ptr<BIO, Freer<BIO_free>> out{BIO_new(BIO_s_mem())};
  PEM_write_bio_PUBKEY(out.get(), key_.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(std::max(size, 0L))};
}

}  // namespace gs::signature
