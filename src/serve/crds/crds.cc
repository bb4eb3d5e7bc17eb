#include "serve/crds/crds.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/system_clock.h"
#include "crds/crds.h"
#include "k8s/api.h"
#include "kapi/kinds.h"
#include "process/flags.h"
#include "process/process.h"

namespace gs::serve {
namespace {

constexpr const char* kFieldManager = "gpu-scheduler-crds";

kapi::Call applyOf(const json::Value& crd) {
  kapi::Call call;
  call.verb = kapi::Verb::Apply;
  call.kind = kapi::kCrd;
  call.key = {"", std::string{crd["metadata"]["name"].str()}};
  call.query = fmt::format("fieldManager={}&force=true", kFieldManager);
  call.body = crd;
  call.timeout = std::chrono::seconds{30};
  return call;
}

std::string whyNot(const kapi::Outcome& outcome) {
  if (outcome.http == 0) { return outcome.message; }
  return fmt::format("{} {}", outcome.http, outcome.message);
}

int apply(const process::ClusterFlags& cluster, const process::Program& program) {
  auto access = cluster.access();
  if (!access) { return process::ended(tl::unexpected(access.error())); }
  const SystemClock clock;
  k8s::Api api{*std::move(access), process::userAgentOf(program.name()), clock};
  const Status done = applyCrds(*api.connect());
  if (done) { std::printf("The CRDs of %s are those of this version.\n", api.access().server.c_str()); }
  return process::ended(done);
}

}  // namespace

Status applyCrds(k8s::Client& client) {
  for (const json::Value& crd : crds::all()) {
    const kapi::Call call = applyOf(crd);
    const kapi::Outcome outcome = client.run(call, {});
    if (outcome.result != kapi::CallResult::Applied) {
      return fail(Code::Unavailable,
                  fmt::format("CRD {} was not applied: {}", call.key.name, whyNot(outcome)));
    }
  }
  return {};
}

void addCrds(process::Program& program) {
  process::Command crds =
      program.root().command("crds", "The kinds of gpu-scheduler: GpuClaim, GpuNodeStatus");
  crds.command("print", "Prints the CRDs of this version").does([] {
    std::fputs(crds::text(), stdout);
    return 0;
  });
  process::Command command =
      crds.command("apply", "Brings a cluster's CRDs to this version; its claims stay");
  const auto cluster = std::make_shared<process::ClusterFlags>();
  process::addKubeconfig(command, *cluster);
  command.does([cluster, &program] { return apply(*cluster, program); });
}

}  // namespace gs::serve
