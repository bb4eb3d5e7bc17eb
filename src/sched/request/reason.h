// Why a node cannot take a pod. The first that applies, in this order, is the node's reason: that of the rows
// of sched/filters/filter.h, then of what is asked of GPUs, where what never changes there comes before what
// will pass. Words, kind and cures of each stand in sched/filters/reasons.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace gs::sched {

enum class Reason : std::uint8_t {
  OtherName,              // "node(s) were not named node1"; all: "no node carries the name node1 ..."
  Unschedulable,          // "node(s) were unschedulable"
  UntoleratedTaint,       // "node(s) had untolerated taint {key: value}"
  SelectorMismatch,       // "node(s) didn't match Pod's node affinity/selector"
  NotReady,               // "node(s) were not ready"                     (R6)
  ClaimSelectorMismatch,  // "node(s) didn't match the claim's selector gpu-type=a100"
  ManagedByOther,         // "node(s) were managed by gpu-manager"
  /// "node(s) offered nvidia.com/gpu by a device plugin and by a DRA driver: one of them must go"
  TwoMechanisms,
  /// "node(s) had GPUs of a DRA driver for amd.com/gpu: only pods that name ResourceClaims get these"
  DraClaimsOnly,
  /// "node(s) had kubelet v1.35.4: one older than 1.36 starts pods without what a DRA driver prepared"
  KubeletTooOld,
  /// "node(s) had GPUs of a DRA driver: kube-scheduler gives these itself"
  DraIsTheirs,
  /// "node(s) had GPUs of a DRA driver: these are not shared"
  DraNotShared,
  /// "node(s) had GPUs of a DRA driver: write a limit nvidia.com/gpu: 2 into the pod too"
  DraNeedsLimit,
  /// "node(s) had GPUs of a DRA driver: a ResourceClaim for the containers' limits would name 40 and may name
  /// 32"
  DraTooMany,
  /// "node(s) had no GPUs of a DRA driver"
  NoDraDevices,
  /// "node(s) had no DRA driver: the pod's limits are mapped to a ResourceClaim already"
  NoDraDriver,
  TriedInVain,           // "node(s) did not take this pod a moment ago"
  RoomKept,              // "node(s) had room that is kept for nominated pods"
  ExceedsQuota,          // "ExceedsGPUQuota": the namespace may not have (more) GPUs of this model
  HostPortsTaken,        // "node(s) didn't have free ports for the requested pod ports"
  TooManyPods,           // "Too many pods"
  InsufficientResource,  // "Insufficient cpu"
  // Of its volumes, in kube-scheduler's words (sched/filters/volumes.cc).
  DiskInUse,       // "node(s) had no available disk"
  VolumeOfOnePod,  // "... PersistentVolumeClaim with ReadWriteOncePod access mode ..."
  /// "node(s) had no gate for pods with GPUs: gpu-scheduler-agent does not serve CSI driver
  /// gate.gpu.scheduling there"
  NoGate,
  NoSuchDriver,          // "ebs.csi.aws.com CSI driver is not installed on the node"
  TooManyVolumes,        // "node(s) exceed max volume count"
  VolumeElsewhere,       // "node(s) didn't match PersistentVolume's node affinity"
  NoVolumeToBind,        // "node(s) didn't find available persistent volumes to bind"
  TooLittleStorage,      // "node(s) did not have enough free storage"
  VolumeMissing,         // "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
  VolumeInOtherZone,     // "node(s) had no available volume zone"
  SpreadNoLabel,         // "node(s) didn't match pod topology spread constraints (missing required label)"
  SpreadUnmet,           // "node(s) didn't match pod topology spread constraints"
  PodAffinity,           // "node(s) didn't match pod affinity rules"
  PodAntiAffinity,       // "node(s) didn't match pod anti-affinity rules"
  ExistingAntiAffinity,  // "node(s) didn't satisfy existing pods anti-affinity rules"
  MissesFeatures,        // "node(s) didn't match Pod's required features"
  NoGpuStatus,           // "node(s) had no GpuNodeStatus"
  AwaitsStatus,          // "node(s) had no GpuNodeStatus yet: its agent is waited for"
  NoGpu,                 // "node(s) had no GPU"
  TooFewGpus,  // "node(s) had too few GPUs: need 16 and the largest has 8"          never fits there
  NoSuchGpus,  // "node(s) had no GPU 5" or "node(s) had no whole GPU 5: MIG cuts it up"
  /// "node(s) had no island with enough bandwidth: need 4 GPUs with 900 GB/s per pair and best is 600"
  /// or "node(s) had too few GPUs in one island: need 6 and the largest has 4"         never fits there
  TopologyImpossible,
  /// "node(s) had too few GPUs whose UUID stands once: need 2 and most is 1" or "node(s) had GPU 5 with a
  /// UUID that stands at another GPU too"
  GpusTwice,
  TooFewHealthy,  // "node(s) had too few healthy GPUs: need 4 and most healthy is 3"
  GpusUnhealthy,  // "node(s) had unhealthy GPU 5"             of those that the request names
  TooFewFree,     // "node(s) had too few free GPUs: need 4 and most free is 2"
  GpusHeld,       // "node(s) had GPU 5 held Exclusive by another pod"     of those that it names
  /// "node(s) had no free GPUs with enough bandwidth: need 4 with 900 GB/s per pair in one island and best is
  /// 600" or "node(s) had too few free GPUs in one island: need 4 and most free is 3"
  TopologyUnmet,
  /// "node(s) had no devices for the pod's ResourceClaims: request a of claim c needs 2 devices of class gpu
  /// and most free is 1"
  ClaimsUnmet,
  /// "node(s) had pods with nvidia.com/gpu that have just come: its agent is to say which GPUs they have"
  AwaitsLook,
  NotTakenYet,  // "node(s) had pods that gpu-manager has not taken yet"          (sched/ledger/shares.h)
};
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::NotTakenYet) + 1;  // the last one

/// One node's rejection. need/have are numbers that the aggregation joins (the largest `have` wins); 0 where
/// a reason has none.
struct Misfit {
  Reason reason{};
  /// Part of the reason's text: taint, resource, enforcer, name, GPUs and what is with them.
  /// TopologyImpossible, TopologyUnmet: "" when too few are in one island (need, have count devices), else
  /// how many devices are wanted (need, have are GB/s).
  std::string detail;
  std::int64_t need = 0;
  std::int64_t have = 0;
  friend bool operator==(const Misfit&, const Misfit&) = default;
};

/// The value, or why there is none: a rejection is a value, never an error.
template <class T>
using Verdict = tl::expected<T, Misfit>;

}  // namespace gs::sched
