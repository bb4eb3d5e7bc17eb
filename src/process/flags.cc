#include "process/flags.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "process/process.h"

namespace gs::process {

Result<k8s::Access> ClusterFlags::access() const {
  const auto surroundings = k8s::Surroundings::ofProcess();
  return in_cluster ? k8s::inClusterAccess(surroundings)
                    : k8s::loadAccessTo(master, kubeconfig, context, surroundings);
}

void addKubeconfig(Command command, ClusterFlags& f) {
  command.topic("Cluster")
      .text("--kubeconfig", "FILE", f.kubeconfig,
            "A kubeconfig; without it KUBECONFIG, the pod's service account, ~/.kube/config, in this order")
      .text("--context", "NAME", f.context, "Its context; without it the current one");
}

void addCluster(Command command, ClusterFlags& f) {
  addKubeconfig(command, f);
  command.topic("Cluster").number("--connections", "N", std::size_t{1}, std::size_t{256}, f.connections,
                                  "Calls to the API server at a time");
}

void addClientGo(Command command, ClusterFlags& f) {
  command.topic("Cluster")
      .text("--master", "URL", f.master, "The API server, in place of the kubeconfig's")
      .flag("--incluster-mode", f.in_cluster, "As the pod's service account, whatever else there is");
}

void addElection(Command command, ElectionFlags& f, const std::string& lease_namespace) {
  command.topic("Leader election")
      .flag("--leader-elect,!--no-leader-elect", f.elect,
            "Decide only while holding the leader lease; without it only one process may ever run")
      .text("--lease-namespace", "NAMESPACE", f.lease_namespace,
            lease_namespace + "; without it the pod's, or the kubeconfig context's")
      .text("--identity", "NAME", f.config.identity,
            "Our name in the lease; without it the host's and a random part")
      .text("--leader-elect-container", "NAMESPACE/POD/UID/CONTAINER", f.config.container,
            "Where this process runs: when it leads and is killed, others take over once its kubelet says so "
            "(they read this pod), and wait for no lease duration")
      .duration("--leader-elect-lease-duration", f.config.lease_duration,
                "For so long others wait for a leader that is silent")
      .duration("--leader-elect-renew-deadline", f.config.renew_deadline,
                "A leader that could not renew for so long stops writing")
      .duration("--leader-elect-retry-period", f.config.retry_period,
                "Between two tries to take or renew the lease");
}

Result<std::optional<controller::Election::Config>> electionOf(const ElectionFlags& f,
                                                               const std::string& own_namespace) {
  controller::Election::Config config = f.config;
  if (config.retry_period >= config.renew_deadline || config.renew_deadline >= config.lease_duration) {
    return fail(Code::Invalid,
                "--leader-elect-retry-period < --leader-elect-renew-deadline < --leader-elect-lease-duration "
                "must hold");
  }
  if (!config.container.empty() && !controller::parseHolderContainer(config.container)) {
    return fail(Code::Invalid,
                fmt::format("--leader-elect-container='{}' is no NAMESPACE/POD/UID/CONTAINER, as "
                            "gpu-system/gpu-scheduler-0/6b1c.../gpu-scheduler",
                            config.container));
  }
  config.lease = {f.lease_namespace.empty() ? own_namespace : f.lease_namespace, f.lease};
  if (config.identity.empty()) { config.identity = hostName() + "_" + randomSeed().uuid(); }
  return f.elect ? std::optional{std::move(config)} : std::nullopt;
}

void addLogFormat(Command command, LogFlags& f) {
  command.topic("Log").choice("--log-format", {"text", "json"}, f.format,
                              "Lines on stderr as key=value, or each as a JSON object");
}

void addLog(Command command, LogFlags& f) {
  command.topic("Log").choice("--log-level", {"debug", "info", "warn", "error"}, f.level,
                              "Lines of this level and above");
  addLogFormat(command, f);
}

void addGoLog(Command command, LogFlags& f) {
  command.topic("Log").choice(
      "--log-level", {"debug", "info", "warn", "error"}, f.level,
      "Lines of this level and above; without it GO_LOG counts: info, debug or trace");
  addLogFormat(command, f);
}

LogFlags goLogOf(const LogFlags& f, const k8s::Surroundings& surroundings) {
  LogFlags out = f;
  if (!out.level.empty()) { return out; }
  const std::string said = surroundings.env("GO_LOG").value_or("");
  out.level = said == "debug" || said == "trace" ? "debug" : "info";
  return out;
}

void useLog(const LogFlags& f) {
  log::setFormat(f.format == "json" ? log::Format::Json : log::Format::Text);
  log::setLevel(log::levelNamed(f.level));
}

void addServerTls(Command command, TlsFlags& f, const std::string& shown_to) {
  command.topic("TLS")
      .text("--tls-cert-file", "FILE", f.cert_file,
            "Serve HTTPS with this certificate and the chain behind it" + shown_to)
      .text("--tls-private-key-file", "FILE", f.key_file, "The key of that certificate");
}

void addClientCa(Command command, TlsFlags& f) {
  command.topic("TLS").text("--client-ca-file", "FILE", f.client_ca_file,
                            "Callers need a certificate of this CA");
}

Result<std::optional<net::ServerTls>> serverTlsOf(const TlsFlags& f) {
  if (f.cert_file.empty() != f.key_file.empty()) {
    return fail(Code::Invalid, "--tls-cert-file and --tls-private-key-file go together; give both");
  }
  if (!f.client_ca_file.empty() && f.cert_file.empty()) {
    return fail(Code::Invalid,
                "--client-ca-file needs --tls-cert-file: without TLS nobody shows a certificate");
  }
  if (f.cert_file.empty()) { return std::nullopt; }
  return net::ServerTls{f.cert_file, f.key_file, f.client_ca_file};
}

}  // namespace gs::process
