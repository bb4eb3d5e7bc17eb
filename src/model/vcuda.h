// gpu-manager's convention: shares of GPUs in container limits, and the annotations that say which GPU each
// container gets. Parse and print, nothing else. Source: gpu-admission and gpu-manager,
// in words of docs/inside/front-doors.md.
//
// Units: vcuda-core, 100 = one GPU; vcuda-memory, 1 = 256 MiB.
// Device ids are the N of the node's /dev/nvidiaN.
// Written on a pod before it is bound:
//   tencent.com/predicate-node            the node
//   tencent.com/predicate-time            nanoseconds since 1970, decimal: kubelets serve pods in this order
//   tencent.com/predicate-gpu-idx-<i>     "0" or "0,1": the devices of container i (of spec.containers), as
//                                         chosen
//   tencent.com/gpu-assigned              "false"; the node's agent makes it "true", and writes the ids it
//                                         really gave
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/resources.h"

namespace gs::model {

/// The node that the pod was given.
inline constexpr const char* kVcudaNodeKey = "tencent.com/predicate-node";
/// When it was chosen: kubelets serve pods in this order.
inline constexpr const char* kVcudaTimeKey = "tencent.com/predicate-time";
/// And the container's index: the devices of that container.
inline constexpr const char* kVcudaIdsKey = "tencent.com/predicate-gpu-idx-";
/// Whether gpu-manager has given them; then the ids are those that it really gave.
inline constexpr const char* kVcudaAssignedKey = "tencent.com/gpu-assigned";

inline constexpr std::int64_t kVcudaCoresPerGpu = 100;
inline constexpr std::int64_t kMilliPerVcudaCore = 10;
inline constexpr std::int64_t kMibPerVcudaMemory = 256;

/// What one container's limits ask for, in the convention's units.
struct VcudaLimits {
  std::int64_t cores = 0;
  std::int64_t memory = 0;

  /// A whole GPU or more, or a share of both cores and memory. Less is no GPU container.
  [[nodiscard]] bool wantsGpu() const { return cores >= kVcudaCoresPerGpu || (cores > 0 && memory > 0); }
  /// It says something of either, be it nonsense.
  [[nodiscard]] bool isGiven() const { return cores != 0 || memory != 0; }
  /// Whole GPUs, their memory with them whatever `memory` says; 0: a share of one.
  [[nodiscard]] std::int64_t wholeGpus() const { return cores / kVcudaCoresPerGpu; }
  friend auto operator<=>(const VcudaLimits&, const VcudaLimits&) = default;
};
/// Of a container's limits, or of a node's capacity.
[[nodiscard]] inline VcudaLimits vcudaOf(const ShareAmounts& amounts) {
  return {amounts[shareResource(kVcudaCore)], amounts[shareResource(kVcudaMemory)]};
}

/// Of the whole pod, to be judged by the same rule: wantsGpu() is true of two containers of 60 cores and no
/// memory, though neither of them gets a device.
[[nodiscard]] VcudaLimits sumOf(const std::vector<ShareAmounts>& containers);

/// What the annotations say. What cannot be read is as if it were not there: gpu-manager does the same.
struct VcudaNote {
  NodeName node;                        // "": none
  std::map<int, std::vector<int>> ids;  // by container index; as written, 0..kMaxDeviceId
  std::optional<std::uint64_t> time;    // nanoseconds
  bool assigned = false;                // the node's agent has given devices: `ids` is the truth
  friend bool operator==(const VcudaNote&, const VcudaNote&) = default;
};

using Annotations = std::map<std::string, std::string>;

/// VcudaNote::assigned, and nothing else is read.
[[nodiscard]] bool isVcudaAssigned(const Annotations& annotations);
[[nodiscard]] VcudaNote readVcudaNote(const Annotations& annotations);
/// Of a pod of so many containers: what is said of others is passed over.
[[nodiscard]] VcudaNote readVcudaNote(const Annotations& annotations, std::size_t containers);
/// VcudaNote::ids of each of so many containers, and nothing else is read. Empty: nothing is said.
[[nodiscard]] std::vector<std::vector<int>> vcudaIds(const Annotations& annotations, std::size_t containers);
/// The annotations of a pod that was placed; `assigned` is written as "false" whatever it is.
[[nodiscard]] Annotations printVcudaNote(const VcudaNote& note);
/// Keys of this convention among `annotations`, but those that `but` has: left by an earlier placement.
[[nodiscard]] std::vector<std::string> vcudaKeys(const Annotations& annotations, const Annotations& but = {});
/// Whether the ancestor would say that the pod "had been predicated". It looked for any key of the convention
/// but predicate-node, anywhere in the pod's keys.
[[nodiscard]] bool wasPredicated(const Annotations& annotations);

}  // namespace gs::model
