// A webhook over HTTPS: an HTTP server whose workers answer reviews and count them, and pass on questions
// about health. Owns the server; the metrics must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admission/endpoint.h"
#include "base/metrics.h"
#include "base/result.h"
#include "net/http_server.h"

namespace gs::serve {

/// The most that a review may have: two objects of the largest size, with escapes.
inline constexpr std::size_t kMostReview = std::size_t{8} << 20;

/// As API servers ask: few connections, kept open. `workers`: reviews at once.
[[nodiscard]] net::HttpServer::Options reviewHttp(std::string address, std::size_t workers,
                                                  std::optional<net::ServerTls> tls);

class ReviewServer {
 public:
  struct Config {
    std::function<admission::Served(const net::Request&)> reviews;  // any thread, many at a time
    net::Handler health;                                            // /healthz, /readyz and /metrics
    std::string requests;                                           // the metrics' names
    std::string request_seconds;
  };
  ReviewServer(Config config, Metrics& metrics) : config_{std::move(config)}, metrics_{metrics} {}

  [[nodiscard]] Status start(net::HttpServer::Options options);
  void stop();
  [[nodiscard]] std::uint16_t port() const { return server_ ? server_->port() : 0; }

 private:
  net::Response answer(const net::Request& request);

  Config config_;
  Metrics& metrics_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace gs::serve
