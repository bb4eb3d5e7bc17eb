#include "signature/ed25519ph.h"

#include <sodium.h>

#include "signature/handles.h"

namespace gs::signature {

bool verifiesEd25519ph(std::string_view key, std::string_view message, std::string_view signature) {
  if (key.size() != crypto_sign_PUBLICKEYBYTES || signature.size() != crypto_sign_BYTES) { return false; }
  crypto_sign_state state{};
  return crypto_sign_init(&state) == 0 && crypto_sign_update(&state, bytesOf(message), message.size()) == 0 &&
         crypto_sign_final_verify(&state, bytesOf(signature), bytesOf(key)) == 0;
}

}  // namespace gs::signature
