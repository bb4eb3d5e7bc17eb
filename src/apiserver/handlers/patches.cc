// PATCH: merge, strategic merge, JSON patch, and server-side apply.
#include <fmt/format.h>

#include "apiserver/handlers/body.h"
#include "apiserver/handlers/writes.h"
#include "apiserver/patch/last_applied.h"
#include "apiserver/patch/patch.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kJsonPatch = "application/json-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

/// A patch whose outcome is no such object.
Refused badOutcome(const Value& object, const std::string& why) {
  return invalidKind("", "", "", {fieldInvalid("patch", goQuote(json::print(object)), why)});
}

Refused cannotDecode(const std::string& why) { return badRequest("error decoding patch: " + why); }

const char* goKind(const Value& v) {
  return v.isArray()    ? "array"
         : v.isObject() ? "object"
         : v.isString() ? "string"
         : v.isBool()   ? "bool"
                        : "number";
}

Done checkPatchBody(const Request& request) {
  const Value& body = request.body;
  if (!request.bad_body.empty()) { return cannotDecode(request.bad_body); }
  const bool list = request.content_type == kJsonPatch;
  if (body.isNull() && request.shown_body.empty()) { return cannotDecode("unexpected end of JSON input"); }
  if (list ? body.isArray() : body.isObject()) { return {}; }
  return cannotDecode(fmt::format("json: cannot unmarshal {} into Go value of type {}", goKind(body),
                                  list ? "[]handlers.jsonPatchOp" : "map[string]interface {}"));
}

/// A patched object that is no longer one of its kind.
Done checkPatched(const Resource& r, const Value& object) {
  const Value& meta = object["metadata"];
  if (!object.isObject() || (!meta.isNull() && !meta.isObject())) {
    return badOutcome(
        object,
        fmt::format("json: cannot unmarshal {} into Go struct field {}.metadata of type v1.ObjectMeta",
                    object.isObject() ? goKind(meta) : goKind(object), r.kind));
  }
  if (object["kind"].str().empty()) {
    return badOutcome(object, fmt::format("Object 'Kind' is missing in '{}'", json::print(object)));
  }
  if (!r.custom && object["apiVersion"].str() != r.apiVersion()) {
    return badOutcome(object, fmt::format("no kind \"{}\" is registered for version \"{}\"",
                                          object["kind"].str(), object["apiVersion"].str()));
  }
  if (!r.custom && object["kind"].str() != r.kind) {
    return badOutcome(object, noConversion(r, object["kind"].str()));
  }
  if (r.custom && object["apiVersion"].str() != r.apiVersion()) {
    return invalidKind(object["kind"].str(), r.group, meta["name"].str(),
                       {fieldInvalid("apiVersion", object["apiVersion"], "must be " + r.apiVersion())});
  }
  return {};
}

Done checkConfig(const Call& call, const Value& config) {
  const Resource& r = call.resource();
  if (!config.isObject() || !config["metadata"].isObject()) {
    if (!config.isObject() || config["kind"].str().empty()) {
      return badRequest(
          fmt::format("invalid object type: /{}, Kind={}", config["apiVersion"].str(), config["kind"].str()));
    }
    return badRequest("metadata is missing in the applied configuration");
  }
  if (config["kind"].str() != r.kind || config["apiVersion"].str() != r.apiVersion()) {
    return badRequest(
        fmt::format("invalid object type: /{}, Kind={}", config["apiVersion"].str(), config["kind"].str()));
  }
  if (config["metadata"].find("managedFields") != nullptr && !config["metadata"]["managedFields"].isNull()) {
    return badRequest("metadata.managedFields must be nil");
  }
  const auto ns = config["metadata"]["namespace"].str();
  if (r.namespaced && !ns.empty() && ns != call.route.ns) {
    return badRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return config["metadata"]["name"].str().empty() ? Done{} : checkNameOnUrl(call, config);
}

}  // namespace

Answer<json::Value> patched(Call& call, const json::Value& there) {
  const Resource& r = call.resource();
  Value object = shown(r, there);
  const Value& patch = call.request.body;
  if (call.request.content_type == kMerge) {
    applyMergePatch(object, patch);
  } else {
    auto done = call.request.content_type == kJsonPatch ? applyJsonPatch(object, patch)
                                                        : applyStrategicPatch(object, patch, r.schema.get());
    if (!done) { return tl::unexpected(done.error()); }
  }
  if (auto fine = checkPatched(r, object); !fine) { return tl::unexpected(fine.error()); }
  auto decoded = decode(call, r, object, there);
  if (!decoded) { return badOutcome(object, decoded.error()); }
  if (auto fine = checkNameOnUrl(call, *decoded); !fine) { return tl::unexpected(fine.error()); }
  if (r.namespaced && (*decoded)["metadata"]["namespace"].str() != call.route.ns) {
    return badRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return *std::move(decoded);
}

Handled Writes::patch(Call& call) {
  const Resource& r = call.resource();
  const std::string& type = call.request.content_type;
  if (type == kApply) { return apply(call); }
  if (type != kMerge && type != kJsonPatch && (type != kStrategic || r.custom)) {
    return refuse(
        415, "UnsupportedMediaType",
        fmt::format(
            "the body of the request was in an unknown format - accepted media types include: {}, {}, "
            "{}{}{}",
            kJsonPatch, kMerge, r.custom ? "" : kStrategic, r.custom ? "" : ", ", kApply));
  }
  const auto* there = stored(store_, call);
  if (there == nullptr) { return notFound(r.subject(), call.route.name); }
  if (auto fine = checkPatchBody(call.request); !fine) { return tl::unexpected(fine.error()); }
  if (call.route.subresource == "scale") { return scale(call); }
  auto next = patched(call, *there->object);
  if (!next) { return tl::unexpected(next.error()); }
  return replace(call, *there, *std::move(next), nullptr);
}

Handled Writes::apply(Call& call) {
  const Resource& r = call.resource();
  if (!call.request.bad_body.empty()) { return badRequest("error decoding YAML: " + call.request.bad_body); }
  if (call.query("fieldManager").empty()) {
    return invalidKind("PatchOptions", "meta.k8s.io", "",
                       {fieldRequired("fieldManager", "is required for apply patch")});
  }
  const Value& config = call.request.body;
  if (auto fine = checkConfig(call, config); !fine) { return tl::unexpected(fine.error()); }
  const auto* there = stored(store_, call);
  if (there == nullptr && !call.route.subresource.empty()) { return notFound(r.subject(), call.route.name); }
  const Value live = there != nullptr
                         ? shown(r, *there->object)
                         : Value{json::Object{{"apiVersion", r.apiVersion()},
                                              {"kind", r.kind},
                                              {"metadata", json::Object{{"name", call.route.name}}}}};
  const Manager manager{call.query("fieldManager"), true, call.route.subresource, r.apiVersion()};
  static const Schema kAnything{};
  static const Owners kNobody;
  const Schema& schema = r.schema ? *r.schema : kAnything;
  const Owners& before = there != nullptr && there->owners ? *there->owners : kNobody;
  auto applied = serverSideApply(live, config, schema, before, manager, isTrue(call.route.query, "force"));
  if (!applied && manager.name == "kubectl" && mayTakeOver(live, schema, applied.error())) {
    applied = serverSideApply(live, config, schema, before, manager, true);
  }
  if (!applied) { return tl::unexpected(applied.error()); }
  if (manager.name == "kubectl" && call.route.subresource.empty()) {
    refreshLastApplied(applied->object, config);
  }
  auto object = decode(call, r, applied->object, live);
  if (!object) { return badOutcome(applied->object, object.error()); }
  auto owners = std::make_shared<const Owners>(std::move(applied->owners));
  if (there != nullptr) { return replace(call, *there, *std::move(object), std::move(owners)); }
  call.owners = std::move(owners);
  return create(call, *std::move(object));
}

}  // namespace gs::apiserver
