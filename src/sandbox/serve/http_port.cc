#include "sandbox/serve/http_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apiserver/present/discovery.h"
#include "apiserver/present/table.h"
#include "sandbox/node/pod_log.h"
#include "sandbox/serve/admin.h"

namespace gs::sandbox {
namespace {

constexpr std::size_t kMaxChunk = std::size_t{1} << 20;
constexpr const char* kLateBindings = "/sandbox/v1/faults/late-bindings";
constexpr std::int64_t kMaxLate = 300;  // seconds
// What kubectl asks for, with any Accept.
constexpr const char* kOpenApiV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

net::Response asJson(int status, const json::Value& body) {
  net::Response out = net::jsonResponse(status, json::print(body) + "\n");
  out.headers.emplace_back("Cache-Control", "no-cache, private");
  return out;
}

json::Value versionBody() {
  return json::Object{{"major", "1"},    {"minor", "33"},           {"gitVersion", "v1.33.0+gpu-sandbox"},
                      {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                      {"goVersion", ""}, {"compiler", "gcc"},       {"platform", "linux/amd64"}};
}

apiserver::RowObject rowsOf(const apiserver::Query& query) {
  const std::string wanted = apiserver::valueOf(query, "includeObject");
  return wanted == "Object" ? apiserver::RowObject::Object
         : wanted == "None" ? apiserver::RowObject::None
                            : apiserver::RowObject::Metadata;
}

bool isBinding(std::string_view path) { return path.ends_with("/binding") || path.ends_with("/bindings"); }

net::Response answerOf(const apiserver::Response& response) {
  if (response.code == 204) { return {.status = 204}; }
  net::Response out = response.text.empty() ? asJson(response.code, response.body)
                                            : net::textResponse(response.code, response.text);
  for (const auto& warning : response.warnings) {
    out.headers.emplace_back("Warning", "299 - " + apiserver::goQuote(warning));
  }
  return out;
}

net::Response asError(const apiserver::Refused& refused) {
  return answerOf(apiserver::toResponse(refused.value()));
}

/// An empty protobuf message is a document that describes nothing. kubectl takes it, and checks no kind
/// against it: it asks for version 2 about kinds that version 3 does not describe, a List among them.
net::Response openApiV2() {
  net::Response out;
  out.headers = {{"Content-Type", kOpenApiV2}};
  return out;
}

/// As a Table, where that is wanted.
void showAs(const apiserver::Wanted& wanted, World& w, const apiserver::Request& request,
            apiserver::Response& response) {
  if (wanted.form != apiserver::Form::Table || response.code >= 300) { return; }
  const auto route = w.api().resources().route(request.target);
  if (!route) { return; }
  response.body =
      apiserver::tableOfAnswer(*route->resource, response.body, w.now().wall, rowsOf(route->query));
  if (response.body["kind"].str() == "Table") {
    response.body.set("apiVersion", "meta.k8s.io/" + wanted.table_version);
  }
}

net::Response stopping() {
  return asError(apiserver::refuse(503, "ServiceUnavailable", "the server is stopping, please try again"));
}

/// The lines of a watch. As the real server, a Table names its columns in the first event only.
class WatchBody {
 public:
  WatchBody(std::shared_ptr<WatchStream> stream, apiserver::Wanted wanted, apiserver::RowObject rows,
            const Clock& clock)
      : stream_{std::move(stream)}, wanted_{std::move(wanted)}, rows_{rows}, clock_{&clock} {}

  std::optional<std::string> operator()(std::chrono::nanoseconds wait) {
    if (stream_->events.drained()) { return std::nullopt; }
    std::string out;
    auto event = stream_->events.pop(clock_->now().mono + wait);
    for (; event; event = out.size() < kMaxChunk ? stream_->events.pop(Mono::min()) : std::nullopt) {
      stream_->behind -= event->bytes;
      out += json::print(shown(std::move(*event))) + "\n";
    }
    return out;
  }

 private:
  json::Value shown(WatchStream::Event event) {
    json::Value& e = event.event;
    if (wanted_.form != apiserver::Form::Table || e["type"].str() == "ERROR") { return std::move(e); }
    const json::Value object = e["object"];
    std::vector<const json::Value*> objects;
    if (e["type"].str() != "BOOKMARK") { objects.push_back(&object); }
    json::Value table = apiserver::makeTable(
        stream_->resource, objects, json::Object{{"resourceVersion", object["metadata"]["resourceVersion"]}},
        event.at, rows_);
    table.set("apiVersion", "meta.k8s.io/" + wanted_.table_version);
    if (columns_sent_) { table.set("columnDefinitions", nullptr); }
    columns_sent_ = true;
    e.set("object", std::move(table));
    return std::move(e);
  }

  std::shared_ptr<WatchStream> stream_;
  apiserver::Wanted wanted_;
  apiserver::RowObject rows_;
  const Clock* clock_;
  bool columns_sent_ = false;
};

}  // namespace

net::Response HttpPort::answer(const net::Request& request) {
  const std::string path{request.path()};
  const bool reading = request.method == "GET" || request.method == "HEAD";
  if (path == "/healthz" || path == "/livez" || path == "/readyz") { return net::textResponse(200, "ok"); }
  if (path == "/version" || path == "/version/") { return asJson(200, versionBody()); }
  if (path == "/openapi/v2" && reading) { return openApiV2(); }
  if (path == "/openapi/v3" || path.starts_with("/openapi/v3/")) { return openApi(path); }
  const std::string* header = net::findHeader(request.headers, "Accept");
  const auto accept = apiserver::parseAccept(header == nullptr ? std::string_view{} : *header);
  if (reading && path.starts_with("/api")) {
    std::optional<apiserver::Discovered> found;
    if (!live_.ask([&](World& w) { found = apiserver::discover(w.api().resources(), path, accept); })) {
      return stopping();
    }
    if (found) {
      net::Response out = net::jsonResponse(200, json::print(found->body) + "\n");
      out.headers = {{"Content-Type", found->content_type}, {"Vary", "Accept"}};
      return out;
    }
  }
  if (path == kLateBindings) { return setLateBindings(request); }
  net::Response out = resource(request, accept);
  if (log_ != nullptr) { note(request, out.status); }
  return out;
}

void HttpPort::note(const net::Request& request, int code) {
  (void)live_.ask([&](World& w) {
    if (const auto route = w.api().resources().route(request.target)) { log_->add(request, *route, code); }
  });
}

net::Response HttpPort::setLateBindings(const net::Request& request) {
  const auto body = json::parse(request.body);
  const std::int64_t seconds = body ? (*body)["seconds"].intOr(-1) : -1;
  if (request.method != "POST" || seconds < 0 || seconds > kMaxLate) {
    return asError(apiserver::badRequest(fmt::format("POST {{\"seconds\": N}}, N from 0 to {}, not {} {}",
                                                     kMaxLate, request.method, request.body.substr(0, 100))));
  }
  late_.setDelay(std::chrono::seconds{seconds});
  return asJson(200, apiserver::successBody({}));
}

net::Response HttpPort::openApi(std::string_view path) {
  std::string text;
  const bool asked = live_.ask([&](World& w) {
    const apiserver::Resources& resources = w.api().resources();
    text = path.size() <= 12 ? json::print(documents_.index(resources))
                             : documents_.document(resources, std::string{path.substr(12)});
  });
  if (!asked) { return stopping(); }
  return text.empty() ? asError(apiserver::noSuchPage()) : net::jsonResponse(200, text);
}

net::Response HttpPort::resource(const net::Request& in, const std::vector<apiserver::MediaRange>& accept) {
  const apiserver::Wanted wanted = apiserver::wantedForm(accept);
  if (wanted.form == apiserver::Form::Nothing) {
    return asError(apiserver::refuse(406, "NotAcceptable",
                                     "only the following media types are accepted: application/json"));
  }
  const std::string* type = net::findHeader(in.headers, "Content-Type");
  apiserver::Request request;
  request.method = in.method == "HEAD" ? "GET" : in.method;
  request.target = in.target;
  request.content_type = type == nullptr ? "application/json" : apiserver::mediaType(*type);
  if (request.method == "GET") {
    return apiserver::isTrue(apiserver::readQuery(in.target), "watch") ? watch(request, wanted)
                                                                       : carryOut(request, wanted);
  }
  auto body = apiserver::readBody(request.content_type, in.body);
  if (!body) { return unreadable(request, body.error()); }
  request.body = std::move(body->value);
  request.bad_body = std::move(body->bad);
  request.shown_body = std::move(body->shown);
  request.user = whoSent(in);
  if (const std::string* agent = net::findHeader(in.headers, "User-Agent")) { request.user_agent = *agent; }
  if (request.method == "POST" && isBinding(in.path())) { late_.hold(live_.clock()); }
  return carryOut(request, wanted);
}

/// Where nothing is served, that is the answer: how to send it better would be no help.
net::Response HttpPort::unreadable(const apiserver::Request& request, const apiserver::ApiError& why) {
  std::optional<apiserver::ApiError> nowhere;
  const bool asked = live_.ask([&](World& w) { nowhere = w.api().nowhere(request.target); });
  if (!asked) { return stopping(); }
  return answerOf(apiserver::toResponse(nowhere.value_or(why)));
}

/// What cannot be watched is answered as if nobody had asked for that.
net::Response HttpPort::watch(const apiserver::Request& request, const apiserver::Wanted& wanted) {
  bool watches = false;
  const bool asked = live_.ask([&](World& w) {
    const auto route = w.api().resources().route(request.target);
    watches = route && apiserver::isWatch(*route);
  });
  if (!asked) { return stopping(); }
  if (!watches) { return carryOut(request, wanted); }
  auto stream = live_.watch(request.target);
  if (!stream) { return answerOf(apiserver::toResponse(stream.error())); }
  net::Response out;
  out.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}};
  out.stream =
      WatchBody{*std::move(stream), wanted, rowsOf(apiserver::readQuery(request.target)), live_.clock()};
  return out;
}

net::Response HttpPort::carryOut(const apiserver::Request& request, const apiserver::Wanted& wanted) {
  const bool reads = request.method == "GET";
  auto response = live_.answer(request, [&](World& w) -> std::optional<apiserver::Response> {
    if (auto done = admin(w, request)) { return done; }
    if (auto log = podLog(w.api(), w.kubelet(), request, w.now())) { return log; }
    if (!reads) { return std::nullopt; }
    auto found = w.api().handle(request, w.now());
    showAs(wanted, w, request, found);
    return found;
  });
  if (!response) { return stopping(); }
  if (!reads && wanted.form == apiserver::Form::Table) {
    (void)live_.ask([&](World& w) { showAs(wanted, w, request, *response); });
  }
  return answerOf(*response);
}

}  // namespace gs::sandbox
