#include "apiserver/handlers/api.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "apiserver/admission/plugins.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/list_options.h"
#include "apiserver/handlers/reads.h"
#include "apiserver/handlers/saved.h"
#include "apiserver/meta/selectors.h"
#include "apiserver/meta/warnings.h"

namespace gs::apiserver {
namespace {

json::Value namespaceObject(const char* name) {
  return json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", name}}}};
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

Api::Api(Rng rng, Now now) : writes_{rng, store_, resources_, admission_, definitions_, events_, deletes_} {
  addBuiltins(admission_, store_);
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    (void)handle({"POST", "/api/v1/namespaces", "application/json", namespaceObject(name)}, now);
  }
}

Response Api::handle(const Request& request, Now now) {
  Kept kept;
  return *answer(request, kept, now);
}

std::variant<Response, RequestId> Api::begin(Request request, Now now) {
  const RequestId request_id = next_request_id_++;
  Waiting waiting{std::move(request), Kept{AdmissionNotes{request_id}}};
  if (auto response = answer(waiting.request, waiting.kept, now)) { return *std::move(response); }
  waiting_.emplace(request_id, std::move(waiting));
  return request_id;
}

std::optional<Response> Api::answered(RequestId request_id, AdmissionResponse said, Now now) {
  const auto it = waiting_.find(request_id);
  if (it == waiting_.end()) { return std::nullopt; }
  Waiting& waiting = it->second;
  waiting.kept.notes.answer(std::move(said));
  auto response = answer(waiting.request, waiting.kept, now);
  if (response) { waiting_.erase(it); }
  return response;
}

std::optional<Response> Api::answer(const Request& request, Kept& kept, Now now) {
  resources_.release();
  auto route = resources_.route(request.target);
  if (!route) { return toResponse(route.error()); }
  Call call{*std::move(route), request, now, kept};
  auto result = dispatch(call);
  if (request.method != "GET") { garbage_.collect(deletes_, now); }
  if (kept.notes.waits()) { return std::nullopt; }
  Response response = result ? *std::move(result) : toResponse(result.error());
  response.warnings = boundedWarnings(std::move(call.warnings));
  return response;
}

Handled Api::dispatch(Call& call) {
  const std::string& method = call.request.method;
  const bool named = !call.route.name.empty();
  if (auto done = readOptions(call); !done) { return tl::unexpected(done.error()); }
  if (!call.route.subresource.empty() &&
      (call.route.subresource != "status" || !call.resource().has_status)) {
    return dispatchSubresource(call);
  }
  if (call.resource().create_only) {
    return method == "POST" && !named ? post(call) : Handled{methodNotAllowed()};
  }
  if (method == "GET") { return named ? get(store_, call) : list(store_, call); }
  if (method == "DELETE" && call.route.subresource.empty()) {
    if (!call.request.bad_body.empty()) {
      return plainError("couldn't get version/kind; json parse error: " + call.request.bad_body);
    }
    return named ? deletes_.remove(call) : deletes_.removeAll(call);
  }
  if (method == "POST" && !named) { return post(call); }
  if (method == "PUT" && named) { return writes_.update(call); }
  if (method == "PATCH" && named) { return writes_.patch(call); }
  return methodNotAllowed();
}

Handled Api::dispatchSubresource(Call& call) {
  const Resource& r = call.resource();
  const bool posts = call.request.method == "POST";
  if (r.is("/pods") && call.route.subresource == "binding") {
    return posts ? pods_.bind(call) : Handled{methodNotAllowed()};
  }
  if (r.is("/pods") && call.route.subresource == "eviction") {
    return posts ? pods_.evict(call) : Handled{methodNotAllowed()};
  }
  if (auto none = noSubresource(call.route)) { return tl::unexpected(*std::move(none)); }
  if (call.route.subresource == "scale") {
    return call.request.method == "PATCH" ? writes_.patch(call) : writes_.scale(call);
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

/// What is posted to a collection: a new object, or a question that is answered and forgotten.
Handled Api::post(Call& call) {
  if (call.resource().namespaced && call.route.ns.empty()) {
    return call.resource().custom ? Handled{noSuchPage()} : Handled{methodNotAllowed()};
  }
  if (call.resource().is(kBindingsId)) { return pods_.bind(call); }
  auto body = readObject(call, resources_, call.resource());
  if (!body) { return tl::unexpected(body.error()); }
  if (call.resource().create_only) {
    body->set("status", reviewOf(call.resource().kind));
    return Response{201, *std::move(body)};
  }
  return writes_.create(call, *std::move(body));
}

Answer<WatchId> Api::watch(std::string_view target) {
  auto route = resources_.route(target);
  if (!route) { return tl::unexpected(route.error()); }
  auto labels = Selector::labels(valueOf(route->query, "labelSelector"));
  if (!labels) { return tl::unexpected(labels.error()); }
  auto fields = Selector::fields(valueOf(route->query, "fieldSelector"), route->resource->id());
  if (!fields) { return tl::unexpected(fields.error()); }
  const auto from = readWatchOptions(route->query);
  if (!from) { return tl::unexpected(from.error()); }
  return watches_.open({route->resource, route->ns, *std::move(labels), *std::move(fields), *from});
}

json::Value Api::save() const { return saveState(store_); }

gs::Status Api::take(const json::Value& saved, bool goes_back) {
  auto state = readState(saved);
  if (!state) { return tl::unexpected(state.error()); }
  watches_.clear();
  events_.clear();
  for (const auto& [key, stored] : state->objects) {
    // When they were written is not kept: an hour from the start on.
    if (key.resource == kEventsId) { events_.written(key, Mono{}); }
  }
  resources_ = std::move(state->resources);
  store_.reset(std::move(state->objects), state->revision, goes_back);
  return {};
}

}  // namespace gs::apiserver
