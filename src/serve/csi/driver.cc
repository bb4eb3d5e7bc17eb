#include "serve/csi/driver.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "base/log.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGraceOfCalls = 4s;

/// `call`: publish, unpublish, stats. `result`: ok, invalid, not_found, failed_precondition, unavailable,
/// deadline, internal.
constexpr const char* kCalls = "gkm_csi_calls_total";
/// `call`: publish, unpublish, stats.
constexpr const char* kSeconds = "gkm_csi_call_seconds";
constexpr const char* kRegistered = "gkm_csi_registered";
constexpr const char* kVolumes = "gkm_csi_volumes";

csi::NodeService::Options withClock(csi::NodeService::Options options, const Clock& clock) {
  options.clock = &clock;
  return options;
}

}  // namespace

Result<std::unique_ptr<CsiDriverProcess>> CsiDriverProcess::make(const CsiFlags& flags,
                                                                 const k8s::Surroundings& surroundings,
                                                                 const std::string& version) {
  auto server = flags.server(surroundings, version);
  if (!server) { return tl::unexpected(server.error()); }
  auto options = flags.mounts();
  if (!options) { return tl::unexpected(options.error()); }
  auto mounts = csi::LinuxMounts::open(*std::move(options));
  if (!mounts) { return tl::unexpected(mounts.error()); }
  auto usage = cacherim::Usage::open(flags.usage, cacherim::Disk{});
  if (!usage) { return tl::unexpected(usage.error()); }
  return std::unique_ptr<CsiDriverProcess>{
      new CsiDriverProcess{flags, *std::move(server), *std::move(usage), *std::move(mounts)}};
}

CsiDriverProcess::CsiDriverProcess(const CsiFlags& flags, rpc::CsiServer::Options server,
                                   cacherim::Usage usage, std::unique_ptr<csi::LinuxMounts> mounts)
    : pages_{flags.pages},
      server_{std::move(server)},
      mounts_{std::move(mounts)},
      service_{withClock(flags.service(), clock_), std::move(usage), *mounts_, &pause_},
      driver_{service_,
              {.calls_metric = kCalls, .seconds_metric = kSeconds, .registered_metric = kRegistered},
              metrics_,
              clock_},
      page_{{.failure = [this] { return liveness(); },
             .readiness = [this] { return readiness(); },
             .state = [this] { return metricsText(); },
             .metrics = [] { return std::string{}; },
             .now = [this] { return clock_.now().mono; }}} {}

std::string CsiDriverProcess::liveness() const {
  const Status alive = service_.alive();
  return alive ? std::string{} : alive.error().message;
}

std::string CsiDriverProcess::metricsText() {
  if (const auto uses = service_.uses()) {
    metrics_.gauge(kVolumes, "Volumes with a cache mounted.").set(static_cast<double>(uses->size()));
  }
  return metrics_.text();
}

Readiness CsiDriverProcess::readiness() {
  Readiness out;
  const Status ready = service_.ready();
  out.need("folders", ready.has_value(), ready ? "" : ready.error().message);
  const bool is_registered = driver_.isRegistered();
  out.need("kubelet", is_registered,
           is_registered ? "has registered the driver" : "has not registered the driver yet");
  return out;
}

int CsiDriverProcess::run() {
  if (const Status started = service_.start(); !started) {
    log::error("cannot put in order what is mounted", {{"error", started.error().message}});
    return 1;
  }
  std::unique_ptr<net::HttpServer> pages;
  if (!pages_.empty()) {
    auto served = net::HttpServer::start({.address = pages_, .connection = {.request_timeout = 2s}},
                                         [this](const net::Request& request) { return page(request); });
    if (!served) {
      log::error("cannot serve health and metrics", {{"error", served.error().message}});
      return 1;
    }
    pages = *std::move(served);
  }
  std::atomic<bool> failed = false;
  server_.on_failure = [&failed](const Error&) {
    failed = true;
    process::askToStop();
  };
  const auto server = rpc::CsiServer::start(server_, driver_);
  if (!server) {
    log::error("cannot serve", {{"error", server.error().message}});
    return 1;
  }
  log::info("running", {{"driver", server_.driver},
                        {"version", server_.version},
                        {"node", server_.node_id},
                        {"socket", server_.socket},
                        {"pages", pages_}});
  signals_.wait();
  process::endSoon();
  (*server)->stop(kGraceOfCalls);
  if (pages) { pages->stop(); }
  log::info("stopped");
  return failed ? 1 : 0;
}

}  // namespace gs::serve
