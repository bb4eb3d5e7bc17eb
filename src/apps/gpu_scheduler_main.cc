// gpu-scheduler: flags, wiring, run. The machine is scheduler/scheduler.h, its rim k8s/.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <random>

#include "base/log.h"
#include "base/metrics.h"
#include "base/system_clock.h"
#include "k8s/api.h"
#include "k8s/effect_runner.h"
#include "k8s/election_thread.h"
#include "k8s/kubeconfig.h"
#include "net/http_server.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler/status_page.h"

namespace gs {
namespace {

using namespace std::chrono_literals;

struct Flags {
  std::string kubeconfig;
  std::string context;
  std::string metrics_address = "0.0.0.0:10259";
  std::string visible_devices = "ids";
  std::string log_level = "info";
  std::string identity;
  bool leader_elect = true;
  Duration lease_duration = 5s;
  Duration renew_deadline = 3s;
  Duration retry_period = 500ms;
  std::size_t connections = 32;
  scheduler::Config scheduler;
};

constexpr double kMaxFlagDuration = 24 * 3600e9;  // ns

/// "5s", "500ms", "1m30s" as Go writes durations.
Duration parseDuration(const std::string& text) {
  Duration total{};
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t used = 0;
    const double n = std::stod(text.substr(at), &used);
    const std::string unit = text.substr(at + used, text.find_first_of("0123456789.", at + used) - at - used);
    const double scale = unit == "ms"  ? 1e6
                         : unit == "s" ? 1e9
                         : unit == "m" ? 60e9
                         : unit == "h" ? 3600e9
                                       : -1;
    if (scale < 0 || n < 0) {
      throw CLI::ValidationError("duration", "'" + text + "' is not a duration; write such as 5s or 500ms");
    }
    const double ns = n * scale;
    if (!(ns <= kMaxFlagDuration)) { throw CLI::ValidationError("duration", "'" + text + "' is over a day"); }
    total += Duration{static_cast<Duration::rep>(ns)};
    at += used + unit.size();
  }
  if (total <= Duration::zero()) {
    throw CLI::ValidationError("duration", "'" + text + "' is no time at all");
  }
  return total;
}

void addDuration(CLI::App& app, const char* name, Duration& into, const char* help) {
  app.add_option_function<std::string>(
      name,
      [&into, name](const std::string& text) {
        try {
          into = parseDuration(text);
        } catch (const std::logic_error&) {
          throw CLI::ValidationError(name, "'" + text + "' is not a duration; write such as 5s or 500ms");
        }
      },
      help);
}

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
  app.add_option("--identity", f.identity, "Name in the leader lease; default: host name and a random part");
  app.add_flag("--leader-elect,!--no-leader-elect", f.leader_elect,
               "Decide only while holding the leader lease");
  addDuration(app, "--leader-elect-lease-duration", f.lease_duration,
              "How long others wait for a silent leader (5s)");
  addDuration(app, "--leader-elect-renew-deadline", f.renew_deadline,
              "A leader that could not renew for so long stops writing (3s)");
  addDuration(app, "--leader-elect-retry-period", f.retry_period,
              "Between two tries to take or renew the lease (500ms)");
  app.add_option("--log-level", f.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "unknown";
}

Rng randomSeed() {
  std::random_device device;
  return Rng{(std::uint64_t{device()} << 32U) ^ device()};
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

/// Without an election this process leads from the start, for ever.
void leadAlone(k8s::LeaderGate& gate, k8s::OwnerLoop& loop) {
  const kapi::Leadership always{true, 1, Mono::max()};
  gate.set(always);
  loop.postLeadership(always);
}

/// No new decisions, but what was decided comes to its end (leases, Bindings, their events), for at most `limit`. A second
/// signal ends the wait.
void finishWhatIsUnderWay(scheduler::Scheduler& machine, k8s::OwnerLoop& loop,
                          const k8s::EffectRunner& runner, const Clock& clock, const sigset_t& signals,
                          Duration limit) {
  constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 10'000'000};
  const Mono end = clock.now().mono + limit;
  loop.ask([&machine] { machine.stopTaking(); });
  do {
    const auto under_way = loop.answer([&machine] { return machine.underWay(); }, 500ms);
    if (under_way && !*under_way && runner.openCalls() == 0) { return; }
  } while (clock.now().mono < end && sigtimedwait(&signals, nullptr, &kLook) < 0);
}

int serve(const Flags& flags, k8s::Access access, sigset_t& signals) {
  const SystemClock clock;
  k8s::Api api{std::move(access), "gpu-scheduler/0.1", clock};
  Rng rng = randomSeed();
  Metrics metrics;
  k8s::MetricSink sink{metrics, metricSpecs()};
  k8s::LeaderGate gate;
  scheduler::Scheduler machine{flags.scheduler, rng.split()};
  k8s::OwnerLoop loop{clock};
  const auto connect = [&api] { return api.connect(); };
  k8s::EffectRunner runner{{connect, loop, clock, &gate, &sink, {flags.connections, "call"}}};
  std::atomic<const k8s::ElectionThread*> electing = nullptr;
  scheduler::StatusPage page{
      {.ask =
           [&](auto question) { return loop.answer([&machine, question] { return question(machine); }, 2s); },
       .unauthorized = [&] { return api.health().state().unauthorized; },
       .metrics = [&] { return metrics.text(); },
       .election_trouble =
           [&] {
             const auto* thread = electing.load();
             return thread == nullptr ? std::string{} : thread->trouble();
           }}};
  // Slow peers must not keep a kubelet's probe waiting.
  auto server =
      net::HttpServer::start({.address = flags.metrics_address, .request_timeout = 2s, .max_workers = 16},
                             [&page](const net::Request& r) { return page.answer(r); });
  if (!server) {
    log::error("cannot serve health and metrics", {{"error", server.error().message}});
    return 1;
  }
  loop.start({[&](Now now) { return machine.start(now); },
              [&](const k8s::Event& event, Now now) { return machine.handle(event, now); }},
             [&](kapi::Effects effects, std::uint64_t term) { runner.submit(std::move(effects), term); });
  std::optional<k8s::ElectionThread> election;
  if (flags.leader_elect) {
    kapi::Election::Config config;
    config.lease = {flags.scheduler.lease_namespace, scheduler::kLeaderLease};
    config.identity = flags.identity.empty() ? hostName() + "_" + rng.uuid() : flags.identity;
    config.lease_duration = flags.lease_duration;
    config.renew_deadline = flags.renew_deadline;
    config.retry_period = flags.retry_period;
    election.emplace(kapi::Election{config, rng.split()},
                     k8s::ElectionThread::Wiring{connect, loop, gate, clock});
    electing = &*election;
  } else {
    leadAlone(gate, loop);
  }
  log::info("running", {{"scheduler", flags.scheduler.scheduler_name},
                        {"server", api.access().server},
                        {"lease_namespace", flags.scheduler.lease_namespace},
                        {"health", (*server)->port()}});
  int signal = 0;
  sigwait(&signals, &signal);
  log::info("stopping", {{"signal", signal}});
  alarm(5);  // what hangs now is not waited for
  finishWhatIsUnderWay(machine, loop, runner, clock, signals, 2s);
  runner.drain(300ms);
  if (election) { election->stop(1s); }
  (*server)->stop();
  loop.stop();
  log::info("stopped");
  return 0;
}

int run(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: they all inherit it
  Flags flags;
  flags.scheduler.lease_namespace.clear();
  CLI::App app{"Gives each pod exact GPUs: leases, Bindings, and the reason when it cannot.",
               "gpu-scheduler"};
  describe(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }
  log::setLevel(log::levelNamed(flags.log_level));
  if (!(flags.retry_period < flags.renew_deadline && flags.renew_deadline < flags.lease_duration)) {
    log::error(
        "--leader-elect-retry-period < --leader-elect-renew-deadline < --leader-elect-lease-duration must "
        "hold");
    return 2;
  }
  auto access = k8s::loadAccess(flags.kubeconfig, flags.context, k8s::Surroundings::ofProcess());
  if (!access) {
    log::error("cannot reach a cluster", {{"error", access.error().message}});
    return 2;
  }
  if (flags.scheduler.lease_namespace.empty()) { flags.scheduler.lease_namespace = access->ns; }
  flags.scheduler.visible_uuids = flags.visible_devices == "uuid";
  flags.scheduler.instance = flags.scheduler.scheduler_name + "-" + hostName();
  return serve(flags, *std::move(access), signals);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
