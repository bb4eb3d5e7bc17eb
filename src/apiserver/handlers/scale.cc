// The scale subresource of Deployments, ReplicaSets and StatefulSets: the part of an object that `kubectl
// scale` and autoscalers read and write without knowing the kind.
// A write is one of the object's spec.replicas.
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/writes.h"
#include "apiserver/meta/label_selector.h"
#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

Value scaleOf(const Value& object) {
  Value meta = json::Object{};
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = object["metadata"].find(field)) { meta.set(field, *value); }
  }
  Value spec = json::Object{};
  if (const auto replicas = object["spec"]["replicas"].intOr(0); replicas != 0) {
    spec.set("replicas", replicas);
  }
  Value status = json::Object{{"replicas", object["status"]["replicas"].intOr(0)}};
  if (std::string text = selectorText(object["spec"]["selector"]); !text.empty()) {
    status.set("selector", std::move(text));
  }
  return json::Object{{"kind", scaleType().kind},
                      {"apiVersion", scaleType().apiVersion()},
                      {"metadata", std::move(meta)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

}  // namespace

Handled Writes::scale(Call& call) {
  const std::string& method = call.request.method;
  const auto* there = stored(store_, call);
  if (method != "GET" && method != "PUT" && method != "PATCH") { return methodNotAllowed(); }
  if (method != "PUT" && there == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  if (method == "GET") { return Response{200, scaleOf(*there->object)}; }
  Call of_scale{call};
  of_scale.route.resource = &scaleType();
  auto wanted = method == "PUT" ? readObject(of_scale, resources_, scaleType())
                                : patched(of_scale, scaleOf(*there->object));
  call.warnings = std::move(of_scale.warnings);
  if (!wanted) { return tl::unexpected(wanted.error()); }
  if (auto fine = checkNameOnUrl(call, *wanted); !fine) { return tl::unexpected(fine.error()); }
  if (there == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  if (const auto errors = checkScale(*wanted); !errors.empty()) {
    return invalidKind(scaleType().kind, scaleType().group, call.route.name, errors);
  }
  Value next = *there->object;
  next.child("spec").set("replicas", (*wanted)["spec"]["replicas"].intOr(0));
  next.child("metadata").set("resourceVersion", (*wanted)["metadata"]["resourceVersion"].str());
  auto done = replace(call, *there, std::move(next), nullptr);
  if (!done) { return done; }
  return Response{200, scaleOf(done->body)};
}

}  // namespace gs::apiserver
