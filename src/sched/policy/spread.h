// spread (R32): over as many islands as possible. One device of each island in turn, islands in the
// order of their most preferred device, until there are enough. A Required topology leaves one island to
// spread over: its first allowed set.
#pragma once

#include <optional>
#include <vector>

#include "sched/policy/terms.h"

namespace gs::sched {

/// `order`: the devices that may be taken, best first (ascending ids, unless sharing says otherwise).
[[nodiscard]] std::optional<Mask> spread(const Topology& t, const std::vector<int>& order,
                                         const Terms& terms);
/// Over how many islands is it?
[[nodiscard]] int islandsOf(const Topology& t, Mask set);

}  // namespace gs::sched
