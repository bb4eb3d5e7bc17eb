#include "serve/agent/flags.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/clean_path.h"
#include "base/dns_name.h"
#include "base/files.h"
#include "k8s/kubeconfig.h"
#include "noderim/nvml.h"
#include "noderim/simulated_gpus.h"

namespace gs::serve {
namespace {

/// "" this kernel does not say it.
std::string bootId() {
  const auto text = readFile("/proc/sys/kernel/random/boot_id", 64);
  return text ? std::string{trim(*text)} : std::string{};
}

/// unix:///run/containerd/containerd.sock, as crictl and the kubelet write it, or the path itself.
std::string socketPath(const std::string& written) {
  static constexpr std::string_view kScheme = "unix://";
  return written.starts_with(kScheme) ? written.substr(kScheme.size()) : written;
}

constexpr std::size_t kMostCdiDirs = 16;

Status checkCdiDirs(const std::string& flag) {
  const std::vector<std::string> all = commaList(flag);
  std::set<std::string> seen;
  for (const std::string& one : all) {
    if (!isCleanPath(one)) {
      return fail(Code::Invalid,
                  fmt::format("--cdi-spec-dirs: {} has to be an absolute path, without '/' at its "
                              "end, as in /etc/cdi,/var/run/cdi",
                              one));
    }
    if (!seen.insert(one).second) {
      return fail(Code::Invalid, fmt::format("--cdi-spec-dirs names {} twice; name each folder once", one));
    }
  }
  if (!all.empty() && all.size() <= kMostCdiDirs) { return {}; }
  return fail(Code::Invalid,
              fmt::format("--cdi-spec-dirs={} names {} folders; write those of the container runtime's "
                          "cdi_spec_dirs, {} at most, such as /etc/cdi,/var/run/cdi",
                          flag, all.size(), kMostCdiDirs));
}

/// What --enforce=devices needs.
Status checkEnforcement(const AgentFlags& f) {
  if (!socketPath(f.nri_socket).starts_with('/')) {
    return fail(
        Code::Invalid,
        fmt::format("--enforce=devices is done by the container runtime's NRI, and --nri-socket={} is not "
                    "the path of its socket: write /var/run/nri/nri.sock say, or --enforce=env",
                    f.nri_socket));
  }
  if (Status dirs = checkCdiDirs(f.cdi_spec_dirs); !dirs) { return dirs; }
  for (const std::string& ns : commaList(f.trusted_namespaces)) {
    if (!isDnsLabel(ns)) {
      return fail(Code::Invalid,
                  fmt::format("--trusted-namespaces: {} is no namespace's name; write names with ',' between "
                              "them, such as kube-system,gpu-operator",
                              ns));
    }
  }
  if (!f.lease_namespace.empty() && !isDnsLabel(f.lease_namespace)) {
    return fail(Code::Invalid, fmt::format("--lease-namespace={} is no namespace's name", f.lease_namespace));
  }
  if (f.host_root.empty() || isCleanPath(f.host_root)) { return {}; }
  return fail(Code::Invalid, fmt::format("--host-root={} has to be an absolute path, without '/' at its end, "
                                         "such as /host",
                                         f.host_root));
}

model::Enforcement enforcementNamed(std::string_view name) {
  if (name == "devices") { return model::Enforcement::Devices; }
  return name == "env" ? model::Enforcement::Env : model::Enforcement::Off;
}

void addEnforcement(process::Command& command, AgentFlags& f) {
  command.topic("The gate")
      .choice(
          "--gate", {"auto", "true", "false"}, f.gate,
          "Answer for pods that have the gate's volume, which the webhook gives to pods that ask for GPUs: "
          "the kubelet makes none of their containers before. auto: with --enforce=devices. Without that "
          "each may start; with it one whose leases were read, while the container runtime asks this agent",
          "true")
      .text("--kubelet-dir", "FOLDER", f.kubelet_dir,
            "The kubelet's folder, at the same path here, where drivers of volumes are found")
      .topic("Enforcement (with --enforce=devices)")
      .text("--nri-socket", "SOCKET", f.nri_socket,
            "Socket of the container runtime's NRI, by its path or as unix:///path; only root may dial it")
      .text("--cdi-spec-dirs", "FOLDERS", f.cdi_spec_dirs,
            "Folders of CDI files, with ',' between them, as the container runtime has them "
            "(cdi_spec_dirs): later ones win, and a file of our own is written into the last one")
      .choice("--on-mismatch", {"warn", "evict"}, f.on_mismatch,
              "What becomes of a pod whose container has other GPUs than the pod holds, since it was "
              "made while this agent was away")
      .text("--trusted-namespaces", "NAMES", f.trusted_namespaces,
            "Namespaces of drivers, device plugins and exporters, with ',' between them: their "
            "containers see all GPUs, as before; the agent's own is always one")
      .flag("--container-runtime-is-nvidia", f.is_nvidia_runtime,
            "All containers of this node are run by nvidia-container-runtime (it is the default), "
            "which brings in what NVIDIA_VISIBLE_DEVICES names")
      .text("--host-root", "FOLDER", f.host_root,
            "Where the host's /dev is seen, /host for /host/dev say: for container runtimes that take "
            "no CDI devices by NRI (containerd before 2.1, CRI-O before 1.34); without it this "
            "process's own")
      .text("--lease-namespace", "NAME", f.lease_namespace,
            "Namespace of all GPU leases, as gpu-scheduler has it; without it our own");
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
      .choice(
          "--enforce", {"off", "env", "devices"}, f.enforce,
          "What it makes of the GPUs that a pod was given: nothing; its containers are told (by the "
          "webhook); or they have those devices and no others, whatever a device plugin gave them (by the "
          "container runtime's NRI)")
      .choice("--visible-devices", {"ids", "uuid"}, f.visible_devices,
              "How containers are told their GPUs, as gpu-scheduler has it: by ids, GPUs whose id may mean "
              "another one are given to nobody")
      .duration("--publish-interval", f.publish, "How often it is written though nothing changed")
      .duration("--publish-interval-draining", f.publish_draining,
                "The same while the GPUs of a pod that ended wait to be free");
  addEnforcement(command, f);
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::string ownNamespace() {
  const auto pod = k8s::inClusterAccess(k8s::Surroundings::ofProcess());
  return pod ? pod->ns : "";
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

std::string AgentFlags::runtimeSocket() const { return socketPath(container_runtime); }

Status AgentFlags::check(const Environment& environment) const {
  if (!container_runtime.empty() && !runtimeSocket().starts_with('/')) {
    return fail(Code::Invalid,
                fmt::format("--container-runtime-endpoint={} is not the path of a socket: write "
                            "/run/containerd/containerd.sock say, or unix:///run/containerd/containerd.sock",
                            container_runtime));
  }
  if (enforcesDevices()) {
    if (Status fine = checkEnforcement(*this); !fine) { return fine; }
  }
  if (hasGate() && !isCleanPath(kubelet_dir)) {
    return fail(Code::Invalid,
                fmt::format("--kubelet-dir={} has to be an absolute path, without '/' at its end, "
                            "such as /var/lib/kubelet",
                            kubelet_dir));
  }
  const auto name = node(environment);
  if (!name) { return tl::unexpected(name.error()); }
  if (simulate.empty()) { return {}; }
  const auto read = noderim::SimulatedGpus{simulate, *name}.read();
  return read ? Status{} : fail(read.error().code, "--simulate: " + read.error().message);
}

agent::Agent::Config AgentFlags::config(const Environment& environment,
                                        const std::string& own_namespace) const {
  return {.node = *node(environment),
          .enforcement = enforcementNamed(enforce),
          .calm = publish,
          .draining = publish_draining,
          .boot_id = simulate.empty() ? bootId() : "",
          .told_uuids = visible_devices == "uuid",
          .enforces_devices = enforcesDevices(),
          .on_mismatch = on_mismatch == "evict" ? agent::OnMismatch::Evict : agent::OnMismatch::Warn,
          .lease_namespace = lease_namespace.empty() ? own_namespace : lease_namespace};
}

Enforcement::Options AgentFlags::enforcement(const Environment& environment,
                                             const std::string& own_namespace) const {
  Enforcement::Options out;
  out.node = node(environment)->text;
  out.cdi = {.directories = commaList(cdi_spec_dirs), .host_root = host_root};
  out.facts.is_nvidia_runtime = is_nvidia_runtime;
  for (std::string& ns : commaList(trusted_namespaces)) {
    out.facts.trusted_namespaces.insert(std::move(ns));
  }
  if (!own_namespace.empty()) { out.facts.trusted_namespaces.insert(own_namespace); }
  out.connection.socket = socketPath(nri_socket);
  return out;
}

std::unique_ptr<noderim::GpuSource> AgentFlags::source(const Environment& environment) const {
  if (!simulate.empty()) { return std::make_unique<noderim::SimulatedGpus>(simulate, *node(environment)); }
  return std::make_unique<noderim::Nvml>(noderim::Nvml::Options{.library = nvml_library});
}

}  // namespace gs::serve
