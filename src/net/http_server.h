// A small HTTP/1.1 server: a Handler answers, blocking and plain. For health and metrics, webhooks and the
// extender; with streamed answers also for the sandbox's watches.
//
// A connection that waits for its peer costs a descriptor and no thread, whether it is idle, sends slowly or
// reads slowly: one thread waits for all of them, and hands one that can go on to a worker, which reads or
// writes what there is and calls the handler when a request is complete (http_connection.h). Workers are
// started as needed, at most `max_workers`; when all are busy up to `max_waiting` connections wait, and
// further ones are answered 503 at once. At most `max_connections` are open: for one more, the one that is
// idle longest is closed, or, when none is idle, the new one. A peer that is silent for `idle_timeout`
// between requests, or takes longer than `request_timeout` to send one or to read its answer, is cut off. The
// bytes of requests, from their first one until they are answered, and of answers on their way are at most
// `max_held` in all, and what each worker took since it last looked (16 MiB): when they would be more, who
// has sent more than 64 KiB is answered 503, and who does not take more than that of its answer at once is
// cut off.
// A streamed answer keeps a thread of its own beside the workers until it ends, at most `max_streams` of
// them, further ones are answered 429; its peer may be silent for ever,
// but must read each piece within `request_timeout`.
// Owns its threads: the destructor stops them. The handler must outlive it. A handler that never returns
// keeps stop() waiting; everything else ends within `stop_grace`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_connection.h"
#include "net/http_types.h"
#include "net/tls.h"

namespace gs::net {

class HttpServer {
 public:
  struct Options {
    std::string address = "127.0.0.1:0";  // see listenTcp
    ConnectionRules connection{};
    std::optional<ServerTls> tls{};
    Duration stop_grace = std::chrono::milliseconds{500};
    std::size_t max_workers = 4;
    std::size_t max_streams = 256;
    std::size_t max_waiting = 256;
    std::size_t max_connections = 12'000;
    std::size_t max_held = std::size_t{512} << 20;
    /// A request whose peer closed the connection, or its side of it, before its turn came is not handled.
    bool only_who_waits = false;
  };

  /// Listens and begins to serve. Errors are listenTcp's and TlsAcceptor's.
  static Result<std::unique_ptr<HttpServer>> start(Options options, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] std::uint16_t port() const;
  /// Open connections, idle or not.
  [[nodiscard]] std::size_t connections() const;
  /// Workers started so far.
  [[nodiscard]] std::size_t workers() const;
  /// Takes no new connection, closes idle ones, answers what was already asked, joins.
  /// A second call does nothing.
  void stop();

 private:
  class Core;
  explicit HttpServer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace gs::net
