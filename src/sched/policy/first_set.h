// The first set in a given order of preference that keeps a Required topology: of all allowed sets, the one
// whose most preferred device is most preferred, then its second, and so on.
// Exact while the search needs at most kFirstSetSteps steps (always when one island's pairs are equal, or out
// of 16 devices); beyond that it gives up, as if there was none. Where fewer are left to the meter (meter.h),
// so many, and as many as there are pairs at least.
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
