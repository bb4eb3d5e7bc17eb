// Whether the holder of a leader lease has ended, by what its kubelet says of the container that it runs in.
//
// A leader that is killed gives nothing back, and others would wait for a lease duration. But within a
// second or two its kubelet reports that the container has terminated, and from when to when it ran. The
// holder wrote acquireTime by the clock of its machine, which is the kubelet's too, so times of two
// machines are never compared: the run of that container that covers acquireTime is the holder's. If it
// has finished, so has the holder, and what it had sent meets fences and preconditions as after any
// takeover.
// Kubelets cut times to whole seconds. So a run covers what lies before the second in which it finished;
// who ended in the second in which it got the lease is not seen to have ended, and others wait.
//
// No proof: a pod that is gone, or another of that name (its container may run on after a deletion by
// force); a run that goes on and could be the holder's too (a clock was set back); a run that finished
// before the holder renewed (a clock was set); anything that cannot be read.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kapi/kind.h"
#include "model/ids.h"
#include "model/lease.h"

namespace gs::controller {

/// On the lease: "<namespace>/<pod>/<uid of the pod>/<container>".
struct HolderContainer {
  model::ObjectKey pod;
  model::Uid uid;
  std::string name;
  friend bool operator==(const HolderContainer&, const HolderContainer&) = default;
};
[[nodiscard]] std::string printHolderContainer(const HolderContainer& container);
/// Nullopt: that is none.
[[nodiscard]] std::optional<HolderContainer> parseHolderContainer(std::string_view text);

/// A Pod as one reads it who wants to know which of its containers ended when.
struct HolderPod {
  struct Run {
    std::string container;
    Wall began{};
    std::optional<Wall> ended{};  // not there: it runs
    friend bool operator==(const Run&, const Run&) = default;
  };
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::vector<Run> runs;  // of each container the last one, and the one before
  friend bool operator==(const HolderPod&, const HolderPod&) = default;
};
extern const kapi::Kind kHolderPod;

/// The process that holds the lease of that record, in that container, has ended for certain.
[[nodiscard]] bool hasEnded(const HolderPod& pod, const HolderContainer& container,
                            const model::Lease::Record& record);

}  // namespace gs::controller
