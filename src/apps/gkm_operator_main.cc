// gkm-operator: which flags, which types, and how they are wired. The machine is operator/operator.h, what
// runs it process/service.h.
#include "base/log.h"
#include "base/system_clock.h"
#include "k8s/kubeconfig.h"
#include "net/http_server.h"
#include "operator/operator.h"
#include "operator/pull_secrets.h"
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/operator/cache_webhook.h"
#include "serve/operator/flags.h"
#include "serve/operator/metric_specs.h"
#include "serve/operator/operator_with_webhook.h"
#include "serve/trust/pull_secret_reader.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster{.connections = 16};
  process::ElectionFlags election;
  serve::OperatorFlags own;
  serve::CacheWebhookFlags webhook;
};

void describe(const process::Command& program, Flags& f) {
  process::addCluster(program, f.cluster);
  process::addElection(program, f.election, "Namespace of the leader lease");
  serve::addCacheWebhook(program, f.webhook);
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

/// Where one is served.
std::unique_ptr<serve::CacheWebhook> webhookOf(controller::Parts& parts, const serve::CacheWebhookFlags& f,
                                               const Clock& clock, serve::PullSecretReader& secrets,
                                               process::Service& service) {
  if (!f.isServed()) { return nullptr; }
  return std::make_unique<serve::CacheWebhook>(
      parts,
      serve::CacheWebhook::Config{
          .flags = f,
          .ns = service.leaseNamespace(),
          .health = [&service](const net::Request& request) { return service.page(request); },
          .resolver = {.images = {.own = secrets.forCaches(),
                                  .authfile = f.authfile,
                                  .environment = k8s::Surroundings::ofProcess().env,
                                  .registry = {.mirrors = f.mirrors, .ca_file = f.ca_file}}}},
      clock, service.rng(), service.metrics());
}

int run(const process::Program& program, Flags& f) {
  process::useLog(f.own.logOf(k8s::Surroundings::ofProcess()));
  for (const std::string& name : f.own.without_meaning) {
    log::info("a flag without meaning", {{"flag", name}});
  }
  if (const Status fine = f.webhook.read(k8s::Surroundings::ofProcess()); !fine) {
    return process::refuse(fine.error());
  }
  f.election.lease = gkm::kLeaderLease;
  auto made = process::Service::make(program, {.cluster = f.cluster,
                                               .election = f.election,
                                               .pages = f.own.pages(),
                                               .metrics = serve::operatorMetrics()});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  const controller::Owners owners;
  controller::Parts parts{owners};  // what runs beside the operator
  gkm::Operator machine{{.instance = program.name() + "-" + process::hostName()}, service.rng(), owners};
  const SystemClock clock;
  gkm::PullSecrets reads{parts};
  const auto read_secret = [&](const auto& secret, const auto& done) {
    return service.host().act([&reads, secret, done](Now) { return reads.read(secret, done); });
  };
  serve::PullSecretReader secrets{service.leaseNamespace(), read_secret, clock};
  const auto webhook = webhookOf(parts, f.webhook, clock, secrets, service);
  std::optional<serve::OperatorWithWebhook::Webhook> beside;
  if (webhook) { beside.emplace(parts, *webhook); }
  serve::OperatorWithWebhook both{machine, beside ? &*beside : nullptr};
  process::Machine run = process::machineOf(both);
  run.state = [] { return std::string{}; };
  std::unique_ptr<net::HttpServer> metrics;
  std::vector<process::Endpoint> endpoints;
  if (webhook) { endpoints.push_back(webhook->endpoint()); }
  if (const auto address = f.own.metricsAddress(); !address.empty()) {
    endpoints.push_back(metricsAt(address, service, metrics));
  }
  return service.run(std::move(run), endpoints);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{"gkm-operator",
                               "Operator of kernel caches: sums up what nodes have of each, and keeps a "
                               "cache until no node has it; and its webhook."};
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  return program.run(argc, argv);
}
