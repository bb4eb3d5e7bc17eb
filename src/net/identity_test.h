// For tests only: keys and certificates, made on the spot, as PEM text.
#pragma once

#include <string>

namespace gs::net {

struct Identity {
  std::string cert_pem;
  std::string key_pem;
};

/// `san` as OpenSSL writes it: "IP:127.0.0.1,DNS:api"; `signer` nullptr: a certificate authority.
/// `is_ca`: it may sign others all the same.
[[nodiscard]] Identity makeIdentity(const char* name, const std::string& san, const Identity* signer,
                                    bool is_ca = false);

}  // namespace gs::net
