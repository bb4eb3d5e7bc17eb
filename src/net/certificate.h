// Making a server's certificate, and reading one: X.509 by OpenSSL, ECDSA with P-256.
//
// What is made is good for TLS servers of its names only: CA:FALSE, digitalSignature, serverAuth. Its CA
// signs nothing else: pathlen 0, and its key is thrown away. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/tls.h"

namespace gs::net {

struct SignedPair {
  std::string ca_pem;
  ServerPair server;
};
/// `names`: DNS names; the first one is its common name, as far as that has room (64 bytes).
/// Error Internal: the library's.
[[nodiscard]] Result<SignedPair> makeCertificate(const std::vector<std::string>& names, Wall from,
                                                 Wall until);

struct CertificateLife {
  Wall from{};
  Wall until{};
};
/// Of the first certificate of `pair`. Error Invalid: there is none, the key is not its own, it is not for
/// the host `name`, or none of `ca_pem` ("": not asked) has signed it.
[[nodiscard]] Result<CertificateLife> checkCertificate(const ServerPair& pair, std::string_view ca_pem,
                                                       const std::string& name);

}  // namespace gs::net
