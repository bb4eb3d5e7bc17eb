#include "signature/secretbox.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "signature/handles.h"

namespace gs::signature {
namespace {

using Words = std::array<std::uint32_t, 16>;
constexpr std::size_t kBlock = 64;

std::uint32_t load(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 4; i-- > 0;) { out = (out << 8U) | static_cast<unsigned char>(bytes[at + i]); }
  return out;
}
void store(std::string& out, std::uint32_t word) {
  for (unsigned i = 0; i < 4; ++i) { out.push_back(static_cast<char>(word >> (8 * i))); }
}

void quarter(Words& x, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  x[b] ^= std::rotl(x[a] + x[d], 7);
  x[c] ^= std::rotl(x[b] + x[a], 9);
  x[d] ^= std::rotl(x[c] + x[b], 13);
  x[a] ^= std::rotl(x[d] + x[c], 18);
}

/// Ten times columns and rows.
void rounds(Words& x) {
  for (int i = 0; i < 10; ++i) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 5, 9, 13, 1);
    quarter(x, 10, 14, 2, 6);
    quarter(x, 15, 3, 7, 11);
    quarter(x, 0, 1, 2, 3);
    quarter(x, 5, 6, 7, 4);
    quarter(x, 10, 11, 8, 9);
    quarter(x, 15, 12, 13, 14);
  }
}

/// The state of a 32 byte key and 16 bytes of nonce (and counter).
Words stateOf(std::string_view key, std::string_view input) {
  constexpr std::string_view kSigma = "expand 32-byte k";
  Words x{};
  for (std::size_t i = 0; i < 4; ++i) {
    x[5 * i] = load(kSigma, 4 * i);
    x[1 + i] = load(key, 4 * i);
    x[6 + i] = load(input, 4 * i);
    x[11 + i] = load(key, 16 + 4 * i);
  }
  return x;
}

std::string hsalsa20(std::string_view key, std::string_view input) {
  Words x = stateOf(key, input);
  rounds(x);
  std::string out;
  for (const std::size_t i : {0U, 5U, 10U, 15U, 6U, 7U, 8U, 9U}) { store(out, x[i]); }
  return out;
}

std::string salsaBlock(std::string_view key, std::string_view nonce, std::uint64_t counter) {
  std::string input{nonce};
  store(input, static_cast<std::uint32_t>(counter));
  store(input, static_cast<std::uint32_t>(counter >> 32U));
  const Words start = stateOf(key, input);
  Words x = start;
  rounds(x);
  std::string out;
  for (std::size_t i = 0; i < x.size(); ++i) { store(out, x[i] + start[i]); }
  return out;
}

/// The stream of XSalsa20, its first block's 32 bytes (the key of Poly1305) apart.
struct Stream {
  std::string poly_key;
  std::string bytes;
};
Stream streamFor(std::string_view key, std::string_view nonce, std::size_t size) {
  const std::string subkey = hsalsa20(key, nonce.substr(0, 16));
  std::string all;
  for (std::uint64_t block = 0; all.size() < 32 + size; ++block) {
    all += salsaBlock(subkey, nonce.substr(16), block);
  }
  return {all.substr(0, 32), all.substr(32, size)};
}

std::string poly1305(std::string_view key, std::string_view text) {
  const std::unique_ptr<EVP_MAC, Freer<EVP_MAC_free>> mac{EVP_MAC_fetch(nullptr, "POLY1305", nullptr)};
  const std::unique_ptr<EVP_MAC_CTX, Freer<EVP_MAC_CTX_free>> context{EVP_MAC_CTX_new(mac.get())};
  std::string out(kSecretboxTag, '\0');
  std::size_t size = 0;
  GS_CHECK(
      mac != nullptr && context != nullptr &&
          EVP_MAC_init(context.get(), bytesOf(key), key.size(), nullptr) == 1 &&
          EVP_MAC_update(context.get(), bytesOf(text), text.size()) == 1 &&
          EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, out.size()) == 1,
      "OpenSSL has no Poly1305");
  return out;
}

std::string mixed(std::string_view text, std::string_view stream) {
  std::string out{text};
  for (std::size_t i = 0; i < out.size(); ++i) { out[i] = static_cast<char>(out[i] ^ stream[i]); }
  return out;
}

}  // namespace

std::optional<std::string> openSecretbox(std::string_view box, std::string_view nonce, std::string_view key) {
  if (box.size() < kSecretboxTag || nonce.size() != kSecretboxNonce || key.size() != kSecretboxKey) {
    return std::nullopt;
  }
  const std::string_view text = box.substr(kSecretboxTag);
  const Stream stream = streamFor(key, nonce, text.size());
  const std::string tag = poly1305(stream.poly_key, text);
  if (CRYPTO_memcmp(tag.data(), box.data(), kSecretboxTag) != 0) { return std::nullopt; }
  return mixed(text, stream.bytes);
}

std::string sealSecretbox(std::string_view text, std::string_view nonce, std::string_view key) {
  GS_CHECK(nonce.size() == kSecretboxNonce && key.size() == kSecretboxKey, "sizes of a secretbox");
  const Stream stream = streamFor(key, nonce, text.size());
  const std::string sealed = mixed(text, stream.bytes);
  return poly1305(stream.poly_key, sealed) + sealed;
}

}  // namespace gs::signature
