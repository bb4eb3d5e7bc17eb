// gkm-agent: which flags, which types, and how they are wired. The machine is operator/node/node_agent.h,
// what it has around it serve/node/cache_node.h, what runs both process/service.h.
#include "base/log.h"
#include "base/system_clock.h"
#include "cacherim/registry/mirrors.h"
#include "k8s/kubeconfig.h"
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/node/cache_node.h"
#include "serve/node/flags.h"
#include "serve/node/metric_specs.h"
#include "serve/operator/flags.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster{.connections = 4};
  serve::OperatorFlags common;
  serve::CacheNodeFlags own;
};

void describe(const process::Command& program, Flags& f) {
  serve::addCacheNode(program, f.own);
  process::addCluster(program, f.cluster);
  serve::addOperator(program, f.common);
  process::Command command = program;
  command.ignored(
      "--leader-elect", [&f] { f.common.without_meaning.emplace_back("--leader-elect"); },
      "Each node has one agent; none leads");
}

Result<serve::CacheNodeRim::Config> configOf(const process::Program& program, const Flags& f,
                                             const k8s::Surroundings& surroundings, const std::string& ns) {
  const auto node = f.own.node(surroundings);
  if (!node) { return tl::unexpected(node.error()); }
  auto keeper = f.own.keeper();
  if (!keeper) { return tl::unexpected(std::move(keeper).error()); }
  auto gpus = f.own.gpus(*node, surroundings);
  if (!gpus) { return tl::unexpected(std::move(gpus).error()); }
  auto mirrors = cacherim::parseMirrors("--registry-mirror", f.own.mirrors);
  if (!mirrors) { return tl::unexpected(std::move(mirrors).error()); }
  cacherim::RegistryOptions registry;
  registry.mirrors = *std::move(mirrors);
  registry.ca_file = f.own.ca_file;
  registry.whole = std::chrono::hours{24};  // the keeper gives up what comes too slowly
  return serve::CacheNodeRim::Config{.agent = {.node = *node, .instance = program.name() + "-" + node->text},
                                     .ns = ns,
                                     .keeper = *std::move(keeper),
                                     .images = {.authfile = f.own.authfile,
                                                .environment = surroundings.env,
                                                .registry = std::move(registry)},
                                     .gpus = *std::move(gpus)};
}

int run(const process::Program& program, const Flags& f) {
  const auto surroundings = k8s::Surroundings::ofProcess();
  process::useLog(process::goLogOf(f.common.log, surroundings));
  for (const std::string& name : f.common.without_meaning) {
    log::info("a flag without meaning", {{"flag", name}});
  }
  if (!f.common.metricsAddress().empty()) {
    log::info("metrics are served where health is, and nowhere else", {{"address", f.common.pages()}});
  }
  if (const auto fine = configOf(program, f, surroundings, ""); !fine) {
    return process::refuse(fine.error());
  }
  auto made = process::Service::make(
      program, {.cluster = f.cluster, .pages = f.common.pages(), .metrics = serve::nodeMetrics()});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  auto config = configOf(program, f, surroundings, service.leaseNamespace());
  if (!config) { return process::refuse(config.error()); }
  const SystemClock clock;
  serve::CacheNodeRim rim{*std::move(config), service.host(), clock, service.rng()};
  process::Machine machine = process::machineOf(rim);
  machine.state = [&rim] { return rim.metricsText(); };
  return service.run(std::move(machine), {{.serves = "the store",
                                           .start =
                                               [&rim] {
                                                 rim.startThreads();
                                                 return Status{};
                                               },
                                           .stop = [&rim] { rim.stopThreads(); }}});
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{"gkm-agent",
                               "Agent of kernel caches: fetches them to its node, and says what is there."};
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  return program.run(argc, argv);
}
