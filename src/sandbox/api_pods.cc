// What is done to pods beside writing them: binding and eviction.
#include <fmt/format.h>

#include <algorithm>

#include "kapi/time.h"
#include "sandbox/api.h"
#include "sandbox/budget.h"

namespace gs::sandbox {
namespace {

using json::Value;

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

/// A body that is no object of this kind at all.
Done checkBody(const Request& request, const char* kind) {
  const Value& body = request.body;
  const Value& meta = body["metadata"];
  if (request.bad_body.empty() && body.isObject() && (meta.isNull() || meta.isObject())) { return {}; }
  const std::string why = request.bad_body.empty() ? "it is no object with metadata" : request.bad_body;
  return badRequest(fmt::format("the object provided is unrecognized (must be of type {}): {}", kind, why));
}

/// What is wrong with the Binding itself.
Done checkBinding(const Value& binding, const Route& route) {
  if (binding["metadata"]["name"].str() != route.name) {
    return badRequest("name in URL does not match name in Binding object");
  }
  if (const auto ns = binding["metadata"]["namespace"].str(); !ns.empty() && ns != route.ns) {
    return badRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const auto kind = binding["target"]["kind"].str();
  if (!kind.empty() && kind != "Node") {
    return plainError(
        fmt::format("target.kind: Unsupported value: \"{}\": supported values: \"Node\", \"<empty>\"", kind));
  }
  if (binding["target"]["name"].str().empty()) { return plainError("target.name: Required value"); }
  return {};
}

}  // namespace

Api::Result Api::bind(Call& call) {
  const Subject subject{"", "pods/binding", "Binding"};
  const Value& binding = call.request.body;
  const std::string& name = call.route.name;
  if (auto fine = checkBody(call.request, "Binding"); !fine) { return tl::unexpected(fine.error()); }
  if (auto fine = checkBinding(binding, call.route); !fine) { return tl::unexpected(fine.error()); }
  const auto* there = stored(call);
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
    store_.put(keyOf(call), std::move(next), there->owners);
  }
  return Response{201, successBody({}, 201)};
}

Api::Result Api::evict(Call& call) {
  if (auto fine = checkBody(call.request, "Eviction"); !fine) { return tl::unexpected(fine.error()); }
  const Value& eviction = call.request.body;
  if (const auto name = eviction["metadata"]["name"].str(); !name.empty() && name != call.route.name) {
    return badRequest("name in URL does not match name in Eviction object");
  }
  const auto* there = stored(call);
  if (there == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  if (auto fine = budgetAllows(store_, *there->object); !fine) { return tl::unexpected(fine.error()); }
  const Value& options = eviction["deleteOptions"];
  if (!options["dryRun"].items().empty()) { call.dry_run = true; }
  if (!call.dry_run) { disrupt(call, *there); }
  auto gone = remove(call, options);
  if (!gone) { return gone; }
  return Response{201, successBody({}, 201)};
}

/// The condition that says why the pod is being deleted.
void Api::disrupt(const Call& call, const StoredObject& there) {
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
  store_.put(keyOf(call), std::move(next), there.owners);
}

}  // namespace gs::sandbox
