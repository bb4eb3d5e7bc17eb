// What the ends of TLS trust and show, as values.
// A client: PEM text wins over a file. Files are read again for new connections
// (ca_file at most once a minute), and a connection is used for at most 5 minutes or until an answer 401: so
// a rotated certificate takes effect without a restart.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace gs::net {

struct ClientTls {
  std::string ca_pem{};  // trusted certificates; both empty: the system's
  std::string ca_file{};
  bool system_too = false;  // trusts the system's besides `ca_file`
  std::string cert_pem{};   // what the client shows; both empty: nothing
  std::string cert_file{};
  std::string key_pem{};
  std::string key_file{};
  std::string server_name{};  // whose certificate is asked for (SNI) and must be shown; "": the URL's host
  bool insecure = false;      // accept any certificate
  friend bool operator==(const ClientTls&, const ClientTls&) = default;
};

/// PEM text.
struct ServerPair {
  std::string cert_pem;  // with the chain after it
  std::string key_pem;
};

/// A server. Its files are looked at again at most once a second, for new connections: a pair that has
/// changed and fits is shown from then on; one that cannot be read, or does not fit, leaves the one before.
/// TLS 1.2 and newer.
struct ServerTls {
  std::string cert_file{};  // with the chain after it
  std::string key_file{};
  std::string client_ca_file{};  // "": clients need no certificate
  /// Instead of the two files: asked for at most once a second, on the server's thread. The same pointer is
  /// the same pair. While it gives nullptr, connections are closed.
  std::function<std::shared_ptr<const ServerPair>()> pair{};
};

}  // namespace gs::net
