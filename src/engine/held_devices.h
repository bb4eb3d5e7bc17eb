// Which GPUs a bound pod has after its node has numbered its GPUs anew. (R2: a device is known by its UUID;
// where that is not known, by node and id.)
//
// A pod was given ids when it was placed. What its containers were told decides which devices it has now:
//   told UUIDs   the devices with these UUIDs, under the ids that they have now. For a UUID that is not
//                listed any more, the id that the pod was given.
//   told ids     whatever devices have these ids now, since a container that starts again gets those. And
//                the devices that the pod was given, found by the UUIDs in its leases, under their ids of
//                now.
// Besides, it has every device that the agent sees it use, whatever is written (PodDevices::seenInUse).
// Pure; ids ascending, unique.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/device_index.h"
#include "model/claim.h"
#include "model/node.h"

namespace gs::engine {

/// False without a claim.
[[nodiscard]] bool isShared(const model::GpuClaim* claim);
/// The id does not mean the device of this UUID any more: another device has it, or that device has another
/// id. False while id or UUID is not known.
[[nodiscard]] bool isAnother(const DeviceIndex* devices, int id, const std::string& uuid);
/// "" when the node does not say.
[[nodiscard]] std::string uuidOf(const model::GpuNodeStatus* status, int id);
/// `told`: the UUIDs that the pod's containers were told, which counts where they are one for each that is
/// given.
/// `leased`: UUIDs on the leases of the pod's reservation there. A pod that was told UUIDs has those devices.
/// One that was told ids has those ids, and the devices that were leased for them. Where the pod says other
/// UUIDs than its leases, one of the two was edited, and nobody knows which: it holds all of them.
[[nodiscard]] std::vector<int> heldNow(const std::vector<std::string>& told, const std::vector<int>& given,
                                       const std::vector<std::string>& leased, const DeviceIndex& devices);
/// Some id has another UUID, or one of the two says nothing of it.
[[nodiscard]] bool isRenumbered(const model::GpuNodeStatus* before, const model::GpuNodeStatus* after);
/// Devices that are listed before and after, with another health.
[[nodiscard]] std::vector<int> changedHealth(const model::GpuNodeStatus* before,
                                             const model::GpuNodeStatus& after);
/// Devices that are listed now and that other pods use than before.
[[nodiscard]] std::vector<int> changedUse(const model::GpuNodeStatus* before,
                                          const model::GpuNodeStatus& after);
/// Pods that the agent sees use other devices than before, or that are Unhealthy now or are no more. One of
/// the two may be nullptr.
[[nodiscard]] std::set<model::Uid> changedUsers(const model::GpuNodeStatus* before,
                                                const model::GpuNodeStatus* after);

}  // namespace gs::engine
