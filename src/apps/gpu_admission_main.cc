// gpu-admission: the extender alone. Flags (every one that its ancestors had), wiring, run. The machine is extender/alone.h,
// its rim k8s/ and serve/.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/log.h"
#include "extender/alone.h"
#include "extender/metrics.h"
#include "extender/status_page.h"
#include "k8s/files.h"
#include "k8s/host.h"
#include "k8s/kubeconfig.h"
#include "process/extender_flags.h"
#include "process/flags.h"
#include "process/klog_flags.h"
#include "process/process.h"
#include "process/quota.h"
#include "serve/extender_server.h"
#include "serve/health_page.h"

namespace gs {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "gpu-admission";
constexpr const char* kLeaderLease = "extender.gpu.scheduling";

struct Flags {
  std::string debug_address = "127.0.0.1:3457";
  std::string kubeconfig;
  std::string context;
  std::string master;
  std::string config;
  bool in_cluster = false;
  bool version = false;
  process::KlogFlags klog;
  // Ours
  std::string lease_namespace;
  std::size_t connections = 32;
  process::ExtenderFlags extender;
  process::ElectionFlags election;
};

void describe(CLI::App& app, Flags& f) {
  app.add_option("--address", f.extender.address, "The address it listens on")->capture_default_str();
  app.add_option("--pprofAddress", f.debug_address,
                 "The address of /debug/ledger, /metrics, /healthz and /readyz; \"\" none")
      ->capture_default_str();
  app.add_option("--kubeconfig", f.kubeconfig,
                 "Path of a kubeconfig; without it KUBECONFIG, the pod's service account, ~/.kube/config");
  app.add_option("--context", f.context, "Context of the kubeconfig; without it the current one");
  app.add_option("--master", f.master, "Address of the API server, in place of the kubeconfig's");
  app.add_option("--config", f.config,
                 "File that says where the quotas of GPUs are, and which node labels they mean; without it "
                 "nobody has a quota");
  app.add_flag("--incluster-mode", f.in_cluster, "Use the pod's service account");
  process::addVersion(app, f.version);
  process::addKlog(app, f.klog);
  process::addExtender(app, f.extender);
  app.add_option("--lease-namespace", f.lease_namespace,
                 "Namespace of the leader lease; default: that of the pod or of the kubeconfig");
  app.add_option("--connections", f.connections, "Connections to the API server for calls")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  process::addElection(app, f.election);
}

Result<extender::Config> machineConfig(const Flags& f) {
  auto quota = process::readQuotaConfig(f.config);
  if (!quota) { return tl::unexpected(quota.error()); }
  extender::Config config;
  config.strict = f.extender.strict();
  config.instance = "gpu-admission-" + process::hostName();
  config.quota = *std::move(quota);
  return config;
}

Result<k8s::Access> accessOf(const Flags& f) {
  const auto surroundings = k8s::Surroundings::ofProcess();
  return f.in_cluster ? k8s::inClusterAccess(surroundings)
                      : k8s::loadAccessTo(f.master, f.kubeconfig, f.context, surroundings);
}

k8s::Host::Options hostOptions(const Flags& f, std::optional<kapi::Election::Config> election) {
  return {.user_agent = process::userAgentOf(kName),
          .connections = f.connections,
          .metrics = {{extender::kLateForeignBinds,
                       k8s::MetricKind::Counter,
                       "Pods that were bound after their GPU shares had been given up.",
                       {}},
                      {extender::kUncertainChoices,
                       k8s::MetricKind::Counter,
                       "GPU shares of gangs for which gpu-manager may pick another device.",
                       {}}},
          .election = std::move(election)};
}

/// The machine, its rim, and who asks it.
class Process {
 public:
  Process(const Flags& flags, extender::Config config, k8s::Access access,
          std::optional<kapi::Election::Config> election, Rng rng)
      : identity_{election ? election->identity : ""},
        machine_{std::move(config), rng.split()},
        host_{std::move(access), hostOptions(flags, std::move(election)), rng.split()},
        page_{health()},
        server_{{process::versionOf(kName), *extender::volcanoRules(flags.extender.volcano)},
                wiring(),
                serve::Forwarder{process::leaderTls(flags.extender)},
                metrics_} {}

  int run(const Flags& flags, const process::StopSignals& signals) {
    if (const Status started = server_.start(process::extenderOptions(flags.extender)); !started) {
      log::error("cannot serve schedulers", {{"error", started.error().message}});
      return 1;
    }
    const auto debug = serveDebug(flags.debug_address);
    host_.start(machine());
    log::info("running", {{"address", flags.extender.address}, {"server", host_.server()}});
    signals.wait();
    host_.stop(2s, [&] { return signals.again(); });  // a second signal ends the wait
    server_.stop();
    if (debug) { (*debug)->stop(); }
    log::info("stopped");
    return 0;
  }

 private:
  kapi::Effects delivered(kapi::Effects effects) {
    for (auto& [ticket, answer] : machine_.takeAnswers()) { server_.deliver(ticket, std::move(answer)); }
    return effects;
  }

  k8s::Host::Machine machine() {
    return {.run = {.begin = [this](Now now) { return machine_.start(now); },
                    .handle = [this](const k8s::Event& event,
                                     Now now) { return delivered(machine_.handle(event, now)); }},
            .stop_taking = [this] { machine_.stopTaking(); },
            .under_way = [this] { return machine_.underWay(); },
            .give_up =
                [this] {
                  machine_.giveUp();
                  static_cast<void>(delivered({}));
                }};
  }

  serve::ExtenderServer::Wiring wiring() {
    return {.act = [this](auto action) { return host_.act(std::move(action)); },
            .ask = [this](extender::Ticket ticket, extender::Question question,
                          Now now) { return delivered(machine_.ask(ticket, std::move(question), now)); },
            .table = [this] { return machine_.table(); },
            .others = [this](const net::Request& r) { return page_.answer(r); },
            .leader = [this] { return host_.election().addressBut(identity_); }};
  }

  serve::HealthPage::Wiring health() {
    return {.failure = [this] { return host_.ask([this] { return machine_.failure(); }); },
            .readiness = [this] { return host_.ask([this] { return extender::readinessText(machine_); }); },
            .state =
                [this] {
                  return host_.ask(
                      [this] { return extender::stateMetrics(machine_.extender(), machine_.engine()); });
                },
            .unauthorized = [this] { return host_.unauthorized(); },
            .metrics = [this] { return metrics_.text() + host_.metricsText(); },
            .election = [this] { return host_.election(); },
            .now = [this] { return host_.now(); },
            .alone_gauge = extender::kAlone};
  }

  /// What was decided for which node, for whoever debugs.
  net::Response debug(const net::Request& request) {
    if (request.path() != "/debug/ledger") { return page_.answer(request); }
    const auto dump = host_.ask([this] { return machine_.engine().ledger().dump(); });
    return dump ? net::textResponse(200, *dump)
                : net::textResponse(500, "the owner thread does not answer\n");
  }

  /// Without it everything else goes on: another process may have the port.
  std::optional<std::unique_ptr<net::HttpServer>> serveDebug(const std::string& address) {
    if (address.empty()) { return std::nullopt; }
    auto server =
        net::HttpServer::start({.address = address}, [this](const net::Request& r) { return debug(r); });
    if (server) { return *std::move(server); }
    log::warn("no debug endpoints", {{"address", address}, {"error", server.error().message}});
    return std::nullopt;
  }

  const std::string identity_;
  Metrics metrics_;
  extender::Alone machine_;
  k8s::Host host_;
  serve::HealthPage page_;
  serve::ExtenderServer server_;
};

/// What was parsed, checked and looked up.
int runWith(Flags& flags, const process::StopSignals& signals) {
  const auto wrong = [](const Error& error) {
    log::error(error.message);
    return 2;
  };
  if (const Status fine = process::checkExtender(flags.extender); !fine) { return wrong(fine.error()); }
  auto config = machineConfig(flags);
  if (!config) { return wrong(config.error()); }
  auto access = accessOf(flags);
  if (!access) { return wrong(access.error()); }
  flags.election.config.address = process::advertised(flags.extender);
  flags.election.config.alone_when_forbidden = true;
  const std::string ns = flags.lease_namespace.empty() ? access->ns : flags.lease_namespace;
  auto election = process::electionOf(flags.election, {ns, kLeaderLease});
  if (!election) { return wrong(election.error()); }
  Process process{flags, *std::move(config), *std::move(access), *std::move(election), process::randomSeed()};
  return process.run(flags, signals);
}

int run(int argc, char** argv) {
  process::keepMemoryOfRequests(4 << 20);
  const process::StopSignals signals;
  Flags flags;
  flags.extender.address = "127.0.0.1:3456";
  CLI::App app{"Scheduler extender for shares of GPUs (gpu-manager), with quotas by GPU model.",
               "gpu-admission"};
  describe(app, flags);
  try {
    process::parse(app, process::asPflag({argv + 1, argv + argc}));
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }
  if (flags.version) {
    std::puts(process::versionOf(kName).c_str());
    return 0;
  }
  process::useKlog(flags.klog);
  return runWith(flags, signals);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
