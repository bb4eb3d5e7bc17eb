#include "serve/agent/looks.h"

#include <utility>

#include "agent/status.h"

namespace gs::serve {

Looks::Looks(agent::Agent& machine, k8s::Host& host, std::unique_ptr<noderim::GpuSource> source,
             Options options)
    : machine_{machine},
      host_{host},
      options_{options},
      poller_{std::move(source), options.pace, [this](const agent::LookPtr& look) { gpusSeen(look); }} {}

void Looks::gpusSeen(const agent::LookPtr& look) {
  (void)host_.act([this, look](Now now) { return machine_.looked(look, now); });
  if (options_.is_simulated) { containersSeen(agent::Containers{}); }
}

void Looks::containersSeen(const agent::ContainersLook& look) {
  (void)host_.act([this, look](Now now) { return machine_.containersSeen(look, now); });
}

Result<std::string> printedLook(noderim::GpuSource& source, const agent::Agent::Config& config) {
  const agent::Look look = source.look();
  if (!look) { return fail(Code::Unavailable, look.error().text); }
  agent::NodeView view;
  view.devices = agent::devicesOf(*look);
  view.driver_version = look->driver_version;
  view.enforcement = config.enforcement;
  return json::printPretty(agent::statusBody(config.node, view, ""), 2);
}

}  // namespace gs::serve
