#include "base/hash.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace gs {
namespace {

constexpr std::size_t kDigestBytes = 32;

struct Freer {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, Freer>;

/// Looked up once: that takes longer than hashing a short text.
const EVP_MD* algorithm() {
  static const EVP_MD* const kFetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kFetched;
}

}  // namespace

struct Sha256::Library {
  Context context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : library_{std::make_unique<Library>()} {
  GS_CHECK(
      library_->context != nullptr && EVP_DigestInit_ex(library_->context.get(), algorithm(), nullptr) == 1,
      "OpenSSL has no SHA-256");
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  GS_CHECK(EVP_DigestUpdate(library_->context.get(), bytes.data(), bytes.size()) == 1, "SHA-256 fails");
}

namespace {

using Digest = std::array<unsigned char, kDigestBytes>;

std::string hexOf(const Digest& digest) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(digest.size() * 2);
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 0xfU];
  }
  return text;
}

}  // namespace

std::string Sha256::hex() const {
  const Context copy{EVP_MD_CTX_new()};
  Digest digest{};
  GS_CHECK(copy != nullptr && EVP_MD_CTX_copy_ex(copy.get(), library_->context.get()) == 1 &&
               EVP_DigestFinal_ex(copy.get(), digest.data(), nullptr) == 1,
           "SHA-256 fails");
  return hexOf(digest);
}

/// In one call: a context more, and a copy of it, take longer than hashing a short text.
std::string sha256Hex(std::string_view bytes) {
  Digest digest{};
  GS_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm(), nullptr) == 1,
           "OpenSSL has no SHA-256");
  return hexOf(digest);
}

}  // namespace gs
