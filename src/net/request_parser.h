// Bytes -> HTTP/1.x requests, one after the other; the one door to the HTTP parser library. Pure:
// no socket, no clock.
// Refused (bad() says with which status): a header over the limit 431, a body over it 413, everything
// malformed or ambiguous (both Content-Length and chunked, say) 400.
// After a refusal nothing more can be read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_types.h"

namespace gs::net {

struct RequestLimits {
  std::size_t header_bytes = std::size_t{8} << 10;
  std::size_t body_bytes = std::size_t{1} << 20;
};

class RequestParser {
 public:
  explicit RequestParser(RequestLimits limits);
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  /// Takes bytes as they came. After ready() or bad() they are kept for the next request, or dropped.
  void feed(std::string_view bytes);

  [[nodiscard]] bool ready() const { return ready_; }
  /// 0, or the status to answer before closing.
  [[nodiscard]] int bad() const { return bad_; }
  /// Bytes of a request have come, but not all.
  [[nodiscard]] bool begun() const;
  /// How many bytes are kept, of whatever has come and was not taken.
  [[nodiscard]] std::size_t held() const;
  /// The header is complete and the peer waits for "100 Continue" before it sends the body.
  /// Said once a request.
  [[nodiscard]] bool wantsContinue();
  /// The complete request; call when ready(), and read keepAlive() first.
  /// Then reads on with what came after it.
  [[nodiscard]] Request take();
  /// The peer expects the connection to stay open after this request.
  [[nodiscard]] bool keepAlive() const;

 private:
  struct Library;
  void advance();
  std::size_t takeBody(std::string_view bytes);

  RequestLimits limits_;
  std::unique_ptr<Library> library_;
  std::string pending_;          // not yet given to the library, or given back by it
  std::size_t header_size_ = 0;  // of the request being read, as far as the library took it
  std::string body_;             // of a request whose length was announced: the library does not see it
  std::size_t body_size_ = 0;    // announced; 0: the library reads the body, if any
  bool ready_ = false;
  bool continue_said_ = false;
  int bad_ = 0;
};

/// The bytes of an answer: its header, and with its body. HEAD: without it. With a stream:
/// the header only, announcing chunks.
[[nodiscard]] std::string renderHead(const Response& response, bool keep_alive);
[[nodiscard]] std::string renderResponse(const Response& response, bool keep_alive, bool head);
/// One chunk of a streamed body; "" is its end.
[[nodiscard]] std::string renderChunk(std::string_view bytes);
[[nodiscard]] const char* statusText(int status);

}  // namespace gs::net
