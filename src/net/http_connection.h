// One HTTP/1.1 connection of the server, without waiting: it reads what has come, writes what the peer takes,
// and says whose turn it is. Threads, epoll and the handler are the server's business.
//
//   Resting   nothing of a request has come                  until idle_timeout
//   Reading   a request has begun                            until request_timeout after its first byte
//   Working   take() was called, an answer follows           no deadline
//   Writing   an answer is on its way                        until request_timeout after answer()
//   Leaving   a refusal is written, the peer's rest dropped  2 s
// A peer that still sends would get a reset, and might never read why it was refused:
// so Leaving reads on and drops.
// A request that is refused unread (request_parser.h) is answered by `refusal`. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "net/http_types.h"
#include "net/request_parser.h"
#include "net/transport.h"

namespace gs::net {

/// The same for all connections of a server; outlives them.
struct ConnectionRules {
  RequestLimits limits{};
  Duration idle_timeout = std::chrono::seconds{60};
  Duration request_timeout = std::chrono::seconds{10};
  std::function<Response(int)> refusal{};  // by status; none: a line of text
};

class HttpConnection {
 public:
  enum class Turn : std::uint8_t {
    Input,   // wait for the peer to send
    Room,    // wait for the peer to take
    Again,   // others may go first: it could go on for long
    Answer,  // a request is complete: take() it
    Over,    // close it
  };

  HttpConnection(std::unique_ptr<Transport> transport, const ConnectionRules& rules, Mono now);

  /// Goes on as far as it can. `scratch` is overwritten.
  Turn advance(Mono now, std::span<char> scratch);
  /// After Turn::Answer.
  [[nodiscard]] Request take();
  /// The answer to the request taken last; `keep` false: the last one. Then advance().
  void answer(Response response, bool keep, Mono now);
  /// Instead of answer(): the caller wrote to transport() itself, all that there was.
  void answered(bool keep, Mono now);
  /// The peer of the request taken last expects the connection to stay open.
  [[nodiscard]] bool peerKeeps() const { return peer_keeps_; }
  [[nodiscard]] bool isHead() const { return is_head_; }

  /// When the server gives it up, unless it is Working.
  [[nodiscard]] Mono deadline() const { return deadline_; }
  [[nodiscard]] bool resting() const { return phase_ == Phase::Resting; }
  /// An answer is on its way.
  [[nodiscard]] bool writing() const { return phase_ == Phase::Writing; }
  /// Bytes that it keeps: of a request, until take(); of an answer that the peer has not taken whole.
  [[nodiscard]] std::size_t held() const { return parser_.held() + head_.size() + body_.size(); }
  /// Its request is not wanted, complete or not: `status` is answered, then it closes.
  void refuse(int status, Mono now);
  [[nodiscard]] Transport& transport() { return *transport_; }

 private:
  enum class Phase : std::uint8_t { Resting, Reading, Working, Writing, Leaving };
  std::optional<Turn> write();                                  // nullopt: nothing is left to be written
  std::optional<Turn> read(Mono now, std::span<char> scratch);  // nullopt: something is to be written first
  Turn leave(std::span<char> scratch);
  void rest(Mono now);
  void put(std::string head, std::string body);

  std::unique_ptr<Transport> transport_;
  const ConnectionRules& rules_;
  RequestParser parser_;
  Phase phase_ = Phase::Resting;
  Mono deadline_;
  std::string head_;  // to be written, then body_
  std::string body_;
  std::size_t written_ = 0;  // of both
  bool peer_keeps_ = false;
  bool is_head_ = false;
  bool keep_ = true;      // after what is being written
  bool refused_ = false;  // what is being written is a refusal
};

}  // namespace gs::net
