// For tests only: a server whose every connection runs a script, byte by byte if need be. It does what a real
// server would do only on a bad day: answers half, closes at the wrong moment, says nothing. HttpServer is
// the well-behaved one.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/deadline_test.h"
#include "base/mutex.h"
#include "net/request_parser.h"
#include "net/socket.h"

namespace gs::net {

class ScriptedServer {
 public:
  /// One accepted connection, inside its script. Reads end with nullopt when the client leaves or the server
  /// stops.
  class Peer {
   public:
    Peer(Fd fd, int number, ScriptedServer& server) : fd_{std::move(fd)}, number_{number}, server_{server} {}
    /// 0, 1, ... in the order of accepting.
    [[nodiscard]] int number() const { return number_; }
    std::optional<Request> readRequest() {
      while (!parser_.ready() && parser_.bad() == 0) {
        std::string bytes;
        if (readSome(fd_.get(), bytes, 4096, Mono::max()) != Io::Ok) { return std::nullopt; }
        parser_.feed(bytes);
      }
      if (!parser_.ready()) { return std::nullopt; }
      Request request = parser_.take();
      server_.note(request);
      return request;
    }
    void write(std::string_view bytes) { static_cast<void>(writeAll(fd_.get(), bytes, Mono::max())); }
    void answer(int status, const std::string& body) {
      write(renderResponse(jsonResponse(status, body), true, false));
    }
    /// One piece of a chunked body; begin with streamHead(), end with "".
    void chunk(std::string_view bytes) {
      char size[20];
      std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
      write(std::string{size} + std::string{bytes} + "\r\n");
    }
    void streamHead() { write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
    /// Until the client closes, or the server stops.
    void waitForClose() {
      std::string bytes;
      while (readSome(fd_.get(), bytes, 4096, Mono::max()) == Io::Ok) { bytes.clear(); }
    }
    /// The connection, closed when the script returns, then ends with a reset instead of a clean end.
    void resetAtEnd() {
      const linger abort{1, 0};
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    }
    [[nodiscard]] int fd() const { return fd_.get(); }

   private:
    friend class ScriptedServer;
    Fd fd_;  // closed under the server's mutex
    int number_;
    ScriptedServer& server_;
    RequestParser parser_{RequestLimits{64 << 10, 1 << 20}};
  };
  using Script = std::function<void(Peer&)>;

  explicit ScriptedServer(Script script)
      : script_{std::move(script)},
        listener_{std::move(*listenTcp("127.0.0.1:0"))},
        port_{localPort(listener_.get())} {
    acceptor_ = std::jthread{[this](const std::stop_token& stop) { acceptAll(stop); }};
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    acceptor_.request_stop();
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    MutexLock lock{mutex_};
    for (const auto& peer : peers_) {
      if (peer->fd() >= 0) { ::shutdown(peer->fd(), SHUT_RDWR); }
    }
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::vector<Request> requests() const {
    MutexLock lock{mutex_};
    return requests_;
  }
  /// Waits until `count` requests have come.
  void waitForRequests(std::size_t count) const {
    const Deadline deadline{"so many requests came"};
    MutexLock lock{mutex_};
    while (requests_.size() < count) { came_.wait(mutex_); }
  }

 private:
  void note(const Request& request) {
    MutexLock lock{mutex_};
    requests_.push_back(request);
    came_.notifyAll();
  }
  void acceptAll(const std::stop_token& stop) {
    for (int number = 0; !stop.stop_requested();) {
      pollfd ready{listener_.get(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      Fd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
      if (!fd.valid() || stop.stop_requested()) { continue; }
      MutexLock lock{mutex_};
      Peer* peer = peers_.emplace_back(std::make_unique<Peer>(std::move(fd), number++, *this)).get();
      threads_.emplace_back([this, peer] {
        script_(*peer);
        MutexLock closing{mutex_};
        peer->fd_.reset();
      });
    }
  }

  const Script script_;
  const Fd listener_;
  const std::uint16_t port_;
  mutable Mutex mutex_;
  mutable Signal came_;
  std::vector<Request> requests_ GS_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<Peer>> peers_ GS_GUARDED_BY(mutex_);
  std::list<std::jthread> threads_ GS_GUARDED_BY(mutex_);  // joined before the peers go
  std::jthread acceptor_;
};

}  // namespace gs::net
