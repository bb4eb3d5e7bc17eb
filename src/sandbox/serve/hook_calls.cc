#include "sandbox/serve/hook_calls.h"

#include <array>
#include <string_view>
#include <utility>

#include "net/http_client.h"
#include "sandbox/serve/serve.h"

namespace gs::sandbox {
namespace {

/// What a Go client would say, in front of what ours says: so the words of other pages are found.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kGoWords{{
    {"unable to get local issuer certificate", "x509: certificate signed by unknown authority"},
    {"self-signed certificate", "x509: certificate signed by unknown authority"},
    {"self signed certificate", "x509: certificate signed by unknown authority"},
    {"certificate has expired", "x509: certificate has expired or is not yet valid"},
    {"no alternative certificate subject name", "x509: certificate is valid for other names"},
}};

std::string whyNot(const net::Answer& answer) {
  if (answer.failure == net::Failure::Timeout) { return "context deadline exceeded"; }
  for (const auto& [ours, theirs] : kGoWords) {
    if (answer.message.find(ours) == std::string::npos) { continue; }
    return "tls: failed to verify certificate: " + std::string{theirs} + " (" + answer.message + ")";
  }
  return answer.message;
}

/// "127.0.0.1:8443" of "https://127.0.0.1:8443/mutate?timeout=5s"
std::string hostOf(const std::string& url) {
  const auto begin = url.find("://") + 3;
  std::string host = url.substr(begin, url.find_first_of("/?", begin) - begin);
  const bool has_port = host.find(':', host.starts_with('[') ? host.find(']') : 0) != std::string::npos;
  return has_port ? host : host + ":443";
}

net::HttpClient::Options optionsFor(const apiserver::HookCall& call) {
  net::HttpClient::Options out;
  out.tls.ca_pem = call.address.ca_pem;
  out.tls.server_name = call.address.server_name;
  out.direct = !call.address.server_name.empty() || isLoopback(hostOf(call.address.url));
  out.connect_timeout = call.timeout;
  return out;
}

}  // namespace

bool HookCalls::start(apiserver::HookCall call) {
  const MutexLock lock{mutex_};
  const auto at = by_hook_.find(call.hook);
  const std::size_t of_one = at == by_hook_.end() ? 0 : at->second;
  if (stopping_ || under_way_ >= kMostOfAll || of_one >= kMostOfOne) { return false; }
  ++under_way_;
  ++by_hook_[call.hook];
  if (under_way_ > workers_.size()) {
    workers_.push_back(std::make_unique<Worker>("webhook", [this](const std::stop_token&) { run(); }));
  }
  return calls_.tryPush(std::move(call));
}

void HookCalls::run() {
  while (const auto call = calls_.pop()) {
    auto answer = send(*call);
    ended(call->hook);
    done_(call->id, std::move(answer));
  }
}

apiserver::HookAnswer HookCalls::send(const apiserver::HookCall& call) {
  net::HttpClient client{optionsFor(call)};
  {
    const MutexLock lock{mutex_};
    if (stopping_) { client.cancel(); }
    clients_.insert(&client);
  }
  net::ClientRequest request;
  request.method = "POST";
  request.url = call.address.url;
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  request.body = call.body;
  request.timeout = call.timeout;
  request.max_body = kMostOfAnswer;
  net::Answer answer = client.send(request);
  const MutexLock lock{mutex_};
  clients_.erase(&client);
  return {answer.status, std::move(answer.body), answer.status == 0 ? whyNot(answer) : ""};
}

void HookCalls::ended(const std::string& hook) {
  const MutexLock lock{mutex_};
  --under_way_;
  if (--by_hook_[hook] == 0) { by_hook_.erase(hook); }
}

void HookCalls::stop() {
  std::vector<std::unique_ptr<Worker>> workers;
  {
    const MutexLock lock{mutex_};
    stopping_ = true;
    for (net::HttpClient* client : clients_) { client->cancel(); }
    workers = std::move(workers_);
    workers_.clear();
  }
  calls_.close();
  for (const auto& worker : workers) { worker->join(); }
}

}  // namespace gs::sandbox
