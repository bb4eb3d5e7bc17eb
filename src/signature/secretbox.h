// NaCl's secretbox (XSalsa20 with Poly1305), in which cosign's key files are. By libsodium: OpenSSL has no
// Salsa20.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gs::signature {

inline constexpr std::size_t kSecretboxKey = 32;
inline constexpr std::size_t kSecretboxNonce = 24;
inline constexpr std::size_t kSecretboxTag = 16;  // before the text

/// nullopt: it was not sealed with this key, or sizes are wrong.
[[nodiscard]] std::optional<std::string> openSecretbox(std::string_view box, std::string_view nonce,
                                                       std::string_view key);
/// Sizes are right.
[[nodiscard]] std::string sealSecretbox(std::string_view text, std::string_view nonce, std::string_view key);

}  // namespace gs::signature
