// gpu-scheduler-webhook: which flags, which types, and how they are wired. The machine is webhook/webhook.h,
// what answers reviews webhook/handler.h, what runs both process/service.h.
#include "process/process.h"
#include "process/program.h"
#include "process/service.h"
#include "serve/admission/maker.h"
#include "serve/admission/server.h"
#include "serve/webhook/claim_limits.h"
#include "serve/webhook/flags.h"

namespace gs {
namespace {

struct Flags {
  process::ClusterFlags cluster;
  process::LogFlags log;
  std::string pages = "0.0.0.0:8080";
  serve::WebhookFlags webhook;
};

void describe(process::Command program, Flags& f) {
  serve::addWebhook(program, f.webhook);
  process::addCluster(program, f.cluster);
  program.topic("Health").text("--metrics-address", "HOST:PORT", f.pages,
                               "Address of /healthz, /readyz and /metrics by HTTP; empty: none");
  process::addLog(program, f.log);
}

webhook::LimitOf limitsOf(const serve::WebhookFlags& f, const serve::ClaimLimits& limits) {
  if (f.injectLimits() == webhook::InjectLimits::Never) { return {}; }
  return [&limits](std::string_view ns, std::string_view claim) { return limits.of(ns, claim); };
}

int run(const process::Program& program, const Flags& f) {
  process::useLog(f.log);
  if (const Status fine = f.webhook.check(); !fine) { return process::refuse(fine.error()); }
  auto made = process::Service::make(program, {.cluster = f.cluster, .pages = f.pages});
  if (!made) { return process::refuse(made.error()); }
  process::Service& service = **made;
  serve::ClaimLimits limits;
  serve::ShownPair pair;
  serve::OpensslMaker maker;
  webhook::Webhook machine{
      {.inject_limits = f.webhook.injectLimits(),
       .certificates = f.webhook.certificates(service.leaseNamespace()),
       .on_limit = [&limits](const model::ObjectKey& claim, auto gpus) { limits.set(claim, gpus); },
       .on_injecting = [&limits](bool injecting) { limits.inject(injecting); },
       .on_pair = [&pair](const admission::PairPtr& shown) { pair.set(shown); }},
      maker,
      service.rng()};
  const webhook::Handler handler{f.webhook.rules(), limitsOf(f.webhook, limits)};
  const auto health = [&service](const net::Request& request) { return service.page(request); };
  serve::ReviewServer server{serve::reviewsOf(handler, health), service.metrics()};
  process::Machine run = process::machineOf(machine);
  run.state = [] { return std::string{}; };
  return service.run(std::move(run),
                     {{.serves = "API servers",
                       .start = [&] { return server.start(serve::httpOptionsOf(f.webhook, pair)); },
                       .stop = [&server] { server.stop(); }}});
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{
      "gpu-scheduler-webhook",
      "Admission webhook: tells the containers of pods with GPUs which they have, and checks GpuClaims."};
  gs::Flags flags;
  gs::describe(program.root(), flags);
  program.root().does([&] { return gs::run(program, flags); });
  return program.run(argc, argv);
}
