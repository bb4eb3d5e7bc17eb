#include "serve/agent/flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "noderim/nvml.h"
#include "noderim/simulated_gpus.h"

namespace gs::serve {

void addGpuSource(process::Command command, AgentFlags& f) {
  command.topic("GPUs")
      .text("--node-name", "NAME", f.node_name,
            "The Node that this machine is; without it NODE_NAME of the environment, else HOSTNAME")
      .name("--nvml-library", f.nvml_library, "The library of NVIDIA's driver, by its name or its path")
      .text("--simulate", "FILE", f.simulate,
            "GPUs of the node of that name in a node file, in place of a driver's; read again at each look");
}

void addAgent(process::Command command, AgentFlags& f) {
  command.topic("Containers")
      .text("--container-runtime", "SOCKET", f.container_runtime,
            "Socket of the container runtime (CRI), which says whose containers there are; without it nobody "
            "knows, and GPUs of a pod that was deleted by force stay taken")
      .topic("GPUs")
      .duration("--poll-interval", f.poll, "How often it looks at the GPUs, and at the containers")
      .duration("--driver-timeout", f.limit,
                "After how long a look that does not come back is called hanging")
      .topic("What is published")
      .choice("--enforce", {"off", "env", "devices"}, f.enforce,
              "What it makes of the GPUs that a pod was given: nothing, or its containers are told (by the "
              "webhook); devices is not there yet")
      .duration("--publish-interval", f.publish, "How often it is written though nothing changed")
      .duration("--publish-interval-draining", f.publish_draining,
                "The same while the GPUs of a pod that ended wait to be free");
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

model::NodeName AgentFlags::node(const Environment& environment) const {
  if (!node_name.empty()) { return model::NodeName{node_name}; }
  for (const char* name : {"NODE_NAME", "HOSTNAME"}) {
    if (const auto value = environment(name); value && !value->empty()) { return model::NodeName{*value}; }
  }
  return {};
}

Status AgentFlags::check(const Environment& environment) const {
  if (enforce == "devices") {
    return fail(Code::Invalid,
                "--enforce=devices is not there yet: containers would have GPUs of others; "
                "write env or off");
  }
  if (node(environment).empty()) {
    return fail(Code::Invalid,
                "the node has no name: write --node-name=NAME, or set NODE_NAME to spec.nodeName");
  }
  if (simulate.empty()) { return {}; }
  const auto read = noderim::SimulatedGpus{simulate, node(environment)}.read();
  return read ? Status{} : fail(read.error().code, "--simulate: " + read.error().message);
}

agent::Agent::Config AgentFlags::config(const Environment& environment) const {
  return {.node = node(environment),
          .enforcement = enforce == "env" ? model::Enforcement::Env : model::Enforcement::Off,
          .calm = publish,
          .draining = publish_draining};
}

std::unique_ptr<noderim::GpuSource> AgentFlags::source(const Environment& environment) const {
  if (!simulate.empty()) { return std::make_unique<noderim::SimulatedGpus>(simulate, node(environment)); }
  return std::make_unique<noderim::Nvml>(noderim::Nvml::Options{.library = nvml_library});
}

}  // namespace gs::serve
