// Ed25519ph (RFC 8032 5.1, without a context): what cosign from 2.4 on signs with an Ed25519 key, since
// transparency logs take the hash of a text only. OpenSSL of Debian 12 has Ed25519 and not this; libsodium
// has.
#pragma once

#include <string_view>

namespace gs::signature {

/// `key` and `signature` as they are, without a frame: 32 and 64 bytes. Other lengths are no signature. Any
/// thread.
[[nodiscard]] bool verifiesEd25519ph(std::string_view key, std::string_view message,
                                     std::string_view signature);

}  // namespace gs::signature
