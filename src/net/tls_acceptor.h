// The server's side of TLS: turns an accepted socket into a Transport, with a certificate that may be rotated
// (tls.h, ServerTls). Making the first one ignores SIGPIPE for the process (socket.h).
// One thread; what it made may be used on others, and outlives it.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "net/tls.h"
#include "net/transport.h"

namespace gs::net {

class TlsAcceptor {
 public:
  /// Error: names the file that cannot be read, or says that the key is not the certificate's.
  static Result<std::unique_ptr<TlsAcceptor>> load(ServerTls tls, Mono now);
  ~TlsAcceptor();

  /// The handshake is made by the transport's first reads and writes. nullptr: the library has no memory, or
  /// there is nothing to show yet.
  [[nodiscard]] std::unique_ptr<Transport> accept(Fd socket, Mono now);

 private:
  struct Loaded;
  TlsAcceptor(ServerTls tls, std::unique_ptr<Loaded> loaded, Mono now);
  [[nodiscard]] bool hasChanged();
  void lookAgain(Mono now);

  ServerTls tls_;
  std::unique_ptr<Loaded> loaded_;
  Mono look_again_;
};

}  // namespace gs::net
