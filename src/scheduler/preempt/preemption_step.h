// What is to be done next for a pod that others are to go for. Pure: a function of what is known now, and not
// of what was done before. So it is the same for the leader that chose the node and for the next one, which
// knows of it only what the pod's object says (status.nominatedNodeName).
//
//   Nominate -> Evict -> Wait -> Place
//      \___________\________\____> GiveUp: its nomination is taken back
//
// While the pod is not to be placed for a moment nothing is done, and its room is kept.
// Nobody is told to go before the API server has written down for whom (Nominate), and only as long as, just
// now, the pod waits, fits nowhere else, and fits there once exactly those went who are left.
// A victim is first marked and then deleted, as by kube-scheduler; before each of both everything is looked
// at again. A mark that no deletion follows is taken off by kube-controller-manager after two minutes.
#pragma once

#include <cstdint>

#include "model/pod.h"

namespace gs::scheduler {

struct PreemptionFacts {
  bool waits = false;      // unbound, not going, not being placed, and it asks for what it asked for
  bool fits_now = false;   // some node takes it as things are
  bool has_room = false;   // on its node, once those that are left went
  bool nominated = false;  // its object says so
  bool all_go = false;     // nobody has to be told to go any more
  bool blocked = false;    // it waits, and is not to be placed for the moment
};

enum class PreemptionStep : std::uint8_t { Nominate, Evict, Wait, Place, GiveUp };
[[nodiscard]] PreemptionStep nextStep(const PreemptionFacts& facts);
/// Why, where that is GiveUp.
[[nodiscard]] const char* whyGivenUp(const PreemptionFacts& facts);

enum class VictimStep : std::uint8_t { Mark, Delete, Nothing };
/// `marked`, `deleted`: the API server said so, whatever the pod's object says yet.
[[nodiscard]] VictimStep nextStep(const model::Pod& victim, bool marked, bool deleted);

}  // namespace gs::scheduler
