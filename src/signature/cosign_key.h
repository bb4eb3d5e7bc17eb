// What is encrypted in cosign's key files (sigstore/sigstore and theupdateframework's encrypted package):
// {"kdf":{"name":"scrypt","params":{"N","r","p"},"salt"},"cipher":{"name":"nacl/secretbox","nonce"},
// "ciphertext"}, the three in base64. The parameters come from the file, so what they may cost is bounded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::signature {

/// The PKCS#8 key in it. Error Invalid: the password is wrong or missing; it is of another kind.
[[nodiscard]] Result<std::string> openCosignKey(std::string_view json, std::string_view password);

}  // namespace gs::signature
