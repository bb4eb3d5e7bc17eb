// gkm-operator: which flags, which types, and how they are wired. The machine is operator/operator.h, what
// runs it process/service.h.
#include "base/log.h"
#include "k8s/kubeconfig.h"
#include "net/http_server.h"
#include "operator/operator.h"
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/operator/flags.h"
#include "serve/operator/metric_specs.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster{.connections = 16};
  process::ElectionFlags election;
  serve::OperatorFlags own;
};

void describe(const process::Command& program, Flags& f) {
  process::addCluster(program, f.cluster);
  process::addElection(program, f.election, "Namespace of the leader lease");
  serve::addOperator(program, f.own);
}

/// The pages of health once more, at the address of metrics.
process::Endpoint metricsAt(const std::string& address, const process::Service& service,
                            std::unique_ptr<net::HttpServer>& server) {
  return {.serves = "metrics",
          .start = [address, &service, &server]() -> Status {
            auto started = net::HttpServer::start(
                {.address = address},
                [&service](const net::Request& request) { return service.page(request); });
            if (!started) { return tl::unexpected(started.error()); }
            server = *std::move(started);
            return {};
          },
          .stop = [&server] { server->stop(); }};
}

int run(const process::Program& program, Flags& f) {
  process::useLog(f.own.logOf(k8s::Surroundings::ofProcess()));
  for (const std::string& name : f.own.without_meaning) {
    log::info("a flag without meaning", {{"flag", name}});
  }
  f.election.lease = gkm::kLeaderLease;
  auto made = process::Service::make(program, {.cluster = f.cluster,
                                               .election = f.election,
                                               .pages = f.own.pages(),
                                               .metrics = serve::operatorMetrics()});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  gkm::Operator machine{{.instance = program.name() + "-" + process::hostName()}, service.rng()};
  process::Machine run = process::machineOf(machine);
  run.readiness = [&machine] { return machine.readiness(); };
  run.state = [] { return std::string{}; };
  std::unique_ptr<net::HttpServer> metrics;
  std::vector<process::Endpoint> endpoints;
  if (const auto address = f.own.metricsAddress(); !address.empty()) {
    endpoints.push_back(metricsAt(address, service, metrics));
  }
  return service.run(std::move(run), endpoints);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{
      "gkm-operator",
      "Operator of kernel caches: sums up what nodes have of each, and keeps a cache until no node has it."};
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  return program.run(argc, argv);
}
