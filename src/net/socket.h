// The few socket calls that the server needs: an owned descriptor, listening,
// and reads and writes with a deadline.
// Descriptors are non-blocking and close-on-exec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace gs::net {

/// Owns a file descriptor; -1: none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_{fd} {}
  Fd(Fd&& o) noexcept : fd_{std::exchange(o.fd_, -1)} {}
  Fd& operator=(Fd&& o) noexcept {
    if (this != &o) {
      reset();
      fd_ = std::exchange(o.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// From now on a write to a peer that is gone is an error, and does not end the process (SIGPIPE): OpenSSL
/// writes to sockets so. Leaves alone what somebody else does about it. Any thread, any number of times.
void ignoreBrokenPipes();

/// Of the form that listenTcp() takes.
[[nodiscard]] bool isListenAddress(const std::string& address);
/// Listens on "127.0.0.1:8080" or "[::1]:8080"; on every address of both families by ":8080", "0.0.0.0:8080"
/// or "[::]:8080", so that pods are reached in clusters of either. Port 0: any free one.
/// Error Invalid: not such an address; Unavailable: the system refused (in use, no right).
[[nodiscard]] Result<Fd> listenTcp(const std::string& address);
[[nodiscard]] std::uint16_t localPort(int fd);

enum class Io : std::uint8_t { Ok, Closed, Timeout, Failed };

/// Until something can be read (`to_write`: written) or the connection broke; Ok, or Timeout.
[[nodiscard]] Io waitFor(int fd, bool to_write, Mono deadline);
/// Appends what is there to `out`, at most `limit` bytes; waits for the first byte until `deadline` (steady
/// clock).
/// Closed: the peer ended its side.
[[nodiscard]] Io readSome(int fd, std::string& out, std::size_t limit, Mono deadline);
/// The peer closed the connection or its side of it, or it broke; unread bytes do not count.
[[nodiscard]] bool peerLeft(int fd);
/// All of `data`, or not Ok.
[[nodiscard]] Io writeAll(int fd, std::string_view data, Mono deadline);

}  // namespace gs::net
