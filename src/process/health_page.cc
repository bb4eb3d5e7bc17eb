#include "process/health_page.h"

#include <fmt/format.h>

#include <utility>

#include "base/metrics.h"

namespace gs::process {
namespace {

net::Response noAnswer() { return net::textResponse(500, "the owner thread does not answer\n"); }

}  // namespace

net::Response HealthPage::health() const {
  const auto failure = wiring_.failure();
  if (!failure) { return noAnswer(); }
  return failure->empty() ? net::textResponse(200, "ok\n") : net::textResponse(500, *failure + "\n");
}

net::Response HealthPage::ready(bool verbose) const {
  const bool unauthorized = wiring_.unauthorized && wiring_.unauthorized();
  const auto election = wiring_.election ? wiring_.election() : k8s::ElectionThread::View{};
  auto readiness = wiring_.readiness();
  if (!readiness) { return noAnswer(); }
  if (wiring_.unauthorized) {
    readiness->need(
        "token", !unauthorized,
        unauthorized ? "the API server answers 401 Unauthorized; give this process a valid token" : "");
  }
  if (!election.trouble.empty()) {
    readiness->need("leader-election", election.alone,
                    (election.alone ? "ok, standalone: " : "") + election.trouble);
  }
  return net::textResponse(readiness->ready ? 200 : 503,
                           readiness->ready && !verbose ? "ok\n" : readiness->text());
}

/// The bytes that its users' probes and scripts look for.
net::Response HealthPage::inJson(int status, const char* good, const char* bad) const {
  return net::jsonResponse(status, fmt::format(R"({{"service":"{}","status":"{}"}})", wiring_.service,
                                               status == 200 ? good : bad));
}

std::optional<std::string> HealthPage::state() const {
  MutexLock lock{mutex_};
  if (wiring_.now() >= state_until_) {
    state_ = wiring_.state();
    state_until_ = wiring_.now() + std::chrono::seconds{1};
  }
  return state_;
}

net::Response HealthPage::metrics() const {
  const auto state = this->state();
  if (!state) { return noAnswer(); }
  std::string text = wiring_.metrics() + *state;
  if (!wiring_.standalone_gauge.empty()) {
    Metrics standalone;
    standalone
        .gauge(wiring_.standalone_gauge,
               "1 while this process leads without the leader lease, which it may not use.")
        .set(wiring_.election().alone ? 1 : 0);
    text += standalone.text();
  }
  return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, std::move(text)};
}

net::Response HealthPage::answer(const net::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return net::textResponse(405, "only GET is served here\n");
  }
  if (request.path() == "/healthz" || request.path() == "/livez") { return health(); }
  if (request.path() == "/readyz") { return ready(request.target.find("verbose") != std::string::npos); }
  if (request.path() == "/metrics") { return metrics(); }
  if (!wiring_.service.empty()) {
    if (request.path() == "/health") { return inJson(health().status, "healthy", "unhealthy"); }
    if (request.path() == "/ready") { return inJson(ready(false).status, "ready", "not ready"); }
  }
  if (const auto other = wiring_.others.find(std::string{request.path()}); other != wiring_.others.end()) {
    auto text = other->second();
    return text ? net::textResponse(200, *std::move(text)) : noAnswer();
  }
  return net::textResponse(404, "not found; try /healthz, /readyz?verbose or /metrics\n");
}

bool HealthPage::isHealth(std::string_view path) {
  return path == "/metrics" || path == "/healthz" || path == "/livez" || path == "/readyz";
}

}  // namespace gs::process
