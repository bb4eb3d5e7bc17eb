#include "sandbox/serve.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sandbox/whole_file.h"

namespace gs::sandbox {
namespace {

constexpr std::size_t kMaxState = std::size_t{1} << 30;
constexpr std::size_t kMaxWatches = 512;
constexpr std::size_t kMaxBody = std::size_t{3} << 20;  // as a real API server

/// Null: there is no such file yet.
Result<json::Value> readState(const std::string& path) {
  const auto text = readWholeFile(path, kMaxState);
  if (!text) {
    if (text.error().code == Code::NotFound) { return json::Value{}; }
    return tl::unexpected(text.error());
  }
  auto state = json::parse(*text, kMaxState);
  if (!state) { return fail(Code::Invalid, fmt::format("{} is no JSON: {}", path, state.error().message)); }
  // tried here, because a World takes it for granted
  Api probe{Rng{1}, Now{}};
  if (const auto restored = probe.restore(*state); !restored) {
    return fail(Code::Invalid, fmt::format("{} holds no state of the sandbox: {}; move it away to begin anew",
                                           path, restored.error().message));
  }
  return state;
}

void writeState(const std::string& path, const json::Value& state) {
  if (const auto done = replaceFile(path, json::print(state)); !done) {
    log::error("the state was not kept", {{"error", done.error().message}});
  }
}

net::HttpServer::Options httpOptions(const std::string& address) {
  net::HttpServer::Options http;
  http.address = address;
  http.limits.body_bytes = kMaxBody;
  http.limits.header_bytes = std::size_t{64} << 10;
  http.request_timeout = std::chrono::seconds{30};
  http.max_workers = 64;  // started as needed; late Bindings hold one each
  http.max_streams = kMaxWatches;
  return http;
}

/// "127.0.0.1:0" and the port that it became.
std::string urlOf(const std::string& address, std::uint16_t port) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.empty() || host == "0.0.0.0" || host == "[::]") { host = "127.0.0.1"; }
  return fmt::format("http://{}:{}", host, port);
}

}  // namespace

std::string kubeconfigFor(const std::string& url) {
  return fmt::format(R"(apiVersion: v1
kind: Config
clusters:
- name: gpu-sandbox
  cluster: {{server: "{}"}}
contexts:
- name: gpu-sandbox
  context: {{cluster: gpu-sandbox, user: gpu-sandbox, namespace: default}}
users:
- name: gpu-sandbox
  user: {{}}
current-context: gpu-sandbox
)",
                     url);
}

bool isLoopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with("127.") || host == "localhost" || host == "[::1]";
}

Result<std::unique_ptr<Server>> Server::start(Options options, const Clock& clock) {
  if (!options.open && !isLoopback(options.address)) {
    return fail(
        Code::Invalid,
        fmt::format("the sandbox has no authentication: whoever reaches '{}' may do everything in it; listen "
                    "on 127.0.0.1, or say --i-know-it-is-open",
                    options.address));
  }
  std::unique_ptr<Server> server{new Server};
  if (!options.data_file.empty()) {
    auto state = readState(options.data_file);
    if (!state) { return tl::unexpected(state.error()); }
    options.live.world.restore = *std::move(state);
    auto* states = (server->states_ = std::make_unique<Mailbox<std::shared_ptr<const json::Value>>>(2)).get();
    server->saver_ =
        std::make_unique<Worker>("state", [states, path = options.data_file](const std::stop_token&) {
          while (const auto state = states->pop()) { writeState(path, **state); }
        });
    options.live.save = [states](json::Value state) {
      states->push(std::make_shared<const json::Value>(std::move(state)));
    };
  }
  server->live_ = std::make_unique<Live>(std::move(options.live), clock);
  if (!options.request_log.empty()) {
    auto log = RequestLog::open(options.request_log);
    if (!log) { return tl::unexpected(log.error()); }
    server->log_ = *std::move(log);
  }
  server->port_ = std::make_unique<HttpPort>(*server->live_, server->log_.get());
  auto http =
      net::HttpServer::start(httpOptions(options.address),
                             [port = server->port_.get()](const net::Request& r) { return port->answer(r); });
  if (!http) { return tl::unexpected(http.error()); }
  server->http_ = std::move(*http);
  server->url_ = urlOf(options.address, server->http_->port());
  if (!options.kubeconfig.empty()) {
    if (auto wrote = replaceFile(options.kubeconfig, kubeconfigFor(server->url_)); !wrote) {
      return tl::unexpected(wrote.error());
    }
  }
  return server;
}

void Server::stop() {
  if (port_) { port_->release(); }
  if (live_) { live_->stop(); }  // ends the watches
  if (http_) { http_->stop(); }
  if (states_) { states_->close(); }
  if (saver_) { saver_->join(); }
}

}  // namespace gs::sandbox
