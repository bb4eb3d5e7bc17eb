// Ports of the node that containers take (ContainerPort.hostPort).
#include <algorithm>

#include "sched/filters/rows.h"

namespace gs::sched {

std::optional<Misfit> refuseHostPorts(const NodeState& n, const PodRequest& r) {
  const bool taken = std::any_of(r.host_ports.begin(), r.host_ports.end(),
                                 [&](const model::HostPort& port) { return n.takesPort(port); });
  return taken ? std::optional{Misfit{Reason::HostPortsTaken, "", 0, 0}} : std::nullopt;
}

}  // namespace gs::sched
