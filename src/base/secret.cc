#include "base/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/check.h"

namespace gs {
namespace {

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string hmacSha256(std::string_view key, std::string_view bytes) {
  constexpr std::size_t kBytes = 32;
  std::string out(kBytes, '\0');
  unsigned int size = 0;
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), octets(bytes), bytes.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &size);
  GS_CHECK(made != nullptr && size == kBytes, "OpenSSL has no HMAC-SHA256");
  return out;
}

bool areEqualSecrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string secretBytes(std::size_t count) {
  std::string out(count, '\0');
  GS_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1,
           "OpenSSL gives no random bytes");
  return out;
}

}  // namespace gs
