// The webhook over HTTPS: an HTTP server whose workers answer reviews (webhook/handler.h) and count them, and
// pass on questions about health. Owns the server; the metrics must outlive it.
#pragma once

#include <memory>

#include "base/metrics.h"
#include "base/result.h"
#include "net/http_server.h"
#include "webhook/handler.h"

namespace gs::serve {

/// The most that a review may have: two objects of the largest size, with escapes.
inline constexpr std::size_t kMostReview = std::size_t{8} << 20;

class WebhookServer {
 public:
  /// `health`: answers /healthz, /readyz and /metrics.
  WebhookServer(webhook::Handler handler, net::Handler health, Metrics& metrics)
      : handler_{std::move(handler)}, health_{std::move(health)}, metrics_{metrics} {}

  [[nodiscard]] Status start(net::HttpServer::Options options);
  void stop();
  [[nodiscard]] std::uint16_t port() const { return server_ ? server_->port() : 0; }

 private:
  net::Response answer(const net::Request& request);

  webhook::Handler handler_;
  net::Handler health_;
  Metrics& metrics_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace gs::serve
