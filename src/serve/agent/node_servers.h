// NodeServers: what the agent answers on its node, as its flags want it: the container runtime on each
// container (enforcement.h), and the kubelet on pods that have a gate (gate_server.h). The agent's machine
// is told what came of the first. What it is given must outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/system_clock.h"
#include "process/service.h"
#include "serve/agent/enforcement.h"
#include "serve/agent/flags.h"
#include "serve/agent/gate_server.h"
#include "serve/agent/published_agent.h"

namespace gs::serve {

class NodeServers {
 public:
  /// `machine` puts its record into `records`. `flags` were checked.
  NodeServers(const AgentFlags& flags, PublishedAgent& machine, RecordSlot& records,
              process::Service& service);

  /// To be begun in their order: no pod starts by the gate before the runtime can be answered.
  [[nodiscard]] std::vector<process::Endpoint> endpoints();

 private:
  [[nodiscard]] Status mayStart(const model::Uid& pod, const std::string& ns, const std::string& name) const;

  const SystemClock clock_{};
  std::optional<GateServer> gate_;
  std::optional<Enforcement> enforcement_;  // after the gate, which its threads call
};

}  // namespace gs::serve
