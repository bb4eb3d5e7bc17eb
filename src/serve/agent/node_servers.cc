#include "serve/agent/node_servers.h"

#include "base/log.h"
#include "process/process.h"

namespace gs::serve {
namespace {

/// Whoever comes next takes the place that we could not keep.
void endWithoutGate(const Error& error) {
  log::error("the gate of pods with GPUs is not served any more", {{"error", error.message}});
  process::askToStop();
}

}  // namespace

NodeServers::NodeServers(const AgentFlags& flags, PublishedAgent& machine, RecordSlot& records,
                         process::Service& service) {
  if (flags.hasGate()) {
    gate_.emplace(
        GateServer::Options{.node = flags.node(environment)->text,
                            .version = service.version(),
                            .kubelet = flags.kubelet_dir,
                            .on_failure = endWithoutGate},
        [this](const model::Uid& pod, const std::string& ns, const std::string& name) {
          return mayStart(pod, ns, name);
        },
        service.metrics(), clock_);
  }
  if (!flags.enforcesDevices()) { return; }
  k8s::Host& host = service.host();
  enforcement_.emplace(
      flags.enforcement(environment, ownNamespace()), records, service.metrics(), clock_,
      [&host, &machine](const enforce::Report& report) {
        return host.act([&machine, report](Now now) { return machine.enforced(report, now); });
      });
  if (gate_) {
    enforcement_->onChange([this] { gate_->changed(); });
  }
}

/// Where nothing is enforced each may: it had its gate before anybody knew to which node it comes.
Status NodeServers::mayStart(const model::Uid& pod, const std::string& ns, const std::string& name) const {
  return enforcement_ ? enforcement_->mayStart(pod, ns, name) : Status{};
}

std::vector<process::Endpoint> NodeServers::endpoints() {
  std::vector<process::Endpoint> out;
  if (enforcement_) {
    out.push_back({.serves = "the container runtime",
                   .start =
                       [this] {
                         enforcement_->start();
                         return Status{};
                       },
                   .stop = [this] { enforcement_->stop(); }});
  }
  if (gate_) {
    out.push_back({.serves = "the gate of pods with GPUs",
                   .start = [this] { return gate_->start(); },
                   .stop = [this] { gate_->stop(); }});
  }
  return out;
}

}  // namespace gs::serve
