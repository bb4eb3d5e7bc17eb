// /healthz, /readyz and /metrics of a process with one machine:
// a Handler over queries to the machine's thread.
//   /healthz  200 while the owner thread answers in time and has not failed for good; else 500
//   /readyz   200 when the machine is ready, the token is valid, and the leader lease can be read and written
//             or is done without; `?verbose` or a failure lists each check
//   /metrics  Prometheus text; the machine's state is counted when asked for, once a second at most:
//             whoever asks again and again must not keep the machine's thread
//   /health, /ready  the same two in a line of JSON, as the map scheduler had them, of a program that has a
//             name there: {"service":"gpu-scheduler","status":"healthy"}; without a line break
//   others    text for whoever debugs, as the program has it
// Thread-safe as far as what it is wired to is.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/readiness.h"
#include "k8s/election_thread.h"
#include "net/http_types.h"

namespace gs::process {

class HealthPage {
 public:
  /// Of the machine's thread; nullopt: it did not answer in time.
  using Ask = std::function<std::optional<std::string>()>;
  struct Wiring {
    Ask failure;                                            // "" none
    std::function<std::optional<Readiness>()> readiness;    // as Ask
    Ask state;                                              // metrics
    std::function<bool()> unauthorized{};                   // none: it has no token
    std::function<std::string()> metrics;                   // that were counted
    std::function<k8s::ElectionThread::View()> election{};  // none: it has no lease
    std::function<Mono()> now;                              // of a clock that every thread may ask
    std::string service{};           // its name at /health and /ready; "": they are not served
    std::string standalone_gauge{};  // name of the gauge that is 1 while it leads without the lease; "" none
    std::map<std::string, Ask> others{};  // by path: text for whoever debugs
  };
  explicit HealthPage(Wiring wiring) : wiring_{std::move(wiring)} {}
  [[nodiscard]] net::Response answer(const net::Request& request) const;
  /// Of the paths above, but those for whoever debugs: these may be asked where anybody can.
  [[nodiscard]] static bool isHealth(std::string_view path);

 private:
  [[nodiscard]] net::Response ready(bool verbose) const;
  [[nodiscard]] net::Response inJson(int status, const char* good, const char* bad) const;
  [[nodiscard]] net::Response health() const;
  [[nodiscard]] net::Response metrics() const;
  [[nodiscard]] std::optional<std::string> state() const GS_EXCLUDES(mutex_);
  Wiring wiring_;
  mutable Mutex mutex_;
  mutable std::optional<std::string> state_ GS_GUARDED_BY(mutex_);
  mutable Mono state_until_ GS_GUARDED_BY(mutex_){};
};

}  // namespace gs::process
