// The node file: simulated nodes with their GPUs, from parsed values (docs/reference/node-file.md).
//
//   nodes:
//   - name: node-a
//     labels: {gpu-type: l40s}
//     taints: [{key: k, value: v, effect: NoSchedule}]
//     enforcement: devices           # or env, off: what its agent does; devices is the default
//                                    # dra: a DRA driver prepares its GPUs, and there is no device plugin
//     allocatable: {cpu: "64", memory: 512Gi, pods: "110", ephemeral-storage: 1Ti}   # these are the defaults
//     gpus:
//       count: 4
//       model: NVIDIA-L40S
//       memoryMiB: 46068
//       islands:                      # absent: one island "0" with all
//       - {ids: [0, 1, 2, 3], bandwidthGBps: 64}
//       links: [{from: 0, to: 1, gbps: 600, type: nvlink}]     # absent: by island
//       health: [{id: 3, health: Unhealthy, reason: "XID 79"}]  # absent: Healthy
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/node.h"

namespace gs::kapi {

struct SimNode {
  model::NodeName name;
  std::map<std::string, std::string> labels;
  std::vector<model::Taint> taints;
  std::map<std::string, std::string> allocatable;  // quantities as text
  model::Enforcement enforcement = model::Enforcement::Devices;
  std::vector<model::Device> devices;  // uuids are made from node name and id: the same on every run
};

/// Error Invalid: names the node, the field, the value and the fix. Unknown fields are refused.
[[nodiscard]] Result<std::vector<SimNode>> readNodeFile(const json::Value& file);
/// node-a with 4 GPUs in one island, node-b with 8 GPUs in two NVLink islands (labels gpu-type=a100,
/// topology=nvlink).
[[nodiscard]] std::vector<SimNode> defaultNodes();

/// What its label kubernetes.io/hostname says: a label has 63 characters at most, a node's name 253.
[[nodiscard]] std::string hostnameLabel(std::string_view node);
/// Its Node. (What is said of its GPUs is the agent's: agent/simulated.h, agent/status.h.)
[[nodiscard]] json::Value encodeNode(const SimNode& node);

}  // namespace gs::kapi
