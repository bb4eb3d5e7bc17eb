// The annotation, label and lease-name grammars of R8, R21 and R63. Parse and print, nothing else.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/lease.h"

namespace gs::model {

// Keys a user writes.
/// The GpuClaim, of the pod's own namespace, by which it asks for GPUs.
inline constexpr const char* kClaimKey = "gpu.scheduling/claim";
/// Where each pod of a set runs, and with which GPUs (model/map.h).
inline constexpr const char* kMapKey = "gpu-scheduling-map";
/// Who hands out the node's GPUs. Without it: gpu-manager, where the node has vcuda capacity; agent, where it
/// has a GpuNodeStatus; else kubelet.
inline constexpr const char* kEnforcerLabel = "gpu.scheduling/enforcer";
/// The name by which maps name the node (model/map.h).
inline constexpr const char* kNodeNameLabel = "gpu-node-name";
// Keys that only we write.
/// The node and the ids of the GPUs that the pod was given.
inline constexpr const char* kAllocatedKey = "gpu.scheduling/allocated";
/// Those GPUs as its containers are told them; UUIDs with --visible-devices=uuid.
inline constexpr const char* kVisibleDevicesKey = "gpu.scheduling/visible-devices";
/// On a bound pod: the reservation that its Binding was made for, and the leases that were written for it.
inline constexpr const char* kReservationKey = "gpu.scheduling/reservation";
/// Changed by a write after which no Binding that was decided before can succeed.
inline constexpr const char* kFenceKey = "gpu.scheduling/fence";
/// Changes when a bound pod waits for devices that a DRA driver could not prepare: its kubelet tries again.
inline constexpr const char* kNudgeKey = "gpu.scheduling/nudge";
/// Changes when a pod that its kube-scheduler found no GPUs for may have some.
inline constexpr const char* kWakeKey = "gpu.scheduling/wake";
/// The namespace of all GPU leases of the cluster.
inline constexpr const char* kLeaseNamespaceKey = "gpu.scheduling/lease-namespace";
/// Names the term of the leader that wrote that record; each term has another.
inline constexpr const char* kLeaseTermKey = "gpu.scheduling/lease-namespace-term";
/// The --scheduler-name of the installation: beside the record of its lease namespace,
/// and on its leader lease.
inline constexpr const char* kLeaseSchedulerKey = "gpu.scheduling/lease-namespace-scheduler";
/// Counts the changes of the CRD's schema: an older version never takes the place of a later one.
inline constexpr const char* kSchemaVersionKey = "gpu.scheduling/schema-version";
/// Of a leader lease: where the holder answers schedulers; other replicas send requests on to it.
inline constexpr const char* kAddressKey = "gpu.scheduling/address";
/// Of a leader lease: the container that the holder is in (controller/holder_pod.h).
inline constexpr const char* kHolderContainerKey = "gpu.scheduling/holder-container";
/// Of each GPU lease: it is gpu-scheduler's.
inline constexpr const char* kManagedLabel = "gpu.scheduling/managed";
/// Who keeps the GpuNodeStatus: the node's agent, or the scheduler, where only a DRA driver speaks of the
/// node. While it has this label and no `status.observedTime`, no agent has reported anything.
inline constexpr const char* kWrittenByKey = "gpu.scheduling/written-by";
inline constexpr const char* kByScheduler = "scheduler";
inline constexpr const char* kByAgent = "agent";
/// Of a GPU lease: the name of the pod that has the GPU; of a shared one the first pod's.
inline constexpr const char* kPodLabel = "gpu.scheduling/pod";

/// The variable by which a container is told its GPUs; and whether a fieldRef of that path gives it what the
/// Binding wrote: `metadata.annotations['gpu.scheduling/visible-devices']`.
inline constexpr const char* kToldVariable = "CUDA_VISIBLE_DEVICES";
/// And the one that says in which order CUDA counts them: ids are in the order of the bus.
inline constexpr const char* kOrderVariable = "CUDA_DEVICE_ORDER";
inline constexpr const char* kOrderOfIds = "PCI_BUS_ID";
[[nodiscard]] std::string toldPath();

/// Keys that some convention or rule reads on a pod, or what they begin with up to a "/".
/// No others are kept of it.
inline constexpr std::array<std::string_view, 3> kReadKeys{"gpu.scheduling/", "tencent.com/", kMapKey};
[[nodiscard]] bool isReadAnnotation(std::string_view key);

/// `node` is "" when the bare form "0,1" was read. `ids` ascending, unique, 0..1023.
struct Allocation {
  NodeName node;
  std::vector<int> ids;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// "node-a:0,1" or "0,1". Error Invalid: names the value and the grammar. Ids may come in any order.
[[nodiscard]] Result<Allocation> parseAllocation(std::string_view text);
/// "node-a:0,1"
[[nodiscard]] std::string printAllocation(const NodeName& node, const std::vector<int>& ids);
/// "0,1"
[[nodiscard]] std::string printIds(const std::vector<int>& ids);

/// R21: gpu-<node>-<id>, shortened with a hash when longer than 253. Names are never parsed back.
[[nodiscard]] std::string leaseName(const NodeName& node, int gpu);
/// R63: the pod's name, shortened with a hash when longer than 63.
[[nodiscard]] std::string podLabel(std::string_view pod_name);

}  // namespace gs::model
