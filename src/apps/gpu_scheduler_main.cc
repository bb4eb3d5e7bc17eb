// gpu-scheduler: flags, wiring, run. The machine is scheduler/scheduler.h, its rim k8s/.
#include <CLI/CLI.hpp>

#include "base/log.h"
#include "k8s/host.h"
#include "k8s/kubeconfig.h"
#include "net/http_server.h"
#include "process/flags.h"
#include "process/process.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler/status_page.h"
#include "serve/health_page.h"

namespace gs {
namespace {

using namespace std::chrono_literals;

struct Flags {
  std::string kubeconfig;
  std::string context;
  std::string metrics_address = "0.0.0.0:10259";
  std::string visible_devices = "ids";
  std::string log_level = "info";
  process::ElectionFlags election;
  std::size_t connections = 32;
  scheduler::Config scheduler;
};

void describe(CLI::App& app, Flags& f) {
  app.add_option("--kubeconfig", f.kubeconfig,
                 "Path of a kubeconfig; without it KUBECONFIG, the pod's service account, ~/.kube/config");
  app.add_option("--context", f.context, "Context of the kubeconfig; without it the current one");
  app.add_option("--scheduler-name", f.scheduler.scheduler_name, "Pods with this spec.schedulerName are ours")
      ->capture_default_str();
  app.add_option("--lease-namespace", f.scheduler.lease_namespace,
                 "Namespace of all GPU leases and of the leader lease; default: our own");
  app.add_option("--visible-devices", f.visible_devices,
                 "What gpu.scheduling/visible-devices holds: ids or uuid")
      ->check(CLI::IsMember({"ids", "uuid"}))
      ->capture_default_str();
  app.add_option("--max-sharers", f.scheduler.max_sharers, "Pods that may share one GPU of Shared claims")
      ->check(CLI::Range(std::size_t{1}, model::kMaxSharers))
      ->capture_default_str();
  app.add_option("--metrics-address,--bind-address", f.metrics_address,
                 "Address of /healthz, /readyz and /metrics")
      ->capture_default_str();
  app.add_option("--connections", f.connections, "Connections to the API server for calls")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  process::addElection(app, f.election);
  app.add_option("--log-level", f.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

/// Metrics that the machine gives as effects; kube-scheduler's buckets for its histogram.
std::vector<k8s::MetricSpec> metricSpecs() {
  using Kind = k8s::MetricKind;
  return {{scheduler::kScheduleAttempts, Kind::Counter, "Attempts to place a pod, by result.", {}},
          {scheduler::kSchedulingSli,
           Kind::Histogram,
           "Seconds from first seeing a pod to its Binding.",
           {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
            327.68}},
          {scheduler::kFences, Kind::Counter, "Fences written to pods, by why.", {}},
          {scheduler::kAdoptions, Kind::Counter, "Lease sets of an earlier leader taken over.", {}}};
}

k8s::Host::Options hostOptions(const Flags& flags, std::optional<kapi::Election::Config> election) {
  return {.user_agent = "gpu-scheduler/0.1",
          .connections = flags.connections,
          .metrics = metricSpecs(),
          .election = std::move(election)};
}

int runMachine(const Flags& flags, k8s::Access access, std::optional<kapi::Election::Config> election,
               const process::StopSignals& signals) {
  Rng rng = process::randomSeed();
  scheduler::Scheduler machine{flags.scheduler, rng.split()};
  k8s::Host host{std::move(access), hostOptions(flags, std::move(election)), rng.split()};
  const serve::HealthPage page{
      {.failure = [&] { return host.ask([&machine] { return machine.failure(); }); },
       .readiness = [&] { return host.ask([&machine] { return scheduler::readinessText(machine); }); },
       .state = [&] { return host.ask([&machine] { return scheduler::stateMetrics(machine); }); },
       .unauthorized = [&] { return host.unauthorized(); },
       .metrics = [&] { return host.metricsText(); },
       .election = [&] { return host.election(); }}};
  auto server =
      net::HttpServer::start({.address = flags.metrics_address, .connection = {.request_timeout = 2s}},
                             [&page](const net::Request& r) { return page.answer(r); });
  if (!server) {
    log::error("cannot serve health and metrics", {{"error", server.error().message}});
    return 1;
  }
  host.start({.run = {.begin = [&](Now now) { return machine.start(now); },
                      .handle = [&](const k8s::Event& event, Now now) { return machine.handle(event, now); }},
              .stop_taking = [&] { machine.stopTaking(); },
              .under_way = [&] { return machine.underWay(); }});
  log::info("running", {{"scheduler", flags.scheduler.scheduler_name},
                        {"server", host.server()},
                        {"lease_namespace", flags.scheduler.lease_namespace},
                        {"health", (*server)->port()}});
  signals.wait();
  host.stop(2s, [&] { return signals.again(); });  // a second signal ends the wait
  (*server)->stop();
  log::info("stopped");
  return 0;
}

int run(int argc, char** argv) {
  process::keepMemorySmall();
  const process::StopSignals signals;
  Flags flags;
  flags.scheduler.lease_namespace.clear();
  CLI::App app{"Gives each pod exact GPUs: leases, Bindings, and the reason when it cannot.",
               "gpu-scheduler"};
  describe(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }
  log::setLevel(log::levelNamed(flags.log_level));
  auto access = k8s::loadAccess(flags.kubeconfig, flags.context, k8s::Surroundings::ofProcess());
  if (!access) {
    log::error("cannot reach a cluster", {{"error", access.error().message}});
    return 2;
  }
  if (flags.scheduler.lease_namespace.empty()) { flags.scheduler.lease_namespace = access->ns; }
  flags.scheduler.visible_uuids = flags.visible_devices == "uuid";
  auto election =
      process::electionOf(flags.election, {flags.scheduler.lease_namespace, scheduler::kLeaderLease});
  if (!election) {
    log::error(election.error().message);
    return 2;
  }
  flags.scheduler.instance = flags.scheduler.scheduler_name + "-" + process::hostName();
  return runMachine(flags, *std::move(access), *std::move(election), signals);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
