// The flags of gpu-scheduler-agent, and what follows from them. What is read into must outlive the parsing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "base/result.h"
#include "noderim/gpu_source.h"
#include "noderim/poller.h"
#include "process/command.h"
#include "serve/agent/enforcement.h"

namespace gs::serve {

/// A variable of the environment.
using Environment = std::function<std::optional<std::string>(const char* name)>;

struct AgentFlags {
  std::string node_name;  // "": what the environment says
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string simulate;           // a node file; "": by NVML
  std::string container_runtime;  // as it was written
  std::string enforce = "off";
  std::string gate = "auto";
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string on_mismatch = "warn";                  // of --enforce=devices, as all up to host_root
  std::string nri_socket = "/var/run/nri/nri.sock";  // as it was written
  std::string cdi_spec_dirs = "/etc/cdi,/var/run/cdi";
  std::string trusted_namespaces = "kube-system,gpu-operator";
  bool is_nvidia_runtime = false;
  std::string host_root;
  std::string lease_namespace;  // "": our own
  std::string visible_devices = "ids";
  Duration poll = std::chrono::seconds{5};
  Duration limit = std::chrono::seconds{30};
  Duration publish = std::chrono::seconds{60};
  Duration publish_draining = std::chrono::seconds{10};

  /// Error Invalid: a value that is not supported, a path that is not absolute, or no node's name; of a node
  /// file, what is wrong in it.
  [[nodiscard]] Status check(const Environment& environment) const;
  /// The path of the container runtime's socket; "" none is asked.
  [[nodiscard]] std::string runtimeSocket() const;
  /// --node-name, else NODE_NAME, else HOSTNAME. Error Invalid: none of them is there, or it is no Node's
  /// name.
  [[nodiscard]] Result<model::NodeName> node(const Environment& environment) const;
  /// `own_namespace`: where leases are, unless a flag says it.
  [[nodiscard]] agent::Agent::Config config(const Environment& environment,
                                            const std::string& own_namespace = "") const;
  /// Containers are to have what their pods hold, and nothing else.
  [[nodiscard]] bool enforcesDevices() const { return enforce == "devices"; }
  /// It answers for pods that have a gate.
  [[nodiscard]] bool hasGate() const { return gate == "true" || (gate == "auto" && enforcesDevices()); }
  /// `own_namespace`: trusted as well; "" not known.
  [[nodiscard]] Enforcement::Options enforcement(const Environment& environment,
                                                 const std::string& own_namespace) const;
  [[nodiscard]] noderim::Poller::Pace pace() const { return {poll, limit}; }
  [[nodiscard]] std::unique_ptr<noderim::GpuSource> source(const Environment& environment) const;
};
/// Where the GPUs are.
void addGpuSource(process::Command command, AgentFlags& flags);
/// What the agent does with them.
void addAgent(process::Command command, AgentFlags& flags);

/// This process's.
[[nodiscard]] std::optional<std::string> environment(const char* name);
/// That of this process's pod; "" it is in none.
[[nodiscard]] std::string ownNamespace();

}  // namespace gs::serve
