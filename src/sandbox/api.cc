#include "sandbox/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kapi/time.h"
#include "sandbox/crd_schema.h"
#include "sandbox/go_decode.h"
#include "sandbox/meta_check.h"

namespace gs::sandbox {
namespace {

json::Value namespaceObject(const char* name) {
  return json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", name}}}};
}

/// Items of a built-in list carry no kind and apiVersion, those of custom resources do.
json::Value listed(const Resource& r, const json::Value& object) {
  if (r.custom) { return object; }
  json::Value copy = object;
  copy.erase("kind");
  copy.erase("apiVersion");
  return copy;
}

std::uint64_t number(const std::string& text) {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string queryOr(const Route& route, const std::string& key, std::string fallback = {}) {
  const auto it = route.query.find(key);
  return it == route.query.end() ? fallback : it->second;
}

/// Only fields that nobody may set are left to the server; what a body says of them is dropped.
void dropServerFields(json::Value& meta) {
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation", "selfLink",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    meta.erase(field);
  }
}

}  // namespace

Response toResponse(const ApiError& error) {
  if (error.text) { return {error.code, {}, error.message + "\n"}; }
  return {error.code, statusBody(error)};
}

Api::Api(Rng rng, Now now) : rng_{rng} {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    (void)handle({"POST", "/api/v1/namespaces", "application/json", namespaceObject(name)}, now);
  }
}

Response Api::handle(const Request& request, Now now) {
  auto result = dispatch(request, now);
  if (result) { return *std::move(result); }
  return toResponse(result.error());
}

Api::Result Api::dispatch(const Request& request, Now now) {
  auto route = resources_.route(request.target);
  if (!route) { return tl::unexpected(route.error()); }
  const std::string& method = request.method;
  if (route->subresource == "binding") {
    if (method != "POST") { return methodNotAllowed(); }
    return bind(*route, request.body, now);
  }
  if (!route->subresource.empty() && (route->subresource != "status" || !route->resource->has_status)) {
    return noSuchResource();
  }
  if (method == "GET") { return route->name.empty() ? list(*route) : get(*route); }
  if (method == "POST" && route->name.empty()) { return create(*route, request.body, now); }
  if (method == "DELETE") {
    return route->name.empty() ? removeAll(*route, request.body, now) : remove(*route, request.body, now);
  }
  if (route->name.empty()) { return methodNotAllowed(); }
  if (method == "PUT") { return update(*route, request.body); }
  if (method == "PATCH") { return patch(*route, request, now); }
  return methodNotAllowed();
}

Api::Result Api::get(const Route& route) const {
  const auto* stored = store_.find(keyOf(route));
  if (stored == nullptr) { return notFound(route.resource->subject(), route.name); }
  return Response{200, *stored->object};
}

Api::Result Api::list(const Route& route) const {
  const Resource& r = *route.resource;
  auto labels = Selector::labels(queryOr(route, "labelSelector"));
  if (!labels) { return tl::unexpected(labels.error()); }
  auto fields = Selector::fields(queryOr(route, "fieldSelector"), r.id());
  if (!fields) { return tl::unexpected(fields.error()); }
  const std::uint64_t limit = queryOr(route, "resourceVersion") == "0" ? 0 : number(queryOr(route, "limit"));
  // A continue token is "<revision>/<ns>/<name of the last item>".
  const std::string token = queryOr(route, "continue");
  const auto slash = token.find('/');
  std::uint64_t revision = store_.revision();
  StoreKey after{r.id(), "", ""};
  if (!token.empty()) {
    const auto second = slash == std::string::npos ? slash : token.find('/', slash + 1);
    if (second == std::string::npos) {
      return badRequest("continue key is not valid: invalid continue token");
    }
    revision = number(token);
    if (revision < store_.oldest()) {
      return expired(
          "The provided continue parameter is too old to display a consistent list result. You can start a "
          "new list without the continue parameter.");
    }
    after = {r.id(), token.substr(slash + 1, second - slash - 1), token.substr(second + 1)};
  }
  json::Array items;
  std::string next;
  const auto [begin, end] = store_.range(r.id());
  StoreKey last;
  std::uint64_t remaining = 0;
  for (auto it = begin; it != end; ++it) {
    if (!token.empty() && it->first <= after) { continue; }
    if (!route.ns.empty() && it->first.ns != route.ns) { continue; }
    if (!labels->matches(*it->second.object) || !fields->matches(*it->second.object)) { continue; }
    if (limit > 0 && items.size() == limit) {
      if (remaining++ == 0) { next = fmt::format("{}/{}/{}", revision, last.ns, last.name); }
      continue;
    }
    items.push_back(listed(r, *it->second.object));
    last = it->first;
  }
  json::Object meta{{"resourceVersion", std::to_string(revision)}};
  if (!next.empty()) {
    meta["continue"] = next;
    meta["remainingItemCount"] = static_cast<std::int64_t>(remaining);
  }
  return Response{200, json::Object{{"kind", r.kind + "List"},
                                    {"apiVersion", r.apiVersion()},
                                    {"metadata", std::move(meta)},
                                    {"items", std::move(items)}}};
}

/// Decoding (built-in) or pruning, defaults and validation (custom); metadata checks for both.
Answer<json::Value> Api::shape(const Resource& r, json::Value object, const json::Value& old) const {
  object.set("apiVersion", r.apiVersion());
  object.set("kind", r.kind);
  const std::string name{object["metadata"]["name"].str()};
  if (r.custom) {
    (void)prune(*r.schema, object);
    applyDefaults(*r.schema, object);
    const auto errors = validateSchema(*r.schema, object, old);
    if (!errors.empty()) { return invalid(r.subject(), name, errors); }
  } else if (r.schema) {
    auto decoded = goDecode(*r.schema, object);
    if (!decoded) { return badRequest(decoded.error()); }
    object = std::move(decoded->object);
    object.set("apiVersion", r.apiVersion());
    object.set("kind", r.kind);
  }
  const auto errors =
      checkMeta(object["metadata"], r.plural == "namespaces" ? NameRule::Label : NameRule::Subdomain);
  if (!errors.empty()) { return invalid(r.subject(), name, errors); }
  if (r.id() == "/pods" && object["spec"]["containers"].items().empty()) {
    return invalid(r.subject(), name, {fieldRequired("spec.containers")});
  }
  return object;
}

/// Identity and birth of a new object.
void Api::stamp(const Route& route, json::Value& object, Now now) {
  static constexpr std::string_view kSuffix = "bcdfghjklmnpqrstvwxz2456789";
  json::Value& meta = object.child("metadata");
  dropServerFields(meta);
  if (meta["name"].str().empty() && !meta["generateName"].str().empty()) {
    std::string name{meta["generateName"].str().substr(0, 58)};
    for (int i = 0; i < 5; ++i) { name += kSuffix[rng_.below(kSuffix.size())]; }
    meta.set("name", name);
  }
  if (route.resource->namespaced) {
    meta.set("namespace", route.ns);
  } else {
    meta.erase("namespace");
  }
  meta.set("uid", rng_.uuid());
  meta.set("creationTimestamp", kapi::timeText(now.wall));
  const std::string id = route.resource->id();
  if (route.resource->custom || id == "/pods" || id == "apiextensions.k8s.io/customresourcedefinitions") {
    meta.set("generation", 1);
  }
  if (route.resource->has_status && route.resource->custom) { object.erase("status"); }
  if (id == "/pods") { object.erase("status"); }
  if (id == "/namespaces") {
    meta.child("labels").set("kubernetes.io/metadata.name", meta["name"].str());
    object.set("status", json::Object{{"phase", "Active"}});
  }
}

Api::Result Api::create(const Route& route, json::Value body, Now now) {
  const Resource& r = *route.resource;
  if (!body.isObject()) {
    return badRequest("the object provided is unrecognized: the body is not a JSON object");
  }
  const auto body_ns = body["metadata"]["namespace"].str();
  if (r.namespaced && !body_ns.empty() && body_ns != route.ns) {
    return badRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  if (!body["kind"].isNull() && body["kind"].str() != r.kind) {
    return badRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}", body["kind"].str(), r.version, r.kind));
  }
  if (r.namespaced && store_.find({"/namespaces", "", route.ns}) == nullptr) {
    return notFound({"", "namespaces", "Namespace"}, route.ns);
  }
  stamp(route, body, now);
  if (body["metadata"]["name"].str().empty()) {
    return invalid(r.subject(), "", {fieldRequired("metadata.name", "name or generateName is required")});
  }
  if (r.id() == "/pods") { defaultPod(body); }
  auto shaped = shape(r, std::move(body), {});
  if (!shaped) { return tl::unexpected(shaped.error()); }
  const StoreKey key{r.id(), route.ns, std::string{(*shaped)["metadata"]["name"].str()}};
  if (store_.find(key) != nullptr) { return alreadyExists(r.subject(), key.name); }
  const auto object = store_.put(key, *std::move(shaped), nullptr);
  finish(r, *object);
  return Response{201, *store_.find(key)->object};
}

/// What follows from a stored CRD: it is established and served.
void Api::finish(const Resource& r, const json::Value& object) {
  if (r.id() != "apiextensions.k8s.io/customresourcedefinitions") { return; }
  resources_.serve(object);
  if (!object["status"]["conditions"].items().empty()) { return; }
  json::Value next = object;
  const auto condition = [&](const char* type, const char* reason) {
    return json::Value{json::Object{{"type", type},
                                    {"status", "True"},
                                    {"reason", reason},
                                    {"lastTransitionTime", object["metadata"]["creationTimestamp"]}}};
  };
  next.set("status",
           json::Object{{"acceptedNames", object["spec"]["names"]},
                        {"conditions", json::Array{condition("NamesAccepted", "NoConflicts"),
                                                   condition("Established", "InitialNamesAccepted")}},
                        {"storedVersions", json::Array{json::Value{"v1"}}}});
  const StoreKey key{r.id(), "", std::string{object["metadata"]["name"].str()}};
  store_.put(key, std::move(next), nullptr);
}

}  // namespace gs::sandbox
