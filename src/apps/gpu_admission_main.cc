// gpu-admission: which flags (every one that its ancestors had), which types, and how they are wired. The
// machine is extender/standalone.h, what runs it process/service.h.
#include "extender/grants/metrics.h"
#include "extender/standalone.h"
#include "extender/status_page.h"
#include "process/klog_flags.h"
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/extender/endpoint.h"
#include "serve/extender/metric_specs.h"
#include "serve/extender/quota.h"

namespace gs {
namespace {

constexpr const char* kLeaderLease = "extender.gpu.scheduling";

struct Flags {
  process::ClusterFlags cluster;
  process::ElectionFlags election;
  process::KlogFlags klog;
  std::string pages = "127.0.0.1:3457";
  std::string quota_file;
  serve::ExtenderFlags extender;
};

void describe(process::Command program, Flags& f) {
  f.extender.address = "127.0.0.1:3456";
  serve::addExtender(program, f.extender, "--address", "Where schedulers ask");
  program.topic("Extender")
      .text("--config", "FILE", f.quota_file,
            "Says where the quotas of GPUs are, and which node labels they mean; without it nobody "
            "has one");
  process::addCluster(program, f.cluster);
  process::addClientGo(program, f.cluster);
  process::addElection(program, f.election, "Namespace of the leader lease");
  program.topic("Health").text(
      "--pprofAddress", "HOST:PORT", f.pages,
      "Address of /debug/ledger, /metrics, /healthz and /readyz; empty: none of these");
  process::addKlog(program, f.klog);
}

int run(const process::Program& program, Flags& f) {
  process::useKlog(f.klog);
  if (const Status fine = f.extender.check(); !fine) { return process::refuse(fine.error()); }
  auto quota = serve::readQuotaConfig(f.quota_file);
  if (!quota) { return process::refuse(quota.error()); }
  f.election.lease = kLeaderLease;
  f.election.config.address = serve::advertised(f.extender);
  f.election.config.standalone_when_forbidden = true;
  auto made = process::Service::make(
      program,
      {.cluster = f.cluster,
       .election = f.election,
       .pages = f.pages,
       .goes_on_without_pages = true,
       .metrics = serve::extenderMetrics(),
       .standalone_gauge = extender::kStandalone,
       .said = {{"address", f.extender.address}, {"quotas", serve::quotaSource(*quota, f.quota_file)}}});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  extender::Config config;
  config.strict = f.extender.strict();
  config.instance = program.name() + "-" + process::hostName();
  config.quota = *std::move(quota);
  extender::Standalone machine{std::move(config), service.rng()};
  serve::ExtenderEndpoint endpoint{service, machine, f.extender};
  process::Machine run = endpoint.machine();
  run.state = [&] { return extender::stateMetrics(machine.extender(), machine.engine()); };
  run.pages = {{"/debug/ledger", [&] { return machine.engine().ledger().dump(); }}};
  return service.run(std::move(run), {endpoint.endpoint()});
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemoryOfRequests(4 << 20);
  gs::process::Program program{
      "gpu-admission", "Scheduler extender for shares of GPUs (gpu-manager), with quotas by GPU model."};
  program.takesUnderscores();
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  return program.run(argc, argv);
}
