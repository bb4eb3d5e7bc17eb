// A small HTTP/1.1 server: a Handler answers, blocking and plain. For health and metrics, webhooks and the extender; with
// streamed answers also for the sandbox's watches.
//
// Idle connections cost a descriptor and no thread: one thread waits for all of them, and hands a connection that has
// something to say to a worker, which reads the request, calls the handler, writes the answer, and gives it back.
// Workers are started as needed, at most `max_workers`; when all are busy up to `max_waiting` connections wait, and
// further ones are answered 503 at once. A peer that is silent for `idle_timeout` between requests, or that takes
// longer than `request_timeout` to send one or to read its answer, is cut off.
// A streamed answer keeps a thread of its own beside the workers until it ends, at most `max_streams` of them, further
// ones are answered 429; its peer may be silent for ever, but must read each piece within `request_timeout`.
// Owns its threads: the destructor stops them. The handler must outlive it. A handler that never returns keeps stop()
// waiting; everything else ends within `stop_grace`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_types.h"
#include "net/request_parser.h"

namespace gs::net {

class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1:0";  // see listenTcp
    RequestLimits limits{};
    Duration idle_timeout = std::chrono::seconds{60};
    Duration request_timeout = std::chrono::seconds{10};
    Duration stop_grace = std::chrono::milliseconds{500};
    std::size_t max_workers = 4;
    std::size_t max_streams = 256;
    std::size_t max_waiting = 256;
    std::size_t max_connections = 12'000;  // further ones are closed unread
    /// The answer to what was not read, by its status (request_parser.h); none: a line of text.
    std::function<Response(int)> refusal{};
  };

  /// Listens and begins to serve. Errors are listenTcp's.
  static Result<std::unique_ptr<HttpServer>> start(Options options, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] std::uint16_t port() const;
  /// Open connections, idle or not.
  [[nodiscard]] std::size_t connections() const;
  /// Workers started so far.
  [[nodiscard]] std::size_t workers() const;
  /// Takes no new connection, closes idle ones, answers what was already asked, joins. A second call does nothing.
  void stop();

 private:
  class Core;
  explicit HttpServer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace gs::net
