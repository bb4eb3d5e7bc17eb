// gpu-scheduler: its flags, its types, and how they are wired (scheduler/scheduler.h, process/service.h).
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "scheduler/scheduler.h"
#include "scheduler/status_page.h"
#include "serve/combined/combined.h"
#include "serve/combined/metric_specs.h"
#include "serve/crds/crds.h"
#include "serve/extender/endpoint.h"
#include "serve/extender/quota.h"
#include "serve/scheduler/default_spread.h"
#include "serve/scheduler/drivers.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster;
  process::ElectionFlags election;
  process::LogFlags log;
  std::string pages = "0.0.0.0:10259";
  std::string visible_devices = "ids";
  std::string quota_file;
  std::string driver_file;
  std::string default_spread;
  serve::OfferFlags offers;
  serve::ExtenderFlags extender;
  scheduler::Config scheduler;
};

void describe(process::Command program, Flags& f) {
  program.topic("Scheduling")
      .name("--scheduler-name", f.scheduler.scheduler_name, "Pods with this spec.schedulerName are ours")
      .choice("--visible-devices", {"ids", "uuid"}, f.visible_devices,
              "What the annotation gpu.scheduling/visible-devices holds")
      .flag("--require-injection", f.scheduler.requires_injection,
            "Pods of claims and maps wait while a container is not told its GPUs (the webhook sees to that)")
      .number("--max-sharers", "N", std::size_t{1}, model::kMaxSharers, f.scheduler.max_sharers,
              "Pods on one GPU of Shared claims and of maps")
      .number("--kernel-cache-weight", "N", 0, scheduler::kMostCacheWeight, f.scheduler.cache_weight,
              "Prefer nodes that have a pod's kernel caches: all of them count as N free GPUs fewer")
      .text("--quota-config", "FILE", f.quota_file,
            "Says where the quotas of GPUs are, and which node labels they mean; without it nobody has one")
      .text("--dra-drivers", "FILE", f.driver_file, "More DRA drivers whose devices are GPUs; YAML or JSON")
      .text("--default-spread-constraints", "LIST", f.default_spread, "Spread for pods that ask for none");
  process::addCluster(program, f.cluster);
  process::addElection(program, f.election, "Namespace of all GPU leases and of the leader lease");
  serve::addExtender(program, f.extender, "--extender-address",
                     "Serve kube-scheduler and Volcano there, as gpu-admission does; without it nowhere");
  serve::addOffers(program, f.offers);
  program.topic("Health").text("--metrics-address,--bind-address", "HOST:PORT", f.pages,
                               "Address of /healthz, /readyz and /metrics");
  process::addLog(program, f.log);
}

int schedule(process::Service& service, scheduler::Scheduler& machine) {
  process::Machine run = process::machineOf(machine);
  run.state = [&machine] { return scheduler::stateMetrics(machine); };
  return service.run(std::move(run));
}

int scheduleAndAnswer(process::Service& service, scheduler::Scheduler& machine, const Flags& f) {
  extender::Config config;
  config.strict = f.extender.strict();
  config.instance = f.scheduler.instance;
  serve::Combined both{machine, config, service.rng()};
  serve::ExtenderEndpoint endpoint{service, both, f.extender, serve::offeredTo(f.offers)};
  process::Machine run = endpoint.machine();
  run.state = [&both] { return serve::stateMetrics(both); };
  return service.run(std::move(run), {endpoint.endpoint()});
}

int run(const process::Program& program, Flags& f) {
  process::useLog(f.log);
  Status fine = f.extender.check();
  if (fine) { fine = f.offers.check(f.extender, f.scheduler.scheduler_name); }
  if (fine) { fine = serve::readDefaultSpread(f.default_spread, f.scheduler.default_spread); }
  if (!fine) { return process::refuse(fine.error()); }
  auto quota = serve::readQuotaConfig(f.quota_file);
  auto drivers = serve::readDrivers(f.driver_file);
  if (!quota || !drivers) { return process::refuse(!quota ? quota.error() : drivers.error()); }
  f.scheduler.quota = *std::move(quota);
  f.scheduler.drivers = *std::move(drivers);
  f.scheduler.asks_server = true;
  f.scheduler.schedules = f.offers.schedules;
  f.scheduler.extender_pods = f.offers.names();
  f.scheduler.max_waiting_binds = f.extender.workers < 4 ? 2 : f.extender.workers / 2;
  f.scheduler.visible_uuids = f.visible_devices == "uuid";
  f.scheduler.instance = f.scheduler.scheduler_name + "-" + process::hostName();
  f.election.lease = scheduler::kLeaderLease;
  f.election.config.scheduler = f.scheduler.scheduler_name;
  if (!f.extender.address.empty()) { f.election.config.address = serve::advertised(f.extender); }
  auto service = process::Service::make(
      program, {.cluster = f.cluster,
                .election = f.election,
                .pages = f.pages,
                .metrics = serve::schedulerMetrics(),
                .service = program.name(),
                .said = {{"quotas", serve::quotaSource(f.scheduler.quota, f.quota_file)}}});
  if (!service) { return process::refuse(service.error()); }
  f.scheduler.lease_namespace = (*service)->leaseNamespace();
  scheduler::Scheduler machine{f.scheduler, (*service)->rng()};
  return f.extender.address.empty() ? schedule(**service, machine) : scheduleAndAnswer(**service, machine, f);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{"gpu-scheduler",
                               "Gives each pod exact GPUs: leases, Bindings, and the reason when it cannot."};
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  gs::serve::addCrds(program);
  return program.run(argc, argv);
}
