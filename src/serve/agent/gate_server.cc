#include "serve/agent/gate_server.h"

#include <fmt/format.h>

#include <utility>

#include "base/clean_path.h"
#include "base/log.h"
#include "model/gate.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

/// Of what is under way, a clean-up of a pod's folder at the most: calls that wait end at once.
constexpr Duration kGateGrace = 1s;
/// Those that wait, and as many more: pods end while others wait.
constexpr std::size_t kMostGateCalls = 2 * csi::Gate::kMostWaiting;

/// `call`: publish, unpublish, stats. `result`: ok, invalid, not_found, failed_precondition, unavailable,
/// deadline, internal. A publish that is not ok is a pod that was not let start yet.
constexpr const char* kGateCalls = "gpu_scheduler_agent_gate_calls_total";
/// `call`: publish, unpublish, stats. Of a publish: how long a pod waited at its gate.
constexpr const char* kGateSeconds = "gpu_scheduler_agent_gate_call_seconds";
constexpr const char* kGateRegistered = "gpu_scheduler_agent_gate_registered";

}  // namespace

GateServer::GateServer(Options options, csi::Gate::MayStart may_start, Metrics& metrics, const Clock& clock)
    : options_{std::move(options)},
      gate_{{.target_root = options_.kubelet + "/pods", .patience = options_.patience},
            std::move(may_start),
            clock},
      driver_{
          gate_,
          {.calls_metric = kGateCalls, .seconds_metric = kGateSeconds, .registered_metric = kGateRegistered},
          metrics,
          clock} {}

Status GateServer::start() {
  if (!isCleanPath(options_.kubelet)) {
    return fail(Code::Invalid,
                fmt::format("--kubelet-dir={} is not an absolute path without '..', '.', '//' and '/' at its "
                            "end: write /var/lib/kubelet, say",
                            options_.kubelet));
  }
  auto served = rpc::CsiServer::start(
      {.socket = fmt::format("{}/plugins_registry/{}-reg.sock", options_.kubelet, model::kGateDriver),
       .driver = model::kGateDriver,
       .version = options_.version,
       .node_id = options_.node,
       .most_calls = kMostGateCalls,
       .on_failure = options_.on_failure},
      driver_);
  if (!served) { return tl::unexpected(served.error()); }
  server_ = *std::move(served);
  log::info("the gate of pods with GPUs is served",
            {{"driver", model::kGateDriver}, {"kubelet", options_.kubelet}});
  return {};
}

void GateServer::stop() {
  if (server_ == nullptr) { return; }
  server_->stop(kGateGrace);
  server_.reset();
}

}  // namespace gs::serve
