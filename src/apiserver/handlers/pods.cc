#include "apiserver/handlers/pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/handlers/admit.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/budget.h"
#include "apiserver/handlers/writes.h"
#include "apiserver/schema/builtin_types.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

const Value kNoOld;  // a Binding or an Eviction is new

/// Binds `pod`: node, annotations, condition.
void assign(Value& pod, const Value& binding, Now now) {
  pod.child("spec").set("nodeName", binding["target"]["name"]);
  for (const auto& [key, value] : binding["metadata"]["annotations"].members()) {
    pod.child("metadata").child("annotations").set(key, value);
  }
  auto& conditions = pod.child("status").child("conditions").array();
  std::erase_if(conditions, [](const Value& c) { return c["type"].str() == "PodScheduled"; });
  conditions.emplace_back(json::Object{{"type", "PodScheduled"},
                                       {"status", "True"},
                                       {"lastProbeTime", nullptr},
                                       {"lastTransitionTime", kapi::timeText(now.wall)}});
}

/// What is wrong with the Binding itself.
Done checkBinding(const Value& binding, const Route& route) {
  if (binding["metadata"]["name"].str() != route.name) {
    return badRequest("name in URL does not match name in Binding object");
  }
  const auto kind = binding["target"]["kind"].str();
  if (!kind.empty() && kind != "Node") {
    return plainError(
        fmt::format("target.kind: Unsupported value: \"{}\": supported values: \"Node\", \"<empty>\"", kind));
  }
  if (binding["target"]["name"].str().empty()) { return plainError("target.name: Required value"); }
  return {};
}

Resource makeEvictionType(const char* version) {
  Resource r;
  r.group = "policy";
  r.version = version;
  r.plural = "evictions";
  r.kind = "Eviction";
  r.schema = builtinType("Eviction");
  return r;
}

/// Both versions have the same fields.
const Resource& evictionType(const Value& body) {
  static const Resource kV1 = makeEvictionType("v1");
  static const Resource kBeta = makeEvictionType("v1beta1");
  return body["apiVersion"].str() == kBeta.apiVersion() ? kBeta : kV1;
}

}  // namespace

Handled PodSubresources::bind(Call& call) {
  const Subject subject{"", "pods/binding", "Binding"};
  const Resource& bindings = *resources_.find("", "bindings");
  auto read = readObject(call, resources_, bindings);
  if (!read) { return tl::unexpected(read.error()); }
  Value& binding = *read;
  if (call.resource().is(kBindingsId)) { call.route.name = binding["metadata"]["name"].str(); }
  const std::string& name = call.route.name;
  const Admitted what{Operation::Create, bindings, name, kNoOld};
  if (auto fine = admitMutating(admission_, call, what, binding); !fine) {
    return tl::unexpected(fine.error());
  }
  if (auto fine = checkBinding(binding, call.route); !fine) { return tl::unexpected(fine.error()); }
  if (auto fine = admitValidating(admission_, call, what, binding); !fine) {
    return tl::unexpected(fine.error());
  }
  call.route.resource = resources_.find("", "pods");
  const auto* there = stored(store_, call);
  if (there == nullptr) { return notFound(call.resource().subject(), name); }
  const Value& old = *there->object;
  const Value& meta = old["metadata"];
  for (const auto& [field, what] :
       {std::pair{"uid", "UID"}, std::pair{"resourceVersion", "ResourceVersion"}}) {
    const auto want = binding["metadata"][field].str();
    if (!want.empty() && want != meta[field].str()) {
      return preconditionFailed(call, what, want, meta[field].str());
    }
  }
  if (!meta["deletionTimestamp"].isNull()) {
    return conflict(subject, name,
                    fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
  }
  if (const auto bound = old["spec"]["nodeName"].str(); !bound.empty()) {
    return conflict(subject, name, fmt::format("pod {} is already assigned to node \"{}\"", name, bound));
  }
  if (!old["spec"]["schedulingGates"].items().empty()) {
    return conflict(subject, name, fmt::format("pod {} has non-empty .spec.schedulingGates", name));
  }
  if (!call.dry_run) {
    Value next = old;
    assign(next, binding, call.now);
    store_.put(call.key(), std::move(next), there->owners);
  }
  return Response{201, successBody({}, 201)};
}

/// All that can refuse it comes first: a pod that is not evicted does not say that it is.
Handled PodSubresources::evict(Call& call) {
  const Resource& type = evictionType(call.request.body);
  auto eviction = readObject(call, resources_, type);
  if (!eviction) { return tl::unexpected(eviction.error()); }
  const std::string& name = call.route.name;
  const Admitted what{Operation::Create, type, name, kNoOld};
  if (auto fine = admitMutating(admission_, call, what, *eviction); !fine) {
    return tl::unexpected(fine.error());
  }
  if ((*eviction)["metadata"]["name"].str() != name) {
    return badRequest("name in URL does not match name in Eviction object");
  }
  if (auto fine = admitValidating(admission_, call, what, *eviction); !fine) {
    return tl::unexpected(fine.error());
  }
  Value options = (*eviction)["deleteOptions"];
  if (!options["dryRun"].items().empty()) { call.dry_run = true; }
  const Resource& pods = call.resource();
  const auto* there = stored(store_, call);
  if (there == nullptr) { return notFound(pods.subject(), name); }
  const Value& pod = *there->object;
  for (const Done& fine : {budgetAllows(store_, pod), checkDeleteOptions(options),
                           checkPreconditions(pods, name, pod["metadata"], options["preconditions"])}) {
    if (!fine) { return tl::unexpected(fine.error()); }
  }
  if (!call.dry_run) {
    disrupt(call, *there);
    options.erase("preconditions");  // they held, and its version is another one now
  }
  if (auto gone = deletes_.removeNow(call, *stored(store_, call), options); !gone) { return gone; }
  return Response{201, successBody({}, 201)};
}

/// The condition that says why the pod is being deleted.
void PodSubresources::disrupt(const Call& call, const StoredObject& there) {
  const Value& old = *there.object;
  if (!old["metadata"]["deletionTimestamp"].isNull()) { return; }
  Value next = old;
  auto& conditions = next.child("status").child("conditions").array();
  std::erase_if(conditions, [](const Value& c) { return c["type"].str() == "DisruptionTarget"; });
  conditions.emplace_back(json::Object{{"type", "DisruptionTarget"},
                                       {"status", "True"},
                                       {"lastProbeTime", nullptr},
                                       {"lastTransitionTime", kapi::timeText(call.now.wall)},
                                       {"reason", "EvictionByEvictionAPI"},
                                       {"message", "Eviction API: evicting"}});
  store_.put(call.key(), std::move(next), there.owners);
}

}  // namespace gs::apiserver
