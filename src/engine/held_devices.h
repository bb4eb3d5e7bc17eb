// Which GPUs a pod has, now that its node may have numbered them anew (R2: a device is its UUID when known,
// else (node, id)).
//
// A pod was given ids, and its container was told ids or UUIDs. The devices behind them are followed by UUID:
//   told UUIDs   the ids that these have now; one that is not there any more keeps the id that it had
//   told ids     those ids, whatever they are now (a container that starts again takes what has that number),
//                and the ids that the devices which it was given have now, as its leases name them
// What its agent sees it use it has too, whatever is written (Engine::seenInUse).
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
