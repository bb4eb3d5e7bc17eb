#include "serve/crds/crds.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/system_clock.h"
#include "crds/crds.h"
#include "k8s/api.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
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

int schemaOf(const kapi::Outcome& outcome) {
  const auto crd = outcome.object.as<model::Crd>();
  return crd == nullptr ? 0 : crd->schema;
}

/// Refused if it changed since it was read: another version may have raised it.
void setRevision(kapi::Call& call, const kapi::Outcome& read) {
  if (read.object.revision() == 0) { return; }
  call.body.child("metadata").set("resourceVersion", std::to_string(read.object.revision()));
}

int apply(const process::ClusterFlags& cluster, const process::Program& program) {
  auto access = cluster.access();
  if (!access) { return process::ended(tl::unexpected(access.error())); }
  const SystemClock clock;
  k8s::Api api{*std::move(access), process::userAgentOf(program.name()), clock};
  const auto kept = applyCrds(*api.connect());
  if (!kept) { return process::ended(tl::unexpected(kept.error())); }
  std::fputs(appliedText(*kept, api.access().server).c_str(), stdout);
  return 0;
}

}  // namespace

Result<std::vector<std::string>> applyCrds(k8s::Client& client) {
  std::vector<std::string> kept;
  for (const json::Value& crd : crds::all()) {
    kapi::Call call = applyOf(crd);
    kapi::Outcome outcome = client.run(kapi::getObject(kapi::kCrd, call.key), {});
    const int there = schemaOf(outcome);
    const int ours = kapi::decodeCrd(json::View{crd}).schema;
    if (there > ours) {
      kept.push_back(fmt::format("CRD {} stays as it is: its schema {} is later than this version's, {}.",
                                 call.key.name, there, ours));
      continue;
    }
    if (outcome.result == kapi::CallResult::Applied || outcome.notFound()) {
      setRevision(call, outcome);
      outcome = client.run(call, {});
    }
    if (outcome.result != kapi::CallResult::Applied) {
      return fail(Code::Unavailable,
                  fmt::format("CRD {} was not applied: {}", call.key.name, whyNot(outcome)));
    }
  }
  return kept;
}

std::string appliedText(const std::vector<std::string>& kept, const std::string& server) {
  std::string out;
  for (const std::string& one : kept) { out += one + "\n"; }
  if (kept.size() == crds::all().size()) { return out; }
  const char* which = kept.empty() ? "" : "other ";
  return out + fmt::format("The {}CRDs of {} are those of this version.\n", which, server);
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
