// The GPUs of a node, as its DRA driver and its agent say together: one GpuNodeStatus, which the ledger reads
// like any other (R5).
//
// The driver says which GPUs there are, by which names it prepares them, and their health: a taint that keeps
// pods off (NoSchedule, NoExecute), and a pool that is not whole. The agent says how they are linked, who
// uses them, and their ids. A GPU is the same one for both by its UUID, else by its PCI address.
//   - Only the driver lists it: without an agent its id is its place in PCI order among the node's GPUs, so
//     that maps mean there what they mean elsewhere; with an agent, which does not see it, the next ids, and
//     Unknown.
//   - Only the agent lists it: Unhealthy, for nobody would prepare it. So it is with one that vanished.
// Of two healths the worse one counts. A GPU without a UUID is known by driver/pool/name, which stays when
// others come and go. Of several drivers of the table the first that has a pool on the node counts. Pure.
// A driver that publishes nothing for a while (a kubelet that starts anew takes its slices away) has the
// node's GPUs all the same: withoutDriver() is the node as it was then, with nothing to give.
#pragma once

#include <string>
#include <vector>

#include "dra/drivers.h"
#include "dra/pools.h"
#include "model/dra.h"
#include "model/node.h"
#include "model/object.h"

namespace gs::dra {

using TaintRules = std::vector<model::Ptr<model::DeviceTaintRule>>;

/// The rule means this device.
[[nodiscard]] bool appliesTo(const model::DeviceTaintRule& rule, const model::DeviceName& device);

/// "00000000:17:00.0" and "0000:17:00.0" are one address; in its usual form, in lower case. "": none.
[[nodiscard]] std::string pciAddress(std::string_view text);

/// `reported`: the agent's; nullptr: none. It is given back as it is where no driver of the table has a pool.
/// Its revision, times and uids are those of `reported`.
[[nodiscard]] model::Ptr<model::GpuNodeStatus> joined(const model::NodeName& node,
                                                      const model::Ptr<model::GpuNodeStatus>& reported,
                                                      const std::vector<Pools::OnNode>& pools,
                                                      const TaintRules& rules, const Drivers& drivers);

/// The same while the driver publishes nothing there, or no whole pool: all GPUs are Unhealthy, by the names
/// that they had in `last`; nullptr: nobody knows which these were. `drivers` is not empty.
[[nodiscard]] model::Ptr<model::GpuNodeStatus> withoutDriver(const model::NodeName& node,
                                                             const model::Ptr<model::GpuNodeStatus>& reported,
                                                             const model::GpuNodeStatus* last,
                                                             const std::vector<Pools::OnNode>& pools,
                                                             const Drivers& drivers);

/// A driver of the table has a pool there.
[[nodiscard]] bool isByDriver(const std::vector<Pools::OnNode>& pools, const Drivers& drivers);
/// Why nothing of that pool may be given; "": it is whole, or there is none.
[[nodiscard]] std::string whyNotWhole(const std::vector<Pools::OnNode>& pools, const Drivers& drivers);

}  // namespace gs::dra
