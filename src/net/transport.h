// The bytes of one connection, without waiting: a TCP socket, or TLS on one (tls_acceptor.h).
//
// An operation does what it can now and says what it would have to wait for. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "net/socket.h"

namespace gs::net {

enum class Went : std::uint8_t {
  Ok,          // some bytes
  NeedsInput,  // nothing until the peer sends
  NeedsRoom,   // nothing until the peer takes
  Ended,       // the peer ended its side
  Failed,      // the connection is broken
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Ok: `got` bytes, at least one, are in `into`.
  [[nodiscard]] virtual Went read(std::span<char> into, std::size_t& got) = 0;
  /// Ok: the first `took` bytes are on their way, at least one. `more`: further bytes follow at once.
  [[nodiscard]] virtual Went write(std::string_view data, bool more, std::size_t& took) = 0;
  /// No more will be written: the peer reads the end.
  virtual void endWriting() = 0;
  /// To wait on.
  [[nodiscard]] virtual int fd() const = 0;
};

[[nodiscard]] std::unique_ptr<Transport> plainTransport(Fd fd);

/// All of `data`, waiting until `deadline`; or not Ok.
[[nodiscard]] Io writeAll(Transport& transport, std::string_view data, Mono deadline);

}  // namespace gs::net
