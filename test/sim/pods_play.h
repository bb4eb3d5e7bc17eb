// Plays of pods that say everything that filters read, drawn from one seed: clusters of three to eight nodes
// in two or three zones; pods with and without GPUs, with node affinity, tolerations, affinity,
// anti-affinity, spread, host ports, and priorities, some of which evict nobody; budgets; and pods that
// another scheduler binds or nominates in between. Nodes are cordoned, tainted, labelled otherwise, go and
// come back. Whoever goes is mostly made again, as by a controller. In two of three seeds leaders die, at any
// write too, stop, stand still, and are cut off; writes are refused, lost and late, so that some come twice;
// watches are late, end, and must list again.
//
// In three of five seeds pods have volumes (pods_volumes.h), and controllers bind them, and count budgets.
//
// pods_judge.h says what is looked at: each Binding, each eviction, and in the end who waits. The same seed
// gives the same bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace gs::sim {

struct PodsOutcome {
  std::string problem;  // "": nothing
  Duration at{};        // when it was seen, since the start
  // What the play came to.
  std::size_t bindings = 0;   // of ours
  std::size_t beside = 0;     // of pods that speak of other pods
  std::size_t evictions = 0;  // that left
  std::size_t came = 0;       // pods for which others had gone
  std::size_t volumes = 0;    // claims that were bound for pods of ours
};

[[nodiscard]] PodsOutcome playPods(std::uint64_t seed, bool tell = false);

}  // namespace gs::sim
