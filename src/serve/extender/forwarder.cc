#include "serve/extender/forwarder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include "base/system_clock.h"
#include "extender/protocol/wire.h"
#include "net/http_client.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr const char* kForwarded = "X-Gpu-Admission-Forwarded";
constexpr std::chrono::milliseconds kMostWaited = 1h;
// An answer gives back what was sent, with a reason for each node at most.
constexpr std::size_t kMostBytes = extender::kMostBody + (std::size_t{32} << 20);

}  // namespace

bool Forwarder::wasForwarded(const net::Request& request) {
  return net::findHeader(request.headers, kForwarded) != nullptr;
}

Mono Forwarder::askedAt(const net::Request& request) {
  if (request.asked == Mono{}) { return {}; }
  const std::string* waited = net::findHeader(request.headers, kForwarded);
  std::int64_t ms = 0;
  if (waited != nullptr) { std::from_chars(waited->data(), waited->data() + waited->size(), ms); }
  return request.asked - std::chrono::milliseconds{std::clamp<std::int64_t>(ms, 0, kMostWaited.count())};
}

net::Response Forwarder::forward(const std::string& leader, net::Request request) const {
  thread_local std::pair<const Forwarder*, std::unique_ptr<net::HttpClient>> kept;
  if (kept.first != this) {
    kept = {this, std::make_unique<net::HttpClient>(net::HttpClient::Options{tls_})};
  }
  net::ClientRequest out;
  out.method = request.method;
  out.url = leader + request.target;
  const Mono now = SystemClock{}.now().mono;
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
      request.asked == Mono{} ? Duration{} : now - request.asked);
  out.headers = {{"Content-Type", "application/json"}, {kForwarded, std::to_string(waited.count())}};
  out.body = std::move(request.body);
  out.timeout = longest_;
  out.max_body = kMostBytes;
  net::Answer answer = kept.second->send(out);
  if (answer.status == 0) {
    return net::textResponse(503,
                             fmt::format("the leader {} cannot be reached: {}\n", leader, answer.message));
  }
  net::Response response{answer.status, {}, std::move(answer.body)};
  if (const auto* type = net::findHeader(answer.headers, "Content-Type")) {
    response.headers.emplace_back("Content-Type", *type);
  }
  return response;
}

}  // namespace gs::serve
