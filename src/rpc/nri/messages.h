// What a container runtime tells an NRI plugin, and what it is answered, as plain values: the part of
// nri.pkg.api.v1alpha1 (rpc/nri/nri.proto) that gpu-scheduler-agent uses. Protobuf stays behind codec.h.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gs::rpc::nri {

/// A pod's sandbox. Annotations are those of the moment in which it was made: the pod was bound already.
struct PodSandbox {
  std::string id;
  std::string name;
  std::string uid;
  std::string ns;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  friend bool operator==(const PodSandbox&, const PodSandbox&) = default;
};

struct Mount {
  std::string destination;
  std::string type;
  std::string source;
  std::vector<std::string> options;
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct LinuxDevice {
  std::string path;
  std::string type;  // "c", "b", "p"
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::optional<std::uint32_t> file_mode;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  friend bool operator==(const LinuxDevice&, const LinuxDevice&) = default;
};

struct Hook {
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;  // seconds
  friend bool operator==(const Hook&, const Hook&) = default;
};
struct Hooks {
  std::vector<Hook> prestart;
  std::vector<Hook> create_runtime;
  std::vector<Hook> create_container;
  std::vector<Hook> start_container;
  std::vector<Hook> poststart;
  std::vector<Hook> poststop;
  friend bool operator==(const Hooks&, const Hooks&) = default;
};

enum class ContainerState : std::uint8_t { Unknown, Created, Paused, Running, Stopped };

/// A container as the runtime is about to make it, or has made it.
struct Container {
  std::string id;
  std::string pod_sandbox_id;
  std::string name;
  ContainerState state = ContainerState::Unknown;
  std::map<std::string, std::string> annotations;  // none of its pod's
  std::vector<std::string> env;                    // "K=V"; a key may stand twice, and the last one counts
  std::vector<Mount> mounts;
  std::vector<LinuxDevice> devices;
  std::vector<std::string> cdi_devices;  // by name; containerd 2.2 leaves it empty
  std::uint32_t pid = 0;
  friend bool operator==(const Container&, const Container&) = default;
};

/// A device that a container may not open, whatever it was allowed before: a rule of its cgroup, of "rw"
/// alone (runc refuses one that also has "m", since it lets every container make nodes). NRI before 0.10
/// does not read such rules.
struct DeniedDevice {
  std::string type;  // "c", "b"
  std::int64_t major = 0;
  std::int64_t minor = 0;
  friend auto operator<=>(const DeniedDevice&, const DeniedDevice&) = default;
};

/// How a container that is being created is changed. Removals: a key of `remove_*`; what is removed may
/// also be set, and is then replaced. (Of the environment the runtime removes nothing, whatever a plugin
/// says: containerd 2.2.)
struct Adjustment {
  std::map<std::string, std::string> annotations;
  std::vector<std::string> remove_annotations{};
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  std::vector<std::string> remove_mounts;  // by destination
  std::vector<LinuxDevice> devices;
  std::vector<std::string> remove_devices;   // by path; NRI 0.11 forgets them (containerd/nri#216)
  std::vector<DeniedDevice> denied_devices;  // after what `devices` allow
  Hooks hooks;
  std::vector<std::string> cdi_devices;  // "nvidia.com/gpu=0"; containerd 2.1 and CRI-O 1.34 inject them
  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

/// Who calls: its Configure request.
struct Runtime {
  std::string name;     // "containerd"
  std::string version;  // "v2.2.9"
  friend bool operator==(const Runtime&, const Runtime&) = default;
};

/// Events that an agent asks for (bit 1 << (n - 1) of ConfigureResponse.events).
enum class Event : std::uint8_t {
  RunPodSandbox = 1,
  StopPodSandbox = 2,
  RemovePodSandbox = 3,
  CreateContainer = 4,
  StopContainer = 10,
  RemoveContainer = 11,
};

}  // namespace gs::rpc::nri
