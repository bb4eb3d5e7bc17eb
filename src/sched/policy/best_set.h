// The best-connected set: of all sets of `count` devices, the one whose worst pair is fastest, then whose
// pairs add up to most; ties to the lowest bits.
// Exact while there are at most kExactSets sets to choose from (any set out of 16 devices; 3 out of 50), and
// whenever all pairs are equal. Beyond that a greedy search from every device, O(devices^2 * count): it may
// miss the best, never runs long. Where the meter leaves few steps (meter.h) it starts from every second
// device, every third, ... and from the lowest only at last.
#pragma once

#include <optional>

#include "sched/policy/meter.h"
#include "sched/policy/topology.h"

namespace gs::sched {

inline constexpr std::int64_t kExactSets = 20'000;

/// Out of `within`, containing `must` (a subset of it). nullopt: not that many devices, or more in `must`.
[[nodiscard]] std::optional<Mask> bestSet(const Topology& t, Mask within, int count, Mask must = 0,
                                          Meter* meter = nullptr);

}  // namespace gs::sched
