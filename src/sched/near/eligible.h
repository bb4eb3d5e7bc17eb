// Which nodes count for a spread rule (kube-scheduler's node inclusion policies).
#pragma once

#include <cstdint>
#include <vector>

#include "model/node.h"
#include "sched/request/near_rules.h"

namespace gs::sched {

using EligibleFor = std::uint32_t;  // bits, by spread rule
inline constexpr std::size_t kMostSpreads = 32;

/// For each of these rules of a pod with such `rules`: does the node count? With `needs_all_labels` it counts
/// for none where it lacks the label of one. nullptr: it does not exist.
[[nodiscard]] EligibleFor eligibleFor(const std::vector<SpreadRule>& spread, bool needs_all_labels,
                                      const NearRules& rules, const model::Node* facts);

}  // namespace gs::sched
