#include "net/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

namespace gs::net {
namespace {

constexpr int kBacklog = 4096;

struct HostPort {
  std::string host;
  std::string port;
};

Result<HostPort> splitAddress(const std::string& address) {
  const auto colon = address.rfind(':');
  const auto bad = [&] {
    return fail(Code::Invalid,
                fmt::format("'{}' is not an address to listen on; write HOST:PORT, such as 127.0.0.1:10259, "
                            "[::1]:10259 or :10259",
                            address));
  };
  if (colon == std::string::npos) { return bad(); }
  HostPort split{address.substr(0, colon), address.substr(colon + 1)};
  if (split.port.empty() || split.port.size() > 5 ||
      split.port.find_first_not_of("0123456789") != std::string::npos || std::stoi(split.port) > 65535) {
    return bad();
  }
  if (split.host.starts_with('[')) {
    if (!split.host.ends_with(']')) { return bad(); }
    split.host = split.host.substr(1, split.host.size() - 2);
  } else if (split.host.find(':') != std::string::npos) {
    return bad();
  }
  return split;
}

/// -1: errno says why.
int listenOn(const sockaddr& where, socklen_t size) {
  const int fd = ::socket(where.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) { return -1; }
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (where.sa_family == AF_INET6) {
    const int off = 0;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd, &where, size) == 0 && ::listen(fd, kBacklog) == 0) { return fd; }
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

/// Of both families, on one IPv6 socket; where the kernel has no IPv6, of the other. -1: errno says why.
int listenOnEvery(std::uint16_t port) {
  sockaddr_in6 both{};  // "::"
  both.sin6_family = AF_INET6;
  both.sin6_port = htons(port);
  const int fd = listenOn(reinterpret_cast<const sockaddr&>(both), sizeof both);
  if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) { return fd; }
  sockaddr_in four{};  // "0.0.0.0"
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return listenOn(reinterpret_cast<const sockaddr&>(four), sizeof four);
}

/// "0.0.0.0", "::", however written: not one address, but every one. Go's net.Listen reads them so too.
bool isEvery(const addrinfo& where) {
  if (where.ai_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(*where.ai_addr).sin_addr.s_addr == INADDR_ANY;
  }
  if (where.ai_family != AF_INET6) { return false; }
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(*where.ai_addr).sin6_addr;
  static constexpr std::uint8_t kZero[4] = {};
  return IN6_IS_ADDR_UNSPECIFIED(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && std::equal(kZero, kZero + 4, address.s6_addr + 12));
}

bool wouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) { ::close(std::exchange(fd_, -1)); }
}

void ignoreBrokenPipes() {
  static const bool done = [] {
    struct sigaction now {};
    if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(done);
}

bool isListenAddress(const std::string& address) { return splitAddress(address).has_value(); }

Result<Fd> listenTcp(const std::string& address) {
  const auto split = splitAddress(address);
  if (!split) { return tl::unexpected(split.error()); }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(split->host.empty() ? nullptr : split->host.c_str(), split->port.c_str(), &hints, &found);
  if (failed != 0) {
    return fail(Code::Invalid, fmt::format("cannot listen on '{}': {}", address, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
  int fd = -1;
  if (isEvery(*found)) {
    fd = listenOnEvery(static_cast<std::uint16_t>(std::stoi(split->port)));
  } else {
    for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
      fd = listenOn(*at->ai_addr, at->ai_addrlen);
    }
  }
  if (fd >= 0) { return Fd{fd}; }
  return fail(Code::Unavailable, fmt::format("cannot listen on '{}': {}; choose another address or port",
                                             address, std::strerror(errno)));
}

std::uint16_t localPort(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) { return 0; }
  if (name.ss_family == AF_INET6) { return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port); }
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

Io waitFor(int fd, bool to_write, Mono deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) { return Io::Timeout; }
    pollfd one{fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready > 0) { return Io::Ok; }
    if (ready < 0 && errno != EINTR) { return Io::Failed; }
  }
}

Io readSome(int fd, std::string& out, std::size_t limit, Mono deadline) {
  const std::size_t before = out.size();
  out.resize(before + limit);
  for (;;) {
    const auto got = ::recv(fd, out.data() + before, limit, 0);
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) { return Io::Ok; }
    if (got == 0) { return Io::Closed; }
    if (!wouldBlock()) { return Io::Failed; }
    if (const Io waited = waitFor(fd, false, deadline); waited != Io::Ok) { return waited; }
    out.resize(before + limit);
  }
}

bool peerLeft(int fd) {
  pollfd one{fd, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) != 0;
}

Io writeAll(int fd, std::string_view data, Mono deadline) {
  while (!data.empty()) {
    const auto put = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      data.remove_prefix(static_cast<std::size_t>(put));
    } else if (!wouldBlock()) {
      return Io::Failed;
    } else if (const Io waited = waitFor(fd, true, deadline); waited != Io::Ok) {
      return waited;
    }
  }
  return Io::Ok;
}

}  // namespace gs::net
