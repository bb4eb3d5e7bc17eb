// /healthz, /readyz and /metrics of a scheduler: a Handler over questions to the machine's thread.
//   /healthz  200 while the owner thread answers within the time that `ask` waits, and has not failed for good; else 500
//   /readyz   200 when caches are synced, the token is valid, the leader lease can be read and written, and the lease namespace is settled; `?verbose` or a failure lists each check
//   /metrics  Prometheus text; devices by state and pending pods are counted when asked for
// Thread-safe as far as `ask`, `unauthorized` and `metrics` are.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/http_types.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {

class StatusPage {
 public:
  struct Wiring {
    /// Runs on the machine's thread; nullopt: it did not answer in time.
    std::function<std::optional<std::string>(std::function<std::string(const Scheduler&)>)> ask;
    std::function<bool()> unauthorized;
    std::function<std::string()> metrics;
    std::function<std::string()> election_trouble = nullptr;  // "" none; nullptr: no election
  };
  explicit StatusPage(Wiring wiring) : wiring_{std::move(wiring)} {}
  [[nodiscard]] net::Response answer(const net::Request& request) const;

 private:
  [[nodiscard]] net::Response ready(bool verbose) const;
  [[nodiscard]] net::Response health() const;
  [[nodiscard]] net::Response metrics() const;
  Wiring wiring_;
};

/// Gauges of the machine's state in Prometheus text: gpu_scheduler_devices{node,state}, scheduler_pending_pods{queue}, gpu_scheduler_leading.
[[nodiscard]] std::string stateMetrics(const Scheduler& scheduler);

}  // namespace gs::scheduler
