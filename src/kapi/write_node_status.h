// Builders of what the scheduler writes to GpuNodeStatuses: the object of a node that only a DRA driver
// speaks of, and the word `dra` in that of an agent. As in kapi/write.h each is complete, with its
// preconditions in the body: after whatever somebody else wrote, an agent above all, it is refused (409).
#pragma once

#include <vector>

#include "kapi/call.h"
#include "model/node.h"

namespace gs::kapi {

/// POST of the object, owned by the Node and labelled as ours, without a status: there is none before the
/// next write.
[[nodiscard]] Call createNodeStatus(const model::NodeName& node, const model::Uid& node_uid);
/// PATCH (merge) of the status of ours: these GPUs, and `enforcement: dra`. Nobody looked at the node, so it
/// has no observedTime, and says neither who uses a GPU nor how many are free.
[[nodiscard]] Call publishDevices(const model::GpuNodeStatus& ours,
                                  const std::vector<model::Device>& devices);
/// It says all of them as publishDevices() would.
[[nodiscard]] bool isPublished(const model::GpuNodeStatus& ours, const std::vector<model::Device>& devices);
/// PATCH (merge) of the status of an agent: `enforcement: dra`, or (false) that it is the agent's to say.
[[nodiscard]] Call sayDra(const model::GpuNodeStatus& of_agent, bool dra);
/// DELETE of ours.
[[nodiscard]] Call deleteNodeStatus(const model::GpuNodeStatus& ours);

}  // namespace gs::kapi
