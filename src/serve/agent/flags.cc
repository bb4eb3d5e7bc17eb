#include "serve/agent/flags.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/ascii.h"
#include "base/dns_name.h"
#include "base/files.h"
#include "noderim/nvml.h"
#include "noderim/simulated_gpus.h"

namespace gs::serve {
namespace {

/// "" this kernel does not say it.
std::string bootId() {
  const auto text = readFile("/proc/sys/kernel/random/boot_id", 64);
  return text ? std::string{trim(*text)} : std::string{};
}

}  // namespace

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
      .text("--container-runtime-endpoint", "SOCKET", f.container_runtime,
            "Socket of the container runtime (CRI), by its path or as unix:///path, which says whose "
            "containers there are; without it nobody "
            "knows, and GPUs of a pod that was deleted by force stay taken")
      .topic("GPUs")
      .duration("--poll-interval", f.poll,
                "How long after a look at the GPUs, or at the containers, the next one begins")
      .duration("--driver-timeout", f.limit,
                "After how long a look that does not come back is called hanging")
      .topic("What is published")
      .choice("--enforce", {"off", "env", "devices"}, f.enforce,
              "What it makes of the GPUs that a pod was given: nothing, or its containers are told (by the "
              "webhook); devices is not there yet")
      .choice("--visible-devices", {"ids", "uuid"}, f.visible_devices,
              "How containers are told their GPUs, as gpu-scheduler has it: by ids, GPUs whose id may mean "
              "another one are given to nobody")
      .duration("--publish-interval", f.publish, "How often it is written though nothing changed")
      .duration("--publish-interval-draining", f.publish_draining,
                "The same while the GPUs of a pod that ended wait to be free");
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

Result<model::NodeName> AgentFlags::node(const Environment& environment) const {
  std::string host = node_name;
  for (const char* name : {"NODE_NAME", "HOSTNAME"}) {
    if (host.empty()) { host = environment(name).value_or(""); }
  }
  if (host.empty()) {
    return fail(Code::Invalid,
                "the node has no name: write --node-name=NAME, or set NODE_NAME to spec.nodeName");
  }
  auto name = nodeNameOfHost(host);
  if (!name) { return fail(Code::Invalid, "--node-name: " + name.error().message); }
  return model::NodeName{*std::move(name)};
}

/// unix:///run/containerd/containerd.sock, as crictl and the kubelet write it, or the path itself.
std::string AgentFlags::runtimeSocket() const {
  static constexpr std::string_view kScheme = "unix://";
  return container_runtime.starts_with(kScheme) ? container_runtime.substr(kScheme.size())
                                                : container_runtime;
}

Status AgentFlags::check(const Environment& environment) const {
  if (!container_runtime.empty() && !runtimeSocket().starts_with('/')) {
    return fail(Code::Invalid,
                fmt::format("--container-runtime-endpoint={} is not the path of a socket: write "
                            "/run/containerd/containerd.sock say, or unix:///run/containerd/containerd.sock",
                            container_runtime));
  }
  if (enforce == "devices") {
    return fail(Code::Invalid,
                "--enforce=devices is not there yet: containers would have GPUs of others; "
                "write env or off");
  }
  const auto name = node(environment);
  if (!name) { return tl::unexpected(name.error()); }
  if (simulate.empty()) { return {}; }
  const auto read = noderim::SimulatedGpus{simulate, *name}.read();
  return read ? Status{} : fail(read.error().code, "--simulate: " + read.error().message);
}

agent::Agent::Config AgentFlags::config(const Environment& environment) const {
  return {.node = *node(environment),
          .enforcement = enforce == "env" ? model::Enforcement::Env : model::Enforcement::Off,
          .calm = publish,
          .draining = publish_draining,
          .boot_id = simulate.empty() ? bootId() : "",
          .told_uuids = visible_devices == "uuid"};
}

std::unique_ptr<noderim::GpuSource> AgentFlags::source(const Environment& environment) const {
  if (!simulate.empty()) { return std::make_unique<noderim::SimulatedGpus>(simulate, *node(environment)); }
  return std::make_unique<noderim::Nvml>(noderim::Nvml::Options{.library = nvml_library});
}

}  // namespace gs::serve
