#include "sandbox/serve/serve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <filesystem>

#include "base/files.h"
#include "base/log.h"
#include "net/socket.h"
#include "sandbox/serve/whole_file.h"

namespace gs::sandbox {
namespace {

constexpr std::size_t kMaxWatches = 512;
constexpr std::size_t kMaxBody = std::size_t{3} << 20;  // as a real API server

/// Null: there is no such file yet.
Result<json::Value> readState(const std::string& path, std::size_t max_bytes) {
  const auto text = readFile(path, max_bytes);
  if (!text) {
    if (text.error().code == Code::NotFound) { return json::Value{}; }
    return tl::unexpected(text.error());
  }
  auto state = json::parse(*text, max_bytes);
  if (!state) { return fail(Code::Invalid, fmt::format("{} is no JSON: {}", path, state.error().message)); }
  // tried here, because a World takes it for granted
  apiserver::Api probe{Rng{1}, Now{}};
  if (const auto restored = probe.restore(*state); !restored) {
    return fail(Code::Invalid, fmt::format("{} holds no state of the sandbox: {}; move it away to begin anew",
                                           path, restored.error().message));
  }
  return state;
}

/// Better an older state than one that no start would read.
Status doesNotFit(const std::string& path, std::size_t bytes, std::size_t max_bytes) {
  return fail(Code::Invalid,
              fmt::format("the state has {} bytes, and no more than {} can be read back: {} stays as it was "
                          "written last; delete what is not needed, and the next change is kept again",
                          bytes, max_bytes, path));
}

void writeState(const std::string& path, const json::Value& state, std::size_t max_bytes) {
  const std::string text = json::print(state);
  const auto done =
      text.size() <= max_bytes ? replaceFile(path, text) : doesNotFit(path, text.size(), max_bytes);
  if (!done) { log::error("the state was not kept", {{"error", done.error().message}}); }
}

/// A Status, as the real server answers.
net::Response notRead(int status) {
  const auto refused =
      status == 413
          ? apiserver::refuse(413, "RequestEntityTooLarge",
                              fmt::format("Request entity too large: limit is {}", kMaxBody))
          : apiserver::refuse(status, status == 400 ? "BadRequest" : "",
                              "the request was refused: it is malformed, or its header is too long");
  return net::jsonResponse(status, json::print(apiserver::statusBody(refused.value())) + "\n");
}

net::HttpServer::Options httpOptions(const Server::Options& options) {
  net::HttpServer::Options http;
  http.address = options.address;
  http.tls = options.tls;
  http.connection.limits.body_bytes = kMaxBody;
  http.connection.limits.header_bytes = std::size_t{64} << 10;
  http.connection.request_timeout = std::chrono::seconds{30};
  http.max_workers = 64;  // started as needed; late Bindings hold one each
  http.max_streams = kMaxWatches;
  http.connection.refusal = notRead;
  return http;
}

/// "127.0.0.1:0" and the port that it became.
std::string urlOf(const char* scheme, const std::string& address, std::uint16_t port) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.empty() || host == "*" || host == "0.0.0.0" || host == "[::]") { host = "127.0.0.1"; }
  return fmt::format("{}://{}:{}", scheme, host, port);
}

std::string openWarning(const std::string& address) {
  return fmt::format(
      "the sandbox has no authentication: whoever reaches '{}' may do everything in it; listen "
      "on 127.0.0.1, or say --i-know-it-is-open",
      address);
}

}  // namespace

std::string kubeconfigFor(const std::string& url, const std::string& ca_file) {
  const std::string trusted = ca_file.empty() ? ""
                                              : fmt::format(", certificate-authority: \"{}\"",
                                                            std::filesystem::absolute(ca_file).string());
  const char* user = ca_file.empty() ? "" : "token: anybody";  // over TLS kubectl would ask for a name
  return fmt::format(R"(apiVersion: v1
kind: Config
clusters:
- name: gpu-sandbox
  cluster: {{server: "{}"{}}}
contexts:
- name: gpu-sandbox
  context: {{cluster: gpu-sandbox, user: gpu-sandbox, namespace: default}}
users:
- name: gpu-sandbox
  user: {{{}}}
current-context: gpu-sandbox
)",
                     url, trusted, user);
}

bool isLoopback(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost") { return true; }
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) { return ntohl(v4.s_addr) >> 24U == 127; }
  if (!host.starts_with('[') || !host.ends_with(']')) { return false; }
  host = host.substr(1, host.size() - 2);
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Result<std::unique_ptr<Server>> Server::start(Options options, const Clock& clock) {
  std::unique_ptr<Server> server{new Server};
  if (const auto begun = server->begin(options, clock); !begun) { return tl::unexpected(begun.error()); }
  return server;
}

/// What can be refused comes first: a server that does not come up has changed nothing.
Status Server::begin(Options& options, const Clock& clock) {
  if (!net::isListenAddress(options.address)) {
    return fail(Code::Invalid, fmt::format("'{}' is not an address to listen on; write HOST:PORT, such as "
                                           "127.0.0.1:8001 or [::1]:8001, or 127.0.0.1:0 for any free port",
                                           options.address));
  }
  if (!options.open && !isLoopback(options.address)) {
    return fail(Code::Invalid, openWarning(options.address));
  }
  if (!options.data_file.empty()) {
    if (auto kept = keepStateIn(options); !kept) { return kept; }
  }
  if (!options.request_log.empty()) {
    auto log = RequestLog::open(options.request_log);
    if (!log) { return tl::unexpected(log.error()); }
    log_ = *std::move(log);
  }
  if (auto listens = listen(options); !listens) { return listens; }
  live_ = std::make_unique<Live>(std::move(options.live), clock);
  port_ = std::make_unique<HttpPort>(*live_, log_.get());
  answers_.set_value(port_.get());
  answering_ = true;
  if (options.kubeconfig.empty()) { return {}; }
  return replaceFile(options.kubeconfig, kubeconfigFor(url_, options.tls ? options.tls->cert_file : ""));
}

Status Server::listen(const Options& options) {
  const std::string& address = options.address;
  auto http = net::HttpServer::start(
      httpOptions(options), [answers = answers_.get_future().share()](const net::Request& request) {
        HttpPort* port = answers.get();  // the cluster is being made
        return port != nullptr ? port->answer(request) : net::textResponse(503, "the server is stopping\n");
      });
  if (!http) { return tl::unexpected(http.error()); }
  http_ = std::move(*http);
  url_ = urlOf(options.tls ? "https" : "http", address, http_->port());
  return {};
}

/// The state that is there, for `options.live` to begin with, and a thread that writes each next one.
Status Server::keepStateIn(Options& options) {
  const std::string path = behindLinks(options.data_file);
  auto lock = lockBeside(path);
  if (!lock) { return tl::unexpected(lock.error()); }
  data_lock_ = *std::move(lock);
  auto state = readState(path, options.max_state);
  if (!state) { return tl::unexpected(state.error()); }
  if (auto writes = tryReplacing(path); !writes) { return writes; }
  restored_ = !state->isNull();
  options.live.world.restore = *std::move(state);
  auto* states = (states_ = std::make_unique<Mailbox<std::shared_ptr<const json::Value>>>(2)).get();
  saver_ = std::make_unique<Worker>("state",
                                    [states, path, max_bytes = options.max_state](const std::stop_token&) {
                                      while (const auto next = states->pop()) {
                                        writeState(path, **next, max_bytes);
                                      }
                                    });
  options.live.save = [states](json::Value next) {
    states->push(std::make_shared<const json::Value>(std::move(next)));
  };
  return {};
}

void Server::stop() {
  if (!answering_) { answers_.set_value(nullptr); }
  answering_ = true;
  if (port_) { port_->release(); }
  if (live_) { live_->stop(); }  // ends the watches
  if (http_) { http_->stop(); }
  if (states_) { states_->close(); }
  if (saver_) { saver_->join(); }
}

}  // namespace gs::sandbox
