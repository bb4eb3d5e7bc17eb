// A node as it would be: for questions about a state that is not, or not yet, the ledger's. Pure.
#pragma once

#include <set>
#include <vector>

#include "sched/doors/door.h"
#include "sched/ledger/node_state.h"

namespace gs::sched {

/// If the Node object said this.
[[nodiscard]] NodeState withFacts(NodeState node, const model::Node& facts, Doors doors);
/// If these pods were gone. What is used of ordinary resources stays as it is; of a node without a status the
/// free devices are a resource, too.
[[nodiscard]] NodeState withoutPods(NodeState node, const std::set<model::Uid>& gone);
/// And their ordinary resources free.
[[nodiscard]] NodeState withoutPods(NodeState node, const std::vector<const model::Pod*>& gone);

}  // namespace gs::sched
