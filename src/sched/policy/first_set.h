// firstSet(): which devices to take when some are preferred to others (policies preferIds and spread) and
// the claim requires a topology: one island, and a minimum bandwidth of every pair. Of all sets that keep
// it, the one whose most preferred device comes first in `order`; of these, whose second does; and so on.
//
// Exact while the search needs at most kFirstSetSteps steps, which is always so out of 16 devices, and
// where all pairs of an island are equal. Beyond that it gives up, as if there were no such set. Where the
// meter (meter.h) leaves fewer steps, it gives up sooner, but never before as many steps as there are
// pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/policy/terms.h"

namespace gs::sched {

inline constexpr std::uint64_t kFirstSetSteps = 200'000;

/// `order`: bits, each once, best first. Not required: simply the first ones. Contains `must`; the rest is
/// out of `order`.
[[nodiscard]] std::optional<Mask> firstSet(const Topology& t, const std::vector<int>& order,
                                           const Terms& terms, Mask must = 0);

}  // namespace gs::sched
