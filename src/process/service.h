// Service: what runs the machine of a program against an API server until it is told to end: access, leader
// election, the pages of health and metrics, signals, and the end that lets what was decided come to its end.
// Knows no component: a program gives its machine as functions, and its servers as Endpoints.
//
// main() makes it before any thread, and everything that it is given lives as long as run() does.
// run() returns when
//   - SIGTERM or SIGINT came: nothing new is decided; what was decided has 2 s, a second signal cuts that
//     short; the leader lease is given back. What hangs for 5 s is cut off (SIGALRM). 0.
//   - an address cannot be served: 1, and nothing was begun.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/machine.h"
#include "k8s/host.h"
#include "net/http_server.h"
#include "process/flags.h"
#include "process/health_page.h"
#include "process/process.h"
#include "process/program.h"

namespace gs::process {

/// What is run. machineOf() makes it of a machine; what it says of itself is added by who knows it.
struct Machine {
  using Text = std::function<std::string()>;  // asked on the machine's thread
  k8s::Host::Machine run;
  Text failure;                          // why it can do nothing more and must be restarted; "" it can
  std::function<Readiness()> readiness;  // asked there too
  Text state;                            // Prometheus text of what it is now
  std::map<std::string, Text> pages{};   // by path: for whoever debugs
};

/// It must outlive what is made.
template <controller::Machine Of>
[[nodiscard]] Machine machineOf(Of& machine) {
  return {.run = {.run = {.begin = [&machine](Now now) { return machine.start(now); },
                          .handle = [&machine](const k8s::Event& event,
                                               Now now) { return machine.handle(event, now); }},
                  .stop_taking = [&machine] { machine.stopTaking(); },
                  .under_way = [&machine] { return machine.underWay(); }},
          .failure = [&machine] { return machine.failure(); },
          .readiness = [&machine] { return machine.readiness(); },
          .state = {}};
}

/// A server of the program's own, beside the pages.
struct Endpoint {
  std::string serves;  // "schedulers": for the message when it cannot start
  std::function<Status()> start;
  std::function<void()> stop;
};

class Service {
 public:
  struct Options {
    ClusterFlags cluster{};
    std::optional<ElectionFlags> election{};  // nullopt: this process leads from the start, for ever
    std::string pages;                        // address of health and metrics; "": none
    bool goes_on_without_pages = false;       // another process may have the port
    std::vector<k8s::MetricSpec> metrics{};   // that the machine counts
    std::string service{};                    // as in HealthPage
    std::string standalone_gauge{};           // as in HealthPage
    std::vector<log::Field> said{};           // at the start, beside the flags: where quotas come from, say
  };

  /// Finds the cluster. Errors are loadAccessTo()'s and electionOf()'s. `program` must outlive it.
  static Result<std::unique_ptr<Service>> make(const Program& program, Options options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Where our leases are: --lease-namespace, or our own.
  [[nodiscard]] const std::string& leaseNamespace() const { return lease_namespace_; }
  /// For a machine; another one each time.
  [[nodiscard]] Rng rng() { return rng_.split(); }
  [[nodiscard]] Metrics& metrics() { return metrics_; }
  [[nodiscard]] std::string version() const { return versionOf(program_.name()); }
  /// The machine's thread, for servers: any thread may act and ask.
  [[nodiscard]] k8s::Host& host() { return *host_; }
  /// Where the replica listens that leads in our place; "" when we do, or nobody knows. Any thread.
  [[nodiscard]] std::string leaderElsewhere() const { return host_->election().addressBut(identity_); }
  /// The pages of health, for servers that show them too. Any thread, while it runs.
  [[nodiscard]] net::Response page(const net::Request& request) const { return page_->answer(request); }

  int run(Machine machine, const std::vector<Endpoint>& endpoints = {});

 private:
  using Server = std::unique_ptr<net::HttpServer>;
  Service(const Program& program, Options options, k8s::Access access,
          std::optional<controller::Election::Config> election);
  HealthPage::Wiring pages(const Machine& machine);
  [[nodiscard]] Result<Server> servePages();
  [[nodiscard]] bool startAll(const std::vector<Endpoint>& endpoints) const;
  void sayRunning(const Server& pages) const;

  const StopSignals signals_;  // first: threads inherit what they block
  const Program& program_;
  const Options options_;
  const std::string identity_;
  const std::string lease_namespace_;
  Rng rng_ = randomSeed();
  Metrics metrics_;
  std::unique_ptr<k8s::Host> host_;
  std::optional<HealthPage> page_;
};

}  // namespace gs::process
