// What was put into a container before we are asked: by the kubelet's device plugin, or by its image and
// its pod, which cannot be told from each other everywhere. And how it comes out.
//
// Device plugins hand GPUs out in ways of their own ("strategies"): each is a row of a table, which reads
// what it gave and takes it out. At NRI's CreateContainer containerd 2.2 has applied CDI devices already,
// those of annotations as those of the CRI request (WithCDI is among the options of the spec, NRI adjusts
// what these made; read, not tried with every version): they show as device nodes, mounts and variables,
// and CDI's names are told by nobody (Container.cdi_devices is empty) or by the annotation alone. A runtime
// that did it later would bring a plugin's CDI devices in after us: to be tried with each one that is to be
// supported; the comparison after the start (audit.h) finds it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/cdi/index.h"
#include "enforce/device_table.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

/// Mounts below it name devices: the plugin's strategy volume-mounts.
inline constexpr const char* kDeviceListFolder = "/var/run/nvidia-container-devices";
/// Annotations of a container that name CDI devices.
inline constexpr const char* kCdiAnnotations = "cdi.k8s.io/";
inline constexpr std::size_t kMostUnknown = 4;  // names that are kept to be said

struct Given {
  std::set<model::DeviceId> devices;
  std::vector<std::string> unknown;  // what is no device of the record, or not surely one
  bool wants_all = false;            // the variable says "all", or an old CUDA image says nothing
  bool by_variable = false;
  bool by_mounts = false;
  bool by_cdi = false;
  bool by_nodes = false;
};

/// What of a container stays: the devices that it is given.
struct Kept {
  std::set<GpuNode> nodes;                   // they may be there
  std::set<std::string, std::less<>> paths;  // CDI puts nodes and mounts there itself
  std::vector<std::string> listed_uuids;     // to be listed by mounts again; empty: by none
  bool is_privileged = false;                // it has all of /dev: nodes are left alone
};

struct Reading {
  const rpc::nri::Container& container;
  const DeviceTable& table;
  const cdi::Index& index;
  bool is_privileged = false;
};

struct Strategy {
  const char* name;  // as the device plugin calls it
  bool is_final;     // of a container that runs it is what that has; else what was asked for
  void (*read)(const Reading& reading, Given& given);
  void (*takeOut)(const rpc::nri::Container& container, const Kept& kept, rpc::nri::Adjustment& adjustment);
};
/// envvar (its taking out is the variable's new value, injection.h), volume-mounts, cdi-annotations,
/// cdi-cri, and device nodes, which PASS_DEVICE_SPECS and CDI bring in.
[[nodiscard]] const std::array<Strategy, 5>& strategies();

[[nodiscard]] Given given(const Reading& reading);
/// Of a container that is made already.
[[nodiscard]] Given givenInTheEnd(const Reading& reading);

/// The devices that device nodes alone give (of Given's they are a part).
void readNodes(const Reading& reading, Given& given);
/// Adds what a name means as NVIDIA_VISIBLE_DEVICES and CDI have it: a UUID, a number, "all"; or as
/// unknown.
void readName(std::string_view name, const DeviceTable& table, Given& given);
/// As CDI has it: "nvidia.com/gpu=0". False: it is no GPU's.
bool readCdiName(std::string_view name, const DeviceTable& table, Given& given);

/// What a mount at that path lists as the strategy volume-mounts has it: "GPU-x", "cdi/nvidia.com/gpu/0". As
/// nvidia-container-runtime reads it, which cleans the path; none: nothing.
[[nodiscard]] std::optional<std::string> listedByMount(const std::string& destination);

/// Runtimes do not say it; but they mount /sys for nobody else to be written.
[[nodiscard]] bool isPrivileged(const rpc::nri::Container& container);

}  // namespace gs::enforce
