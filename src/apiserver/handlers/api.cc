#include "apiserver/handlers/api.h"

#include <fmt/format.h>

#include "apiserver/meta/event_form.h"

namespace gs::apiserver {
namespace {

constexpr Duration kEventLife = std::chrono::hours{1};

json::Value namespaceObject(const char* name) {
  return json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", name}}}};
}

const char* optionsKind(const std::string& method) {
  if (method == "DELETE") { return "DeleteOptions"; }
  return method == "POST" ? "CreateOptions" : method == "PUT" ? "UpdateOptions" : "PatchOptions";
}

/// Everybody may do everything.
json::Value reviewOf(const std::string& kind) {
  if (kind == "SelfSubjectAccessReview") {
    return json::Object{{"allowed", true}, {"reason", "the sandbox allows everything"}};
  }
  if (kind == "SelfSubjectReview") {
    return json::Object{{"userInfo", json::Object{{"username", "nobody asks who you are"},
                                                  {"groups", json::Array{json::Value{"system:masters"}}}}}};
  }
  const json::Value all = json::Array{json::Value{"*"}};
  return json::Object{
      {"incomplete", false},
      {"resourceRules",
       json::Array{json::Value{json::Object{{"verbs", all}, {"apiGroups", all}, {"resources", all}}}}},
      {"nonResourceRules", json::Array{json::Value{json::Object{{"verbs", all}, {"nonResourceURLs", all}}}}}};
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
  resources_.release();
  auto route = resources_.route(request.target);
  if (!route) { return toResponse(route.error()); }
  Call call{*std::move(route), request, now};
  auto result = dispatch(call);
  if (request.method != "GET") { collectGarbage(now); }
  Response response = result ? *std::move(result) : toResponse(result.error());
  response.warnings = std::move(call.warnings);
  return response;
}

Done Api::readOptions(Call& call) const {
  const std::string dry = call.query("dryRun");
  const std::string checking = call.query("fieldValidation");
  const std::string& method = call.request.method;
  FieldErrors errors;
  if (!dry.empty() && dry != "All") {
    errors.push_back(fieldNotSupported("dryRun", json::Value{dry}, {"All"}));
  }
  if (!checking.empty() && checking != "Ignore" && checking != "Strict" && checking != "Warn") {
    errors.push_back(
        fieldNotSupported("fieldValidation", json::Value{checking}, {"", "Ignore", "Strict", "Warn"}));
  }
  if (!errors.empty() && method != "GET") {
    return invalidKind(optionsKind(method), "meta.k8s.io", "", errors);
  }
  call.dry_run = dry == "All";
  call.checking = checking == "Strict"   ? Checking::Strict
                  : checking == "Ignore" ? Checking::Ignore
                                         : Checking::Warn;
  return {};
}

Api::Result Api::dispatch(Call& call) {
  const std::string& method = call.request.method;
  const bool named = !call.route.name.empty();
  if (auto done = readOptions(call); !done) { return tl::unexpected(done.error()); }
  if (!call.route.subresource.empty() &&
      (call.route.subresource != "status" || !call.resource().has_status)) {
    return dispatchSubresource(call);
  }
  if (call.resource().create_only) {
    return method == "POST" && !named ? post(call) : Result{methodNotAllowed()};
  }
  if (method == "GET") { return named ? get(call) : list(call); }
  if (method == "DELETE" && call.route.subresource.empty()) {
    if (!call.request.bad_body.empty()) {
      return plainError("couldn't get version/kind; json parse error: " + call.request.bad_body);
    }
    return named ? remove(call) : removeAll(call);
  }
  if (method == "POST" && !named) { return post(call); }
  if (method == "PUT" && named) { return update(call); }
  if (method == "PATCH" && named) { return patch(call); }
  return methodNotAllowed();
}

Api::Result Api::dispatchSubresource(Call& call) {
  const Resource& r = call.resource();
  const bool posts = call.request.method == "POST";
  if (r.is("/pods") && call.route.subresource == "binding") {
    return posts ? bind(call) : Result{methodNotAllowed()};
  }
  if (r.is("/pods") && call.route.subresource == "eviction") {
    return posts ? evict(call) : Result{methodNotAllowed()};
  }
  if (auto none = noSubresource(call.route)) { return tl::unexpected(*std::move(none)); }
  if (call.route.subresource == "scale") {
    return call.request.method == "PATCH" ? patch(call) : scale(call);
  }
  return methodNotAllowed();  // its log is only read, and not here
}

std::optional<ApiError> Api::noSubresource(const Route& route) const {
  const Resource& r = *route.resource;
  const std::string& sub = route.subresource;
  if (sub.empty() || (sub == "status" && r.has_status)) { return std::nullopt; }
  if (sub == "scale" && r.scales && !r.custom) { return std::nullopt; }
  if (r.is("/pods")) {
    if (sub == "binding" || sub == "eviction" || sub == "log") { return std::nullopt; }
    const auto* pod = store_.find({"/pods", route.ns, route.name});
    const bool enters = sub == "exec" || sub == "attach" || sub == "portforward";
    if (enters && pod != nullptr && (*pod->object)["spec"]["nodeName"].str().empty()) {
      return badRequest(fmt::format("pod {} does not have a host assigned", route.name)).value();
    }
  }
  // As the real server words what a CRD does not declare. A scale that it does declare is missing here.
  if (r.custom && !(sub == "scale" && r.scales)) { return notFound(r.subject(), route.name).value(); }
  return noSuchResource().value();
}

std::optional<ApiError> Api::nowhere(std::string_view target) const {
  const auto route = resources_.route(target);
  return route ? noSubresource(*route) : std::optional{route.error()};
}

Api::Result Api::get(const Call& call) const {
  const auto* found = stored(call);
  if (found == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  return Response{200, shown(call.resource(), *found->object)};
}

/// What is posted to a collection: a new object, or a question that is answered and forgotten.
Api::Result Api::post(Call& call) {
  if (call.resource().namespaced && call.route.ns.empty()) {
    return call.resource().custom ? Result{noSuchPage()} : Result{methodNotAllowed()};
  }
  if (call.resource().is(kBindingsId)) { return bind(call); }
  auto body = readObject(call, call.resource());
  if (!body) { return tl::unexpected(body.error()); }
  if (call.resource().create_only) {
    body->set("status", reviewOf(call.resource().kind));
    return Response{201, *std::move(body)};
  }
  return create(call, *std::move(body));
}

ObjectPtr Api::commit(const Call& call, json::Value object, OwnersPtr owners) {
  if (call.resource().coreEvents()) { object = fromCoreEvent(std::move(object)); }
  if (call.dry_run) { return std::make_shared<const json::Value>(std::move(object)); }
  auto written = store_.put(keyOf(call), std::move(object), std::move(owners));
  if (call.resource().isEvents()) {
    tell(keyOf(call), call.now.mono);
    expireEvents(call.now);
  }
  return written;
}

void Api::tell(const StoreKey& event, Mono at) {
  told_.emplace_back(at, event);
  last_told_[event] = at;
}

void Api::expireEvents(Now now) {
  while (!told_.empty() && told_.front().first + kEventLife <= now.mono) {
    const auto [at, event] = std::move(told_.front());
    told_.pop_front();
    const auto last = last_told_.find(event);
    if (last == last_told_.end() || last->second != at) { continue; }
    last_told_.erase(last);
    drop(event, now);
  }
}

}  // namespace gs::apiserver
