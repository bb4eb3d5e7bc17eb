// Does a request fit a node, and if not, why? The rows of sched/filters/filter.h are asked first, then what
// is said here of GPUs; the first that refuses gives the reason. Pure over the node's state.
//
// GPUs are counted in two ways: as devices, and as the resource nvidia.com/gpu. What counts for whom:
//   - A pod with a limit of nvidia.com/gpu, on a node with a GpuNodeStatus, needs both: room in the
//     resource (allocatable - used), and that many free devices. "Anonymous" devices are in use, and nobody
//     knows which they are, since the kubelet picked them: so many fewer devices are free.
//   - A pod that is given devices by id and has no such limit (claim, map) needs devices only. The kubelet
//     does not count it. That is safe as long as allocatable is not below the number of devices that may be
//     given: every user of the resource holds devices too, by id or anonymously. Where allocatable is below
//     it, the device plugin is away or sees fewer devices; such a pod gets its devices without the plugin.
//   - On a node whose GPUs a DRA driver prepares nobody counts the resource: devices are all that counts. A
//     node that offers it by a device plugin too, or whose kubelet is older than that, is refused; so is who
//     asks in any way but by ResourceClaims where limits call the driver's GPUs something else.
//   - On a node without a GpuNodeStatus nobody lists devices. There are as many as are allocatable. Those
//     that map pods hold by id are theirs alone, and anonymous pods use some of the rest: free is the
//     smaller of (allocatable - used of nvidia.com/gpu) and (allocatable - held by id - anonymous).
#pragma once

#include <optional>
#include <vector>

#include "sched/filters/filter.h"
#include "sched/ledger/ledger.h"
#include "sched/placement/placement.h"

namespace gs::sched {

// nullopt: not refused.

/// The rows of which only the node's facts change the answer (Filter::Kept).
[[nodiscard]] std::optional<Misfit> refuseFacts(const NodeState& node, const PodRequest& request,
                                                Filter::Needs parts);
[[nodiscard]] inline std::optional<Misfit> refuseFacts(const NodeState& node, const PodRequest& request) {
  return refuseFacts(node, request, partsOf(request));
}
/// And those that pods change which come and go.
[[nodiscard]] std::optional<Misfit> refuseUse(const NodeState& node, const PodRequest& request,
                                              Filter::Needs parts);
[[nodiscard]] inline std::optional<Misfit> refuseUse(const NodeState& node, const PodRequest& request) {
  return refuseUse(node, request, partsOf(request));
}
/// Of a node that refused for `first`, an amount of which it has too little: all others of which it has too
/// little as well, nvidia.com/gpu among them, as kube-scheduler's filter of resources names them all. Else
/// none. To explain, not to decide.
[[nodiscard]] std::vector<Misfit> alsoShort(const NodeState& node, const PodRequest& request,
                                            const Misfit& first, const model::Uid& self = model::Uid{});
/// nvidia.com/gpu as a counted resource. `self`: devices held by this uid do not count.
[[nodiscard]] std::optional<Misfit> refuseCounted(const NodeState& node, const PodRequest& request,
                                                  const model::Uid& self = model::Uid{});
/// It takes devices, by id only.
[[nodiscard]] bool needsIds(const PodRequest& request);
/// Does it take devices that are listed there, or that it names itself? Else it takes none, or the counted
/// resource only.
[[nodiscard]] bool takesDevices(const NodeState& node, const PodRequest& request);
/// And is it chosen which? Not for a pod that asks by nvidia.com/gpu alone where nobody gives containers what
/// was chosen: the kubelet's device plugin picks there, and exact ids would be a fiction (R46). It needs as
/// many that are free, and holds them by their number (sched::Counted).
[[nodiscard]] bool namesDevices(const NodeState& node, const PodRequest& request);

/// Devices are given by id there, and the agent is about to say which of them others have that nobody has
/// named yet.
[[nodiscard]] bool awaitsLook(const NodeState& node, const PodRequest& request);

/// All of them: does this request fit that node now, and with which ids? (adoption, R38; also the
/// reference for tests.) A node that does not exist refuses as not ready. `self`: devices held by this uid
/// count as free for it (its resources are counted where it holds some: it is meant for a pod that is not
/// bound).
[[nodiscard]] Verdict<Placement> fitOn(const NodeState& node, const PodRequest& request,
                                       const model::Uid& self = model::Uid{}, Meter* meter = nullptr);
/// Does it? Without the ids and the reason, which costs more than the choice.
[[nodiscard]] bool fitsOn(const NodeState& node, const PodRequest& request,
                          const model::Uid& self = model::Uid{}, Meter* meter = nullptr);
/// fitOn() without the ids. With `exact`, the ids must be exactly those.
[[nodiscard]] std::optional<Misfit> misfitOn(const NodeState& node, const PodRequest& request,
                                             const model::Uid& self = model::Uid{},
                                             const std::vector<int>* exact = nullptr, Meter* meter = nullptr);

/// Why it fits nowhere: one entry per node that exists and does not fit, in the ledger's index order.
[[nodiscard]] std::vector<Misfit> misfits(const Ledger& ledger, const PodRequest& request);

}  // namespace gs::sched
