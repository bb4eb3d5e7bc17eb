// gpu-scheduler-agent: which flags, which types, and how they are wired. The machine is agent/agent.h, what
// looks at the GPUs noderim/, what is answered on the node serve/agent/node_servers.h, what runs them all
// process/service.h.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/agent/flags.h"
#include "serve/agent/looks.h"
#include "serve/agent/metric_specs.h"
#include "serve/agent/node_servers.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster{.connections = 4};
  process::LogFlags log;
  std::string pages = "0.0.0.0:8080";
  serve::AgentFlags agent;
};

int run(const process::Program& program, const Flags& f) {
  process::useLog(f.log);
  if (const Status fine = f.agent.check(serve::environment); !fine) { return process::refuse(fine.error()); }
  const std::string node = f.agent.node(serve::environment)->text;
  auto made = process::Service::make(
      program,
      {.cluster = f.cluster, .pages = f.pages, .metrics = serve::agentMetrics(), .said = {{"node", node}}});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  agent::Agent machine{f.agent.config(serve::environment, service.leaseNamespace()), service.rng()};
  serve::RecordSlot records{node};
  serve::PublishedAgent published{machine, records};
  serve::Looks looks{published,
                     service.host(),
                     f.agent.source(serve::environment),
                     {.pace = f.agent.pace(),
                      .is_simulated = !f.agent.simulate.empty(),
                      .container_runtime = f.agent.runtimeSocket()}};
  serve::NodeServers servers{f.agent, published, records, service};
  std::vector<process::Endpoint> endpoints = servers.endpoints();
  endpoints.push_back({.serves = "the GPU driver",
                       .start =
                           [&looks] {
                             looks.start();
                             return Status{};
                           },
                       .stop = [&looks] { looks.stop(); }});
  process::Machine run = process::machineOf(published);
  run.state = [] { return std::string{}; };
  return service.run(std::move(run), endpoints);
}

int look(const Flags& f) {
  if (const Status fine = f.agent.check(serve::environment); !fine) { return process::ended(fine); }
  const auto text =
      serve::printedLook(*f.agent.source(serve::environment), f.agent.config(serve::environment));
  if (!text) { return process::ended(tl::unexpected(text.error())); }
  std::cout << *text << '\n';
  return 0;
}

void describe(const process::Program& program, process::Command root, Flags& f) {
  serve::addGpuSource(root, f.agent);
  serve::addAgent(root, f.agent);
  process::addCluster(root, f.cluster);
  root.topic("Health").text("--metrics-address", "HOST:PORT", f.pages,
                            "Address of /healthz, /readyz and /metrics by HTTP; empty: none");
  process::addLog(root, f.log);
  root.does([&] { return run(program, f); });
  process::Command once =
      root.command("look", "Prints what would be published of the GPUs, and ends: no cluster is asked");
  serve::addGpuSource(once, f.agent);
  once.does([&] { return look(f); });
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{
      "gpu-scheduler-agent",
      "Agent of a node: finds its GPUs and publishes them as GpuNodeStatus, with health and links."};
  gs::Flags flags;
  gs::describe(program, program.root(), flags);
  return program.run(argc, argv);
}
