// Keeps the derived part of a NodeState. For the Ledger, and for placement's look at a part of a wide node.
#pragma once

#include "sched/node_state.h"

namespace gs::sched {

/// whole, topology, healthy, unknown, held, from the devices and agent_stale. Without a pool the topology is
/// nobody else's.
void deriveDevices(NodeState& n, TopologyPool* pool);
/// free_devices, from all others.
void deriveFree(NodeState& n);

}  // namespace gs::sched
