// contiguous (R32): consecutive ids inside one island with the best bandwidth; else the best-connected
// set of one island; else the best-connected set of all. Earliest of equals. Where a minimum bandwidth is
// wished for (not required), a choice that reaches it goes before one that doesn't, whatever its kind.
// A window or an island's set is found whenever one exists; for the bound on the search see best_set.h.
#pragma once

#include <optional>

#include "sched/policy/terms.h"

namespace gs::sched {

/// The kinds of choices, worst first.
enum class Layout : std::uint8_t { Scattered, OneIsland, Consecutive };
[[nodiscard]] Layout layoutOf(const Topology& t, Mask set);

/// Out of `free`, containing `must` (a subset of it: devices that are taken already).
[[nodiscard]] std::optional<Mask> contiguous(const Topology& t, Mask free, const Terms& terms, Mask must = 0);

}  // namespace gs::sched
