// A pod as the scheduler reads it: about 1 KB instead of its JSON. Made by kapi/decode.h; shared as const.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/rare.h"
#include "model/ids.h"
#include "model/label_selector.h"
#include "model/node_affinity.h"
#include "model/pod_affinity.h"
#include "model/pod_labels.h"
#include "model/pod_volumes.h"
#include "model/resources.h"

namespace gs::model {

enum class PodPhase : std::uint8_t { Pending, Running, Succeeded, Failed, Unknown };

struct Toleration {
  /// What the value is to that of the taint. Below and Above (operators Lt and Gt): the taint's is a whole
  /// number that is less, or more.
  enum class Than : std::uint8_t { Equal, Below, Above };
  std::string key;  // "" with Exists tolerates everything
  std::string value;
  std::string effect;   // "" matches every effect
  bool exists = false;  // whatever the value
  Than than = Than::Equal;
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

/// What PodScheduled says now; `status` is "True", "False" or "" (absent).
struct ScheduledCondition {
  std::string status;
  std::string reason;
  std::string message;
  friend bool operator==(const ScheduledCondition&, const ScheduledCondition&) = default;
};

/// What the limits of an init container say of kShareResources.
struct InitShares {
  ShareAmounts amounts{};
  bool is_sidecar = false;  // restartPolicy Always: it runs on beside the containers
  friend bool operator==(const InitShares&, const InitShares&) = default;
};

/// What the limits of a container say of GPUs that a DRA driver may prepare (kNvidiaGpu).
struct GpuLimit {
  enum class Of : std::uint8_t { Container, Init, Sidecar };
  std::string container;
  std::int64_t count = 0;
  Of of = Of::Container;
  friend bool operator==(const GpuLimit&, const GpuLimit&) = default;
};

/// One entry of status.extendedResourceClaimStatus: this limit is served by that request of the pod's claim.
struct LimitMapping {
  std::string container;
  std::string resource;
  std::string request;
  friend auto operator<=>(const LimitMapping&, const LimitMapping&) = default;
};

/// status.extendedResourceClaimStatus: by which ResourceClaim of its namespace the pod's limits are served.
struct MappedLimits {
  std::string claim;                   // "": by none
  std::vector<LimitMapping> mappings;  // sorted
  friend bool operator==(const MappedLimits&, const MappedLimits&) = default;
};

/// One entry of spec.resourceClaims: a ResourceClaim of the pod's namespace.
struct PodClaim {
  std::string name;  // by which the pod's containers speak of it
  /// The object's; "": it is to be made from a template, and status does not say yet how it is called.
  std::string claim;
  bool is_its = false;  // made from a template, for this pod alone; else others may use it too
  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

struct Pod {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  Wall created{};
  std::string scheduler_name;
  NodeName node;  // "" while unbound
  PodPhase phase = PodPhase::Pending;
  bool deleting = false;  // metadata.deletionTimestamp is set
  /// Of a finished pod: every container of every kind is reported terminated, or its kubelet never took it.
  /// False when unsure.
  bool containers_terminated = false;
  /// Every container of the spec, of every kind, is reported terminated, and none is started again
  /// (restartPolicy Never): what counts when the object went without an end.
  bool containers_reported_terminated = false;
  /// Bound, with ResourceClaims, its own or one that serves its limits; its kubelet took it, and its
  /// containers cannot start yet: devices or volumes are not there (condition PodReadyToStartContainers is
  /// not True).
  bool awaits_devices = false;
  bool ready = false;          // condition Ready=True
  bool is_agent = false;       // label app=gpu-scheduler-agent
  bool has_gate = false;       // unbound: its node must have the driver of its gate (model/gate.h)
  std::uint8_t generated = 0;  // metadata.generateName is so many first characters of its name; 0: it is none
  std::int32_t priority = 0;
  bool preempts = true;      // others of lower priority, says its preemptionPolicy
  Wall bound_at{};           // PodScheduled=True lastTransitionTime, else zero
  Wall started{};            // status.startTime: its kubelet took it; zero: not yet
  bool preempted = false;    // it has to go for a pod of higher priority, says a scheduler (DisruptionTarget)
  Rare<NodeName> nominated;  // of an unbound pod: where others went for it (status.nominatedNodeName)

  /// Only the keys that some convention or rule reads (isReadAnnotation() of model/annotations.h). Of a map
  /// only what it says of this pod (ownMap() of model/map.h), and nothing of it once the pod is bound.
  std::map<std::string, std::string> annotations;

  /// Of a pod with such keys: its containers that are not told their GPUs (model::kToldVariable is no
  /// reference to what a Binding writes; with a map it may be a value): the first one's name, and how many
  /// more there are. "": all are.
  Rare<std::string> untold;
  /// Of an unbound pod with a map: the first container that is told something else than its map says now, and
  /// what: "container a was told CUDA_VISIBLE_DEVICES="0"". "": none is.
  Rare<std::string> told_otherwise;
  /// The first container that is told its GPUs, and by its own words counts them otherwise than ids do, and
  /// what it says: "container a sets CUDA_DEVICE_ORDER="FASTEST_FIRST"". "": none does.
  Rare<std::string> counts_otherwise;

  /// What the pod asks of a node: max(init containers, sum of containers + sidecars) + overhead.
  /// Counts as kube-scheduler's.
  Resources requests;
  /// The same as the kube-scheduler of Kubernetes 1.36 counts: one where it is another.
  Rare<std::vector<Resources>> requests_until_36;
  /// What each container's limits say of kShareResources, by index in spec.containers; empty: the pod asks
  /// for none of them.
  Rare<std::vector<ShareAmounts>> share_limits;
  /// The same of its init containers, by index in spec.initContainers; empty: none of them has such a limit.
  Rare<std::vector<InitShares>> init_share_limits;
  /// Of a pod with such limits: the pod group that it names (Volcano's, or the coscheduling plugin's),
  /// "" for none.
  Rare<std::string> gang;
  bool taken_by_kubelet = false;  // status.startTime is set: devices were allocated. Read of such pods only
  Rare<ScheduledCondition> scheduled;              // of an unbound pod
  PodLabels labels;                                // what others say of pods near them goes by these
  Rare<std::vector<AntiAffinityTerm>> keeps_away;  // of a bound pod: required anti-affinity; sorted, unique
  Rare<std::vector<HostPort>> host_ports;          // of its node, that it takes; sorted, unique
  Rare<std::vector<VolumeClaim>> volume_claims;    // in its order; one that it mounts twice is there twice
  Rare<std::vector<InlineDisk>> disks;             // in its order

  // What only a placement asks; empty once the pod is bound, but for one: what a bound pod would like of
  // those that come is in affinity.preferred (likedWhenThere()).
  Rare<std::vector<GpuLimit>> gpu_limits;  // init containers in their order, then containers; those above 0
  Rare<MappedLimits> mapped;
  std::vector<PodClaim> claims;  // those that it needs, of a bound pod too
  Rare<std::map<std::string, std::string>> node_selector;
  Rare<NodeAffinity> node_affinity;
  Rare<std::vector<std::string>> node_features;  // that its node must declare (KEP-5328); sorted, unique
  Rare<PodAffinity> affinity;
  Rare<std::vector<SpreadConstraint>> spread;
  Rare<std::string> controller;  // of one without spread: "ReplicaSet/name" (kapi::controllerOf()); "": none
  Rare<std::vector<Toleration>> tolerations;
  Rare<std::vector<std::string>> scheduling_gates;
  /// Kernel caches that it mounts, of its own namespace and of the cluster (""), which are those that it may
  /// (model/cache_volume.h); sorted, unique, at most kMostKernelCaches.
  Rare<std::vector<ObjectKey>> kernel_caches;
  /// Fields used that we do not count yet, as their paths ("spec.affinity",
  /// "spec.containers[].ports[].hostPort" ...), sorted, unique.
  /// Such a pod is Unschedulable with that reason (R31).
  Rare<std::vector<std::string>> unsupported;

  [[nodiscard]] bool finished() const { return phase == PodPhase::Succeeded || phase == PodPhase::Failed; }
  [[nodiscard]] bool bound() const { return !node.empty(); }
  template <class Text>
  [[nodiscard]] const std::string* annotation(const Text& name) const {
    if (annotations.empty()) { return nullptr; }
    const auto it = annotations.find(name);
    return it == annotations.end() ? nullptr : &it->second;
  }
  friend bool operator==(const Pod&, const Pod&) = default;
};

using PodPtr = std::shared_ptr<const Pod>;

}  // namespace gs::model
