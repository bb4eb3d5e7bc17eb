// What brings looks from the rim to the agent's machine: a Poller for the GPUs, and a ContainerPoller where
// there is a container runtime to ask. Where nothing is real (--simulate, and no runtime) each look at GPUs
// is one at the containers too, of which there are none. The Host and the machine must outlive it.
#pragma once

#include <memory>
#include <string>

#include "agent/agent.h"
#include "k8s/host.h"
#include "noderim/container_poller.h"
#include "noderim/poller.h"
#include "serve/agent/published_agent.h"

namespace gs::serve {

class Looks {
 public:
  struct Options {
    noderim::Poller::Pace pace{};
    bool is_simulated = false;
    std::string container_runtime{};  // its socket; "": none is asked
  };
  Looks(PublishedAgent& machine, k8s::Host& host, std::unique_ptr<noderim::GpuSource> source,
        Options options);

  void start();
  void stop();

  /// From any thread; a look that comes when too many events wait is dropped: there will be another one.
  void gpusSeen(const agent::LookPtr& look);
  void containersSeen(const agent::ContainersLook& look);

 private:
  PublishedAgent& machine_;
  k8s::Host& host_;
  const Options options_;
  std::unique_ptr<noderim::ContainerPoller> containers_;
  noderim::Poller gpus_;  // last: its thread reads containers_
};

/// What `gpu-scheduler-agent look` prints: the status that would be written, as JSON. Error Unavailable: what
/// the driver says in its place.
[[nodiscard]] Result<std::string> printedLook(noderim::GpuSource& source, const agent::Agent::Config& config);

}  // namespace gs::serve
