#include "serve/extender/flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "extender/protocol/request_handler.h"
#include "extender/protocol/wire.h"
#include "k8s/kubeconfig.h"
#include "process/process.h"
#include "sched/doors/door.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kConnections = 10'200;  // ten thousand idle ones, and those who ask
constexpr std::size_t kOwnDescriptors = 300;  // connections to the API server, files
constexpr Duration kIdle = 120s;              // schedulers keep theirs for 90

}  // namespace

void addExtender(process::Command command, ExtenderFlags& f, const std::string& address,
                 const std::string& help) {
  command.topic("Extender")
      .text(address, "HOST:PORT", f.address, help)
      .choice("--compat", {"default", "strict"}, f.compat,
              "strict: as tkestack's gpu-admission answered pods that were predicated before, counted quota "
              "(bound pods only) and cores above 100")
      .text("--volcano-dialect", "VERSION", f.volcano,
            "Version of the Volcano that asks, such as 1.8 or 1.13; without it predicates say no in the "
            "words of all of them. Paths "
            "under /scheduler/volcano-VERSION/ always mean that version")
      .number("--workers", "N", std::size_t{1}, std::size_t{512}, f.workers,
              "Requests that are answered at a time")
      .text("--advertise-address", "URL", f.advertise_address,
            "Where the other replica reaches this one; without it made of POD_IP or the host's name");
  process::addServerTls(command, f.tls, ", and show it to the other replica");
  process::addClientCa(command, f.tls);
  command.topic("TLS").text("--leader-ca-file", "FILE", f.leader_ca_file,
                            "The CA of the other replica's certificate");
}

Status ExtenderFlags::check() const {
  if (!extender::volcanoRules(volcano)) {
    return fail(Code::Invalid,
                fmt::format("--volcano-dialect {} is not a version of Volcano from 1.6 on; write "
                            "1.8, 1.10 or 1.13, say",
                            volcano));
  }
  if (const auto fits = process::serverTlsOf(tls); !fits) { return tl::unexpected(fits.error()); }
  return {};
}

void addOffers(process::Command command, OfferFlags& f) {
  command.topic("Extender")
      .text("--extender-pods", "NAMES", f.extender_pods,
            "schedulerNames, parted by commas, of pods that a kube-scheduler places, which asks at "
            "--extender-address: GPUs that they claim are given here")
      .flag("--schedule", f.schedules,
            "Place pods of --scheduler-name; with --schedule=false only those of --extender-pods get GPUs");
}

std::set<std::string> OfferFlags::names() const {
  const auto names = commaList(extender_pods);
  return {names.begin(), names.end()};
}

Status OfferFlags::check(const ExtenderFlags& extender, const std::string& own_name) const {
  if (names().contains(own_name)) {
    return fail(
        Code::Invalid,
        fmt::format("--extender-pods names {}, whose pods this scheduler places itself; write another "
                    "schedulerName there, which a profile of kube-scheduler has",
                    own_name));
  }
  if (!names().empty() && extender.address.empty()) {
    return fail(Code::Invalid, "--extender-pods needs --extender-address, where kube-scheduler asks");
  }
  if (!schedules && names().empty()) {
    return fail(Code::Invalid,
                "--schedule=false leaves nothing to do without --extender-pods; name the schedulerName of a "
                "kube-scheduler's profile there");
  }
  return {};
}

std::function<bool(const model::Pod&)> offeredTo(const OfferFlags& flags) {
  auto names = flags.names();
  if (names.empty()) { return {}; }
  return [names = std::move(names)](const model::Pod& pod) {
    return names.contains(pod.scheduler_name) && sched::asksAtOwnDoor(pod);
  };
}

net::HttpServer::Options httpOptionsOf(const ExtenderFlags& f) {
  const std::size_t descriptors = process::openAllDescriptors();
  net::HttpServer::Options options;
  options.address = f.address;
  options.max_workers = f.workers;
  options.max_connections = std::min(kConnections, descriptors - std::min(descriptors / 2, kOwnDescriptors));
  options.connection.limits.body_bytes = extender::kMostBody;
  options.connection.idle_timeout = kIdle;
  options.max_waiting =
      kConnections;               // beginnings of requests are taken quickly; old requests are not decided
  options.only_who_waits = true;  // a request decides something
  options.tls = process::serverTlsOf(f.tls).value_or(std::nullopt);
  return options;
}

net::ClientTls leaderTls(const ExtenderFlags& f) {
  return {.ca_file = f.leader_ca_file, .cert_file = f.tls.cert_file, .key_file = f.tls.key_file};
}

std::string advertised(const ExtenderFlags& f) {
  if (!f.advertise_address.empty()) { return f.advertise_address; }
  const auto colon = f.address.rfind(':');
  std::string host = f.address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : f.address.substr(colon);
  if (host.empty() || host == "0.0.0.0" || host == "[::]") {  // every address of this host
    const auto pod_ip = k8s::Surroundings::ofProcess().env("POD_IP");
    host = pod_ip && !pod_ip->empty() ? *pod_ip : process::hostName();
    if (host.find(':') != std::string::npos) { host = "[" + host + "]"; }
  }
  return (f.tls.cert_file.empty() ? "http://" : "https://") + host + port;
}

}  // namespace gs::serve
