// HttpClient: blocking HTTP(S) requests and streams, one at a time,
// over one kept-alive connection (libcurl, HTTP/1.1).
//
// Never repeats a request that may have reached the server, except GET and HEAD: a write on a connection that
// the server closed meanwhile comes back as lost, with `sent` saying whether any byte of it left this
// process. Redirects are
// not followed. Proxies: the one given, else the environment's (HTTPS_PROXY, NO_PROXY).
// Threads: requests from one thread at a time; cancel() from any. Making the first client ignores SIGPIPE for
// the process (socket.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http_types.h"
#include "net/tls.h"

namespace gs::net {

/// What went wrong when there is no complete answer.
enum class Failure : std::uint8_t {
  None,
  Unreachable,  // no connection, or no TLS
  Timeout,      // the time was over
  Lost,         // the connection ended before the answer did
  TooLarge,     // the answer, or one line of it, is over its limit
  Cancelled,    // cancel()
  Withheld,     // before_send said no
};

struct ClientRequest {
  std::string method = "GET";
  std::string url{};
  Headers headers{};
  std::string body{};
  /// For all of it, connecting included; of a stream too, where zero means no limit.
  Duration timeout = std::chrono::seconds{10};
  /// Of the answer; of a stream, one line's.
  std::size_t max_body = std::size_t{16} << 20;
  /// Asked when the connection stands, directly before the first byte is sent; false: nothing is sent.
  std::function<bool()> before_send{};
};

struct Answer {
  int status = 0;  // 0: no complete answer
  Headers headers{};
  std::string body{};
  Duration retry_after{};  // of a Retry-After header, else zero
  Failure failure = Failure::None;
  /// Without a complete answer: whether the server may have seen the request.
  bool sent = false;
  std::string message;  // what happened, "" when there is an answer
};

class HttpClient {
 public:
  struct Options {
    ClientTls tls{};
    std::string proxy{};  // "http://host:port"; "": the environment's
    bool direct = false;  // no proxy, whatever the environment says
    Duration connect_timeout = std::chrono::seconds{5};
    /// A connection unused for longer is not used again: below the 90 s after which an API server closes it.
    Duration max_idle = std::chrono::seconds{60};
  };

  explicit HttpClient(Options options);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  [[nodiscard]] Answer send(const ClientRequest& request);

  /// As send(), but a 200 answer is given to `on_line` line by line as it comes (without '\n'; empty lines
  /// left out) and has no body. Ends when the server ends it or when on_line answers false: status 200. A
  /// peer that is gone without a word is noticed by TCP keep-alive after about half a minute. on_line may
  /// wait: the server is then not read.
  [[nodiscard]] Answer stream(const ClientRequest& request,
                              const std::function<bool(std::string_view)>& on_line);

  /// Ends the request in progress, if any, and refuses all later ones. For good; any thread.
  void cancel();
  [[nodiscard]] bool cancelled() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace gs::net
