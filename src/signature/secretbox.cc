#include "signature/secretbox.h"

#include <sodium.h>

#include <utility>

#include "base/check.h"
#include "signature/handles.h"

namespace gs::signature {
namespace {

static_assert(kSecretboxKey == crypto_secretbox_KEYBYTES);
static_assert(kSecretboxNonce == crypto_secretbox_NONCEBYTES);
static_assert(kSecretboxTag == crypto_secretbox_MACBYTES);

unsigned char* into(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::optional<std::string> openSecretbox(std::string_view box, std::string_view nonce, std::string_view key) {
  if (box.size() < kSecretboxTag || nonce.size() != kSecretboxNonce || key.size() != kSecretboxKey) {
    return std::nullopt;
  }
  std::string out(box.size() - kSecretboxTag, '\0');
  const bool is_open =
      crypto_secretbox_open_easy(into(out), bytesOf(box), box.size(), bytesOf(nonce), bytesOf(key)) == 0;
  return is_open ? std::optional{std::move(out)} : std::nullopt;
}

std::string sealSecretbox(std::string_view text, std::string_view nonce, std::string_view key) {
  GS_CHECK(nonce.size() == kSecretboxNonce && key.size() == kSecretboxKey, "sizes of a secretbox");
  std::string out(text.size() + kSecretboxTag, '\0');
  static_cast<void>(
      crypto_secretbox_easy(into(out), bytesOf(text), text.size(), bytesOf(nonce), bytesOf(key)));
  return out;
}

}  // namespace gs::signature
