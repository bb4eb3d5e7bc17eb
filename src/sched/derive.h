// Keeps the derived part of a NodeState. For the Ledger, and for placement's look at a part of a wide node.
#pragma once

#include "sched/doors/door.h"
#include "sched/node_state.h"

namespace gs::sched {

/// whole, topology, healthy, unknown, held, from the devices and agent_stale. Without a pool the topology is
/// nobody else's.
void deriveDevices(NodeState& n, TopologyPool* pool);
/// enforcer, share_devices and share_mib, from the node's facts and what a door says of them.
void deriveFacts(NodeState& n, Doors doors);
/// free_devices, free_milli and free_mib, from all others.
void deriveFree(NodeState& n);

}  // namespace gs::sched
