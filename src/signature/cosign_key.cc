#include "signature/cosign_key.h"

#include <fmt/core.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "json/value.h"
#include "signature/handles.h"
#include "signature/secretbox.h"

namespace gs::signature {
namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{256} << 20;  // cosign's own take 64 MiB (N 65536, r 8)
constexpr std::uint64_t kMostLanes = 16;

struct Scrypt {
  std::uint64_t n = 0;
  std::uint64_t r = 0;
  std::uint64_t p = 0;
  std::string salt;
};

Result<Scrypt> scryptOf(const json::Value& kdf) {
  if (kdf["name"].str() != "scrypt") { return fail(Code::Invalid, "the key's kdf is not scrypt"); }
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(kdf["params"][name].intOr(0), 0));
  };
  Scrypt out{number("N"), number("r"), number("p"), decodeBase64(kdf["salt"].str()).value_or("")};
  const bool fits = out.n > 1 && out.r > 0 && out.p > 0 && out.p <= kMostLanes && out.r <= kMostMemory &&
                    out.n <= kMostMemory / 128 / out.r;
  if (!fits || out.salt.empty()) {
    return fail(Code::Invalid, fmt::format("the key's scrypt parameters (N {}, r {}, p {}) are not taken",
                                           out.n, out.r, out.p));
  }
  return out;
}

Result<std::string> derive(const Scrypt& how, std::string_view password) {
  const std::unique_ptr<EVP_KDF, Freer<EVP_KDF_free>> kdf{EVP_KDF_fetch(nullptr, "SCRYPT", nullptr)};
  const std::unique_ptr<EVP_KDF_CTX, Freer<EVP_KDF_CTX_free>> context{EVP_KDF_CTX_new(kdf.get())};
  std::string secret{password};
  Scrypt copy = how;
  std::uint64_t memory = kMostMemory + (std::uint64_t{16} << 20);
  const std::array<OSSL_PARAM, 7> params{
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, copy.salt.data(), copy.salt.size()),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &copy.n),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_R, &copy.r),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_P, &copy.p),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &memory),
      OSSL_PARAM_construct_end()};
  std::string out(kSecretboxKey, '\0');
  if (context == nullptr || EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(out.data()),
                                           out.size(), params.data()) != 1) {
    return fail(Code::Invalid, "the key's scrypt parameters are not taken: " + libraryError());
  }
  return out;
}

}  // namespace

Result<std::string> openCosignKey(std::string_view text, std::string_view password) {
  const auto value = json::parse(text);
  if (!value) { return fail(Code::Invalid, "what is encrypted is no JSON: " + value.error().message); }
  const json::Value& cipher = (*value)["cipher"];
  if (cipher["name"].str() != "nacl/secretbox") {
    return fail(Code::Invalid, "the key's cipher is not nacl/secretbox");
  }
  const auto how = scryptOf((*value)["kdf"]);
  if (!how) { return tl::unexpected(how.error()); }
  const auto secret = derive(*how, password);
  if (!secret) { return tl::unexpected(secret.error()); }
  const auto opened = openSecretbox(decodeBase64((*value)["ciphertext"].str()).value_or(""),
                                    decodeBase64(cipher["nonce"].str()).value_or(""), *secret);
  if (opened) { return *opened; }
  return fail(Code::Invalid, password.empty() ? "it is encrypted, and there is no password"
                                              : "the password is not that of the key");
}

}  // namespace gs::signature
