// What is decided of a container that is being created: how it is changed and what is to be said of that,
// or why it may not start (the kubelet tries again by itself). Values.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "enforce/cdi/edits.h"
#include "model/device_id.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

/// What is known of the runtime, and of this node besides.
struct RuntimeFacts {
  bool injects_cdi = false;        // by NRI: containerd 2.1, CRI-O 1.34
  bool is_nvidia_runtime = false;  // all containers are run by nvidia-container-runtime
  cdi::Stats stats;                // the host's /dev/kfd, and what cdi::nodesToStat() asks for
  /// Of drivers, device plugins, exporters: their containers see all GPUs, and are let alone.
  std::set<std::string, std::less<>> trusted_namespaces;
};

enum class Reason : std::uint8_t {
  NotKnown,       // the agent does not know the pod, or the node's pods, yet
  Unverified,     // its leases were not read yet
  Refuted,        // a lease says otherwise
  Differs,        // the sandbox's annotations say other devices than the record
  HeldByOther,    // the record contradicts itself: another pod's lease holds one of its devices
  NoneFree,       // the device plugin gave it what a lease holds, and there is nothing in its place
  UnknownDevice,  // it was given what the record does not have
  NoWay,          // nothing on this node brings that device into a container
  StandsTwice,    // a variable that image and pod both set cannot be put right
  CdiAnnotation,  // an annotation of NVIDIA's NRI plugin names a GPU that is not the pod's
  TooMany,        // of containers, or of devices
};
inline constexpr std::size_t kReasons = 11;
/// As a metric's label: "not_known".
[[nodiscard]] const char* reasonName(Reason reason);

struct Refusal {
  Reason reason{};
  std::string text;  // a sentence that names pod and container
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

[[nodiscard]] inline tl::unexpected<Refusal> refuse(Reason reason, std::string text) {
  return tl::unexpected<Refusal>(Refusal{reason, std::move(text)});
}

enum class Remark : std::uint8_t {
  Adjusted,       // it has its pod's devices
  Moved,          // it has another device than the plugin gave it
  Hidden,         // it asked for all GPUs by a variable, and gets none
  Privileged,     // it sees all of /dev, whatever it was given
  Trusted,        // its namespace is let alone
  StillInUse,     // a device of its pod is in a container of another pod, which no lease gave it to
  CdiAnnotation,  // it has an annotation of NVIDIA's NRI plugin
  Untold,         // what CDI files ask for and NRI cannot say
};
inline constexpr std::size_t kRemarks = 8;
[[nodiscard]] const char* remarkName(Remark remark);

struct Note {
  Remark remark{};
  std::string text;  // a sentence that names pod and container
  friend bool operator==(const Note&, const Note&) = default;
};

struct Move {
  model::DeviceId from;
  model::DeviceId to;
  friend bool operator==(const Move&, const Move&) = default;
};

struct Plan {
  rpc::nri::Adjustment adjustment;
  std::vector<model::DeviceId> devices;  // what the container has then, ascending
  std::vector<Move> moves;
  std::vector<Note> notes;
};

using Planned = tl::expected<Plan, Refusal>;

}  // namespace gs::enforce
