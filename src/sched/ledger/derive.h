// Keeps the derived part of a NodeState. For the Ledger, and for placement's look at a part of a wide node.
#pragma once

#include <algorithm>
#include <vector>

#include "sched/doors/door.h"
#include "sched/ledger/node_state.h"

namespace gs::sched {

/// whole, topology, healthy, unknown, held, from the devices and agent_stale. Without a pool the topology is
/// nobody else's.
void deriveDevices(NodeState& n, TopologyPool* pool);
/// One pod more takes these ports, or (`sign` -1) one less.
void countPorts(NodeState& n, const std::vector<model::HostPort>& taken, int sign);
/// Where that pod stands, or would, in NodeState::counted.
[[nodiscard]] inline auto countedAt(std::vector<Counted>& counted, const model::Uid& uid) {
  return std::lower_bound(counted.begin(), counted.end(), uid,
                          [](const Counted& c, const model::Uid& wanted) { return c.uid < wanted; });
}
/// Whether the device is named by this holder, of a pod that is counted. `without`: as if these sources
/// (bits) said nothing. A Reservation never says anything of that.
[[nodiscard]] bool isNamedBy(const DeviceState& d, const Holder& holder, std::uint8_t without = 0);
/// counted[].named and anonymous, from the devices and counted[].devices.
void deriveAnonymous(NodeState& n);
/// enforcer, share_devices and share_mib, from the node's facts and what a door says of them.
void deriveFacts(NodeState& n, Doors doors);
/// free_devices, free_milli and free_mib, from all others.
void deriveFree(NodeState& n);

}  // namespace gs::sched
