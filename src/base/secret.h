// What is done with secrets: codes that only who has the key can make, comparing them, and making keys.
// Where a secret is said to be equal or not, the time says nothing of how much of it was right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gs {

/// HMAC-SHA256 (RFC 2104): 32 bytes.
[[nodiscard]] std::string hmacSha256(std::string_view key, std::string_view bytes);

[[nodiscard]] bool areEqualSecrets(std::string_view a, std::string_view b);

/// Random bytes that nobody can guess. Any thread.
[[nodiscard]] std::string secretBytes(std::size_t count);

}  // namespace gs
