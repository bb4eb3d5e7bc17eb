// HttpClient: blocking HTTP(S) requests and streams, one at a time,
// over one kept-alive connection (libcurl, HTTP/1.1).
//
// Never repeats a request that may have reached the server, except GET and HEAD: a write on a connection that
// the server closed meanwhile comes back as lost, with `sent` saying whether any byte of it left this
// process.
// Redirects are not followed: the caller may (net/url.h), who knows which credentials may go where.
// Proxies: the one given, else the environment's (HTTPS_PROXY, NO_PROXY).
// Threads: requests from one thread at a time; cancel() from any. Making the first client ignores SIGPIPE for
// the process (socket.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http_types.h"
#include "net/tls.h"

namespace gs::net {

inline constexpr std::size_t kMostOfARefusal = std::size_t{64} << 10;

/// What went wrong when there is no complete answer.
enum class Failure : std::uint8_t {
  None,
  Unreachable,  // no connection, or no TLS
  Timeout,      // the time was over, or nothing came or went for too long
  Lost,         // the connection ended before the answer did
  TooLarge,     // the answer, or one line of it, is over its limit
  Cancelled,    // cancel()
  Withheld,     // before_send said no
  Cut,          // the upload ended too early
};

/// A body that is asked for piece by piece. It cannot be sent twice.
struct Upload {
  std::uint64_t size = 0;  // bytes
  /// Puts at most `room` bytes there and says how many; 0 before the end: the request ends, Failure::Cut.
  std::function<std::size_t(char* to, std::size_t room)> read;
};

struct ClientRequest {
  std::string method = "GET";
  std::string url{};
  Headers headers{};
  std::string body{};
  /// Instead of `body`, for what is too large to hold.
  std::optional<Upload> upload{};
  /// For all of it, connecting included; of a stream or a download too, where zero means no limit.
  Duration timeout = std::chrono::seconds{10};
  /// How long nothing may come and nothing go (the time that callbacks take is not counted); zero: no limit.
  Duration idle{};
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

/// Takes the next piece of a body; false: no more is wanted. `head`: status and headers, no body.
using TakePiece = std::function<bool(const Answer& head, std::string_view piece)>;

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

  /// As send(), but the body of a 2xx answer is given to `take` piece by piece as it comes; `max_body` counts
  /// all of it. Ends well when the server ends it or when `take` answers false. `take` may wait. The body of
  /// any other answer is in the answer, its first kMostOfARefusal bytes.
  [[nodiscard]] Answer download(const ClientRequest& request, const TakePiece& take);

  /// Ends the request in progress, if any, and refuses all later ones. For good; any thread.
  void cancel();
  [[nodiscard]] bool cancelled() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace gs::net
