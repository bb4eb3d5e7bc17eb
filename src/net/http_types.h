// HTTP messages as plain values, and what answers them. A component that serves HTTP is a Handler: it sees no
// socket, no thread of ours, and no library. Of ours base/ only, so that everybody may include it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/clock.h"

namespace gs::net {

using Header = std::pair<std::string, std::string>;
using Headers = std::vector<Header>;

/// The first value of `name` (any case), or nullptr.
[[nodiscard]] inline const std::string* findHeader(const Headers& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (equalInAnyCase(header.first, name)) { return &header.second; }
  }
  return nullptr;
}

struct Request {
  std::string method;  // "GET"
  std::string target;  // path and query as sent: "/metrics?x=1"
  Headers headers;
  std::string body;
  Mono asked{};  // when its peer began to send it, as far as the server knows; the epoch: not known

  [[nodiscard]] std::string_view path() const {
    return std::string_view{target}.substr(0, std::string_view{target}.find('?'));
  }
};

/// More of a body that is made while it is sent; waits for it at most `wait`. "": nothing yet; nullopt:
/// that was all.
/// Called by one thread. Destroyed when the body ended, the peer left or the server stops.
using BodyStream = std::function<std::optional<std::string>(std::chrono::nanoseconds wait)>;

/// Content-Length, Transfer-Encoding and Connection are the server's business; a header with a line break in
/// it is left out.
struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
  BodyStream stream{};  // set: sent in chunks as they come, instead of `body`
};

/// Called by several threads at once. An exception out of it answers 500.
using Handler = std::function<Response(Request)>;

[[nodiscard]] inline Response textResponse(int status, std::string body) {
  return Response{status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}
[[nodiscard]] inline Response jsonResponse(int status, std::string body) {
  return Response{status, {{"Content-Type", "application/json"}}, std::move(body)};
}

}  // namespace gs::net
