// Plays a plan in a World, and says what went wrong. The same plan gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/sim/plan.h"

namespace gs::sim {

struct Outcome {
  std::string problem;  // "" : nothing
  Duration at{};        // when it was seen, since the start
  std::size_t writes = 0;
  std::size_t quiet_points = 0;     // at which the ledgers were compared, before the end
  std::size_t after_trouble = 0;    // those of them that came after a fault
  std::size_t share_bindings = 0;   // of pods that ask for shares: as their scheduler was told
  std::size_t late_bindings = 0;    // others
  std::size_t gangs_bound = 0;      // whole, of pods that ask for shares
  std::size_t refused_members = 0;  // of gangs, by gpu-manager
  std::size_t cache_mounts = 0;     // of kernel caches, by pods
  std::size_t outdated_mounts = 0;  // looks at one whose cache has a newer image
  std::vector<std::string> log;     // the scheduler's lines, and with `tell` each step and each write
};

[[nodiscard]] Outcome play(const Plan& plan, bool tell = false);

/// The same kind of problem with fewer steps: each that is not needed for it is left out.
[[nodiscard]] Plan shorten(const Plan& plan);

}  // namespace gs::sim
