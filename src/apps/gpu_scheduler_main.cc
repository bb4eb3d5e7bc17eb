// gpu-scheduler: flags, wiring, run. The machine is scheduler/scheduler.h, its rim k8s/.
#include <CLI/CLI.hpp>

#include "base/log.h"
#include "extender/metrics.h"
#include "extender/status_page.h"
#include "k8s/host.h"
#include "k8s/kubeconfig.h"
#include "net/http_server.h"
#include "process/extender_flags.h"
#include "process/flags.h"
#include "process/process.h"
#include "process/quota.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler/status_page.h"
#include "serve/beside.h"
#include "serve/extender_server.h"
#include "serve/health_page.h"

namespace gs {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "gpu-scheduler";

struct Flags {
  std::string kubeconfig;
  std::string context;
  std::string metrics_address = "0.0.0.0:10259";
  std::string visible_devices = "ids";
  std::string log_level = "info";
  process::ElectionFlags election;
  std::size_t connections = 32;
  std::string quota_config;
  process::ExtenderFlags extender;
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
  app.add_option("--quota-config", f.quota_config,
                 "File that says where the quotas of GPUs are, and which node labels they mean; without it "
                 "nobody has a quota");
  app.add_option("--extender-address", f.extender.address,
                 "Serve kube-scheduler and Volcano as gpu-admission does, here; without it: no extender");
  process::addExtender(app, f.extender);
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
          {scheduler::kAdoptions, Kind::Counter, "Lease sets of an earlier leader taken over.", {}},
          {extender::kLateForeignBinds,
           Kind::Counter,
           "Pods that were bound after their GPU shares had been given up.",
           {}},
          {extender::kUncertainChoices,
           Kind::Counter,
           "GPU shares of gangs for which gpu-manager may pick another device.",
           {}}};
}

k8s::Host::Options hostOptions(const Flags& flags, std::optional<kapi::Election::Config> election) {
  return {.user_agent = process::userAgentOf(kName),
          .connections = flags.connections,
          .metrics = metricSpecs(),
          .election = std::move(election)};
}

/// The machine, its rim, and who asks it.
class Process {
 public:
  Process(const Flags& flags, k8s::Access access, std::optional<kapi::Election::Config> election, Rng rng)
      : identity_{election ? election->identity : ""},
        machine_{flags.scheduler, rng.split()},
        host_{std::move(access), hostOptions(flags, std::move(election)), rng.split()},
        page_{health()} {
    if (!flags.extender.address.empty()) { addExtender(flags, rng); }
  }

  int run(const Flags& flags, const process::StopSignals& signals) {
    auto page =
        net::HttpServer::start({.address = flags.metrics_address, .connection = {.request_timeout = 2s}},
                               [this](const net::Request& r) { return page_.answer(r); });
    if (!page) {
      log::error("cannot serve health and metrics", {{"error", page.error().message}});
      return 1;
    }
    if (server_) {
      if (const Status started = server_->start(process::extenderOptions(flags.extender)); !started) {
        log::error("cannot serve schedulers", {{"error", started.error().message}});
        return 1;
      }
    }
    host_.start(extender_ ? withExtender() : alone());
    log::info("running", {{"scheduler", flags.scheduler.scheduler_name},
                          {"server", host_.server()},
                          {"lease_namespace", flags.scheduler.lease_namespace},
                          {"health", (*page)->port()}});
    signals.wait();
    host_.stop(2s, [&] { return signals.again(); });  // a second signal ends the wait
    (*page)->stop();
    if (server_) { server_->stop(); }
    log::info("stopped");
    return 0;
  }

 private:
  k8s::Host::Machine alone() {
    return {
        .run = {.begin = [this](Now now) { return machine_.start(now); },
                .handle = [this](const k8s::Event& event, Now now) { return machine_.handle(event, now); }},
        .stop_taking = [this] { machine_.stopTaking(); },
        .under_way = [this] { return machine_.underWay(); }};
  }

  k8s::Host::Machine withExtender() {
    return {.run = {.begin = [this](Now now) { return extender_->start(now); },
                    .handle = [this](const k8s::Event& event,
                                     Now now) { return delivered(extender_->handle(event, now)); }},
            .stop_taking = [this] { extender_->stopTaking(); },
            .under_way = [this] { return extender_->underWay(); },
            .give_up =
                [this] {
                  extender_->giveUp();
                  static_cast<void>(delivered({}));
                }};
  }

  kapi::Effects delivered(kapi::Effects effects) {
    for (auto& [ticket, answer] : extender_->takeAnswers()) { server_->deliver(ticket, std::move(answer)); }
    return effects;
  }

  void addExtender(const Flags& flags, Rng& rng) {
    extender::Config config;
    config.strict = flags.extender.strict();
    config.instance = flags.scheduler.instance;
    extender_.emplace(machine_, std::move(config), rng.split());
    serve::ExtenderServer::Wiring wiring{
        .act = [this](auto action) { return host_.act(std::move(action)); },
        .ask = [this](extender::Ticket ticket, extender::Question question,
                      Now now) { return delivered(extender_->ask(ticket, std::move(question), now)); },
        .table = [this] { return extender_->table(); },
        .others = [this](const net::Request& r) { return page_.answer(r); },
        .leader = [this] { return host_.election().addressBut(identity_); }};
    server_.emplace(
        extender::Front::Config{process::versionOf(kName), *extender::volcanoRules(flags.extender.volcano)},
        std::move(wiring), serve::Forwarder{process::leaderTls(flags.extender)}, metrics_);
  }

  [[nodiscard]] std::string stateText() const {
    std::string text = scheduler::stateMetrics(machine_);
    if (extender_) { text += extender::stateMetrics(extender_->extender(), machine_.engine()); }
    return text;
  }

  serve::HealthPage::Wiring health() {
    return {.failure = [this] { return host_.ask([this] { return machine_.failure(); }); },
            .readiness = [this] { return host_.ask([this] { return scheduler::readinessText(machine_); }); },
            .state = [this] { return host_.ask([this] { return stateText(); }); },
            .unauthorized = [this] { return host_.unauthorized(); },
            .metrics = [this] { return metrics_.text() + host_.metricsText(); },
            .election = [this] { return host_.election(); },
            .now = [this] { return host_.now(); }};
  }

  const std::string identity_;
  Metrics metrics_;
  scheduler::Scheduler machine_;
  std::optional<serve::Beside> extender_;
  k8s::Host host_;
  serve::HealthPage page_;
  std::optional<serve::ExtenderServer> server_;
};

int run(int argc, char** argv) {
  process::keepMemorySmall();
  const process::StopSignals signals;
  Flags flags;
  flags.scheduler.lease_namespace.clear();
  CLI::App app{"Gives each pod exact GPUs: leases, Bindings, and the reason when it cannot.",
               "gpu-scheduler"};
  describe(app, flags);
  try {
    process::parse(app, {argv + 1, argv + argc});
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }
  log::setLevel(log::levelNamed(flags.log_level));
  auto access = k8s::loadAccess(flags.kubeconfig, flags.context, k8s::Surroundings::ofProcess());
  if (!access) {
    log::error("cannot reach a cluster", {{"error", access.error().message}});
    return 2;
  }
  if (flags.scheduler.lease_namespace.empty()) { flags.scheduler.lease_namespace = access->ns; }
  flags.scheduler.visible_uuids = flags.visible_devices == "uuid";
  flags.scheduler.instance = flags.scheduler.scheduler_name + "-" + process::hostName();
  if (!flags.extender.address.empty()) {
    flags.election.config.address = process::advertised(flags.extender);
  }
  flags.election.config.scheduler = flags.scheduler.scheduler_name;
  const Status fine = process::checkExtender(flags.extender);
  auto quota = process::readQuotaConfig(flags.quota_config);
  auto election =
      process::electionOf(flags.election, {flags.scheduler.lease_namespace, scheduler::kLeaderLease});
  const auto wrong = [](const Error& error) {
    log::error(error.message);
    return 2;
  };
  if (!fine) { return wrong(fine.error()); }
  if (!quota) { return wrong(quota.error()); }
  if (!election) { return wrong(election.error()); }
  flags.scheduler.quota = *std::move(quota);
  Process process{flags, *std::move(access), *std::move(election), process::randomSeed()};
  return process.run(flags, signals);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
