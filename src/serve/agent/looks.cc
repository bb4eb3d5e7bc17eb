#include "serve/agent/looks.h"

#include <memory>
#include <utility>

#include "agent/known_gpus.h"
#include "agent/status.h"

namespace gs::serve {

Looks::Looks(PublishedAgent& machine, k8s::Host& host, std::unique_ptr<noderim::GpuSource> source,
             Options options)
    : machine_{machine},
      host_{host},
      options_{std::move(options)},
      gpus_{std::move(source), options_.pace, [this](const agent::LookPtr& look) { gpusSeen(look); }} {
  if (options_.container_runtime.empty()) { return; }
  containers_ = std::make_unique<noderim::ContainerPoller>(
      options_.container_runtime, noderim::ContainerPoller::Pace{.every = options_.pace.every},
      [this](const agent::ContainersLook& look) { containersSeen(look); });
}

void Looks::start() {
  gpus_.start();
  if (containers_ != nullptr) { containers_->start(); }
}

void Looks::stop() {
  gpus_.stop();
  if (containers_ != nullptr) { containers_->stop(); }
}

void Looks::gpusSeen(const agent::LookPtr& look) {
  (void)host_.act([this, look](Now now) { return machine_.looked(look, now); });
  if (options_.is_simulated && containers_ == nullptr) { containersSeen(agent::Containers{}); }
}

void Looks::containersSeen(const agent::ContainersLook& look) {
  (void)host_.act([this, look](Now now) { return machine_.containersSeen(look, now); });
}

Result<std::string> printedLook(noderim::GpuSource& source, const agent::Agent::Config& config) {
  const auto look = std::make_shared<const agent::Look>(source.look());
  if (!*look) { return fail(Code::Unavailable, look->error().text); }
  agent::KnownGpus gpus{config.told_uuids};
  gpus.looked(look);
  agent::NodeView view;
  view.devices = gpus.shown();
  view.driver_version = gpus.driverVersion();
  view.enforcement = config.enforcement;
  return json::printPretty(agent::statusBody(config.node, view, ""), 2);
}

}  // namespace gs::serve
