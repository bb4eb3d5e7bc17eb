// The least that room for a pod on a node could cost, from a few numbers of each of its pods: so that of many
// nodes only the few that may be the best are looked at closely (search.h).
//
// Counted are whole GPUs, nvidia.com/gpu, cpu, memory and places for pods: what is free, what goes by itself,
// and what each pod gives back when it goes, at most. All else that may refuse the pod there (topology,
// shares, other resources, affinity ...) is taken for what the least important pod's going cures. So it is
// never more than the room costs in truth, and often it is exactly that.
// Cost: a walk over the node's pods of lower priority, the least important first, until they suffice.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/pod.h"
#include "sched/ledger/ledger.h"
#include "sched/preemption/candidate.h"
#include "sched/preemption/residents.h"

namespace gs::sched {

/// Whole devices, nvidia.com/gpu as it is counted, cpu, memory, pods.
using Amounts = std::array<std::int64_t, 5>;

/// What a node's pods are and have, in the numbers that bound the cost.
struct NodeProfile {
  struct Pod {
    std::int32_t priority = 0;
    std::int64_t age = 0;
    Amounts gives{};
  };
  bool exists = false;
  bool any_leaves = false;
  Amounts free{};         // below 0: it is overcommitted
  Amounts leaving{};      // of those that go by themselves
  Amounts largest{};      // that one of `pods` gives, of each
  std::vector<Pod> pods;  // the others, the least important first
};
[[nodiscard]] NodeProfile profileOf(const Ledger& ledger, Ledger::NodeIndex node,
                                    const Residents::Pods& residents);

/// Whoever holds something of a node, and is none of its residents, leaves by itself: what is left of a pod
/// that ended. Not what is on its way there.
[[nodiscard]] bool isLeftOver(const Ledger& ledger, const model::NodeName& node, const model::Uid& uid,
                              bool only_draining);

/// What the pod asks of the numbers above.
[[nodiscard]] Amounts needsOf(const PodRequest& request);
/// nullopt: no pod that goes makes room for it there.
[[nodiscard]] std::optional<PreemptionCost> leastCost(const NodeProfile& node, const Amounts& needs,
                                                      std::int32_t priority);

}  // namespace gs::sched
