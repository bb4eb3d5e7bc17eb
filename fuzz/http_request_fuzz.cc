// Any bytes as a stream of HTTP requests: no crash, no hang; the limits hold; and how the stream is cut into
// pieces changes nothing. The first byte says how it is cut.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/request_parser.h"

namespace {

constexpr gs::net::RequestLimits kLimits{.header_bytes = 512, .body_bytes = 256};

struct Seen {
  std::vector<std::string> requests;
  int bad = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen read(std::string_view bytes, std::size_t piece) {
  gs::net::RequestParser parser{kLimits};
  Seen seen;
  while (!bytes.empty() && parser.bad() == 0) {
    parser.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (parser.ready()) {
      const bool keep = parser.keepAlive();
      const gs::net::Request request = parser.take();
      if (request.body.size() > kLimits.body_bytes || request.method.empty()) { __builtin_trap(); }
      std::string all = request.method + '\0' + request.target + '\0' + request.body + (keep ? "1" : "0");
      for (const auto& [name, value] : request.headers) { all += '\0' + name + '\0' + value; }
      seen.requests.push_back(std::move(all));
    }
  }
  seen.bad = parser.bad();
  if (seen.bad != 0 && seen.bad != 400 && seen.bad != 413 && seen.bad != 431) { __builtin_trap(); }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) { return 0; }
  const std::size_t piece = std::size_t{data[0]} % 32 + 1;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const Seen whole = read(bytes, bytes.size() + 1);
  const Seen cut = read(bytes, piece);
  if (whole.requests != cut.requests) { __builtin_trap(); }
  return 0;
}
