#include "process/extender_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "extender/front.h"
#include "extender/wire.h"
#include "k8s/kubeconfig.h"
#include "process/process.h"

namespace gs::process {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kConnections = 10'200;  // ten thousand idle ones, and those who ask
constexpr std::size_t kOwnDescriptors = 300;  // connections to the API server, files
constexpr Duration kIdle = 120s;              // schedulers keep theirs for 90

}  // namespace

void addExtender(CLI::App& app, ExtenderFlags& f) {
  app.add_option("--compat", f.compat,
                 "strict: as the ancestor answered pods that were predicated before, counted quota (bound "
                 "pods only) and cores above 100")
      ->check(CLI::IsMember({"default", "strict"}))
      ->capture_default_str();
  app.add_option(
      "--volcano-dialect", f.volcano,
      "Version of the Volcano that asks, such as 1.8 or 1.13; without it, predicates say no in the "
      "words of all of them. Paths under /scheduler/volcano-VERSION/ always mean that version");
  app.add_option("--advertise-address", f.advertise_address,
                 "URL at which the other replica reaches this one; default: made of POD_IP or the host name");
  app.add_option("--tls-cert-file", f.cert_file,
                 "Serve HTTPS with this certificate (and its chain), and show it to the other replica");
  app.add_option("--tls-private-key-file", f.key_file, "Key of that certificate");
  app.add_option("--client-ca-file", f.client_ca_file, "Callers need a certificate of this CA");
  app.add_option("--leader-ca-file", f.leader_ca_file, "CA of the other replica's certificate");
  app.add_option("--workers", f.workers, "Requests that are answered at a time")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
}

Status checkExtender(const ExtenderFlags& f) {
  if (!extender::volcanoRules(f.volcano)) {
    return fail(Code::Invalid,
                fmt::format("--volcano-dialect {} is not a version of Volcano from 1.6 on; write "
                            "1.8, 1.10 or 1.13, say",
                            f.volcano));
  }
  if (f.cert_file.empty() != f.key_file.empty()) {
    return fail(Code::Invalid, "--tls-cert-file and --tls-private-key-file go together; give both");
  }
  if (!f.client_ca_file.empty() && f.cert_file.empty()) {
    return fail(Code::Invalid,
                "--client-ca-file needs --tls-cert-file: without TLS nobody shows a certificate");
  }
  return {};
}

net::HttpServer::Options extenderOptions(const ExtenderFlags& f) {
  const std::size_t descriptors = openAllDescriptors();
  net::HttpServer::Options options;
  options.address = f.address;
  options.max_workers = f.workers;
  options.max_connections = std::min(kConnections, descriptors - std::min(descriptors / 2, kOwnDescriptors));
  options.connection.limits.body_bytes = extender::kMostBody;
  options.connection.idle_timeout = kIdle;
  options.max_waiting =
      kConnections;               // beginnings of requests are taken quickly; old questions are not decided
  options.only_who_waits = true;  // a question decides something
  if (!f.cert_file.empty()) { options.tls = net::ServerTls{f.cert_file, f.key_file, f.client_ca_file}; }
  return options;
}

net::ClientTls leaderTls(const ExtenderFlags& f) {
  return {.ca_file = f.leader_ca_file, .cert_file = f.cert_file, .key_file = f.key_file};
}

std::string advertised(const ExtenderFlags& f) {
  if (!f.advertise_address.empty()) { return f.advertise_address; }
  const auto colon = f.address.rfind(':');
  std::string host = f.address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : f.address.substr(colon);
  if (host.empty() || host == "0.0.0.0" || host == "[::]") {  // every address of this host
    const auto pod_ip = k8s::Surroundings::ofProcess().env("POD_IP");
    host = pod_ip && !pod_ip->empty() ? *pod_ip : hostName();
    if (host.find(':') != std::string::npos) { host = "[" + host + "]"; }
  }
  return (f.cert_file.empty() ? "http://" : "https://") + host + port;
}

}  // namespace gs::process
