#include "serve/admission/server.h"

#include <string>
#include <utility>
#include <vector>

#include "base/system_clock.h"
#include "process/health_page.h"

namespace gs::serve {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kConnections = 2'000;
constexpr std::size_t kHeld = std::size_t{64} << 20;  // bytes of requests and answers
constexpr Duration kIdle = 120s;                      // API servers keep theirs for 90

}  // namespace

net::HttpServer::Options reviewHttp(std::string address, std::size_t workers,
                                    std::optional<net::ServerTls> tls) {
  net::HttpServer::Options out;
  out.address = std::move(address);
  out.max_workers = workers;
  out.max_connections = kConnections;
  out.connection.idle_timeout = kIdle;
  out.max_held = kHeld;
  out.tls = std::move(tls);
  return out;
}

Status ReviewServer::start(net::HttpServer::Options options) {
  options.connection.limits.body_bytes = kMostReview;
  auto server =
      net::HttpServer::start(std::move(options), [this](const net::Request& r) { return answer(r); });
  if (!server) { return tl::unexpected(server.error()); }
  server_ = *std::move(server);
  return {};
}

void ReviewServer::stop() {
  if (server_) { server_->stop(); }
}

net::Response ReviewServer::answer(const net::Request& request) {
  static const std::vector<double> kBuckets = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                               0.01,   0.05,    0.25,   1,     5,      30};
  if (process::HealthPage::isHealth(request.path())) { return config_.health(request); }
  const SystemClock clock;
  const Mono began = clock.now().mono;
  auto served = config_.reviews(request);
  if (!served.path.empty()) {
    const std::string path{served.path};
    metrics_
        .counter(config_.requests, "Admission reviews, by path and result.",
                 {{"path", path}, {"result", std::string{served.result}}})
        .add();
    metrics_.histogram(config_.request_seconds, "Seconds to answer one, by path.", kBuckets, {{"path", path}})
        .observe(std::chrono::duration<double>{clock.now().mono - began}.count());
  }
  return std::move(served.response);
}

}  // namespace gs::serve
