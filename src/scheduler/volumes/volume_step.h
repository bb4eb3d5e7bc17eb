// What is to be done next, so that the claims of a pod that was decided to come to a node are bound there.
// Pure: a function of what was chosen and of the objects as they are known now. So it is the same for the
// leader that chose, and for the next one, which knows of it only what the objects say.
//
//   Write (one object after the other) -> Wait -> Bound
//      \____________________________________\____> Lost: it has to be decided anew
//
// As kube-scheduler's volume binder looks at them (checkBindings; the same from 1.33 to 1.37), and closer: it
// looks at every claim of the pod, those that were bound already too, and says where somebody else took a
// volume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/pod.h"
#include "model/volumes.h"
#include "sched/volumes/volumes.h"

namespace gs::scheduler {

/// A claim of a pod, and what was chosen for it.
struct ChosenVolume {
  enum class How : std::uint8_t {
    Match,  // `volume` is to be bound to it
    Make,   // it is to be told the node
    Keep,   // it is bound
  };
  How how{};
  model::ObjectKey claim;
  model::Uid uid;      // of the claim
  std::string volume;  // Match
  model::Uid volume_uid;
  /// The object that was written: since which version our write is in it; 0: not written.
  model::Revision written = 0;
};
/// In the order in which they are written.
using ChosenVolumes = std::vector<ChosenVolume>;

/// For a pod of these choices; claims that are not known are left out.
[[nodiscard]] ChosenVolumes chosenVolumes(const sched::Volumes& volumes, const model::Pod& pod,
                                          const sched::VolumeChoices& choices);

struct VolumeStep {
  enum class What : std::uint8_t { Bound, Wait, Write, Lost };
  What what{};
  std::size_t which = 0;   // Write, Wait: of the claims
  std::string why{};       // Lost
  bool elsewhere = false;  // Lost: another node may do
};
/// `node` nullptr: it is gone.
[[nodiscard]] VolumeStep nextVolumeStep(const sched::Volumes& volumes, const ChosenVolumes& chosen,
                                        const model::Node* node);

}  // namespace gs::scheduler
