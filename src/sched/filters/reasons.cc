#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"
#include "model/dra.h"
#include "sched/filters/filter.h"
#include "sched/policy/topology.h"

namespace gs::sched {
namespace {

/// A text in a row, so that the row can say it.
template <std::size_t kSize>
struct RowText {
  char text[kSize]{};
  consteval RowText(const char (&from)[kSize]) {  // a literal stands for it
    std::copy_n(from, kSize, text);
  }
};

template <RowText kText>
std::string says(const Misfit& /*m*/) {
  return kText.text;
}
/// {}: the detail.
template <RowText kText>
std::string saysDetail(const Misfit& m) {
  return fmt::format(fmt::runtime(kText.text), m.detail);
}
/// {}: what is needed, and what there is.
template <RowText kText>
std::string saysNumbers(const Misfit& m) {
  return fmt::format(fmt::runtime(kText.text), m.need, m.have);
}

std::string kubeletTooOld(const Misfit& m) {
  return fmt::format(
      "node(s) had kubelet {}: one older than 1.{} starts pods without what a DRA driver prepared",
      m.detail.empty() ? "of an unknown version" : m.detail, m.need);
}

std::string draNeedsLimit(const Misfit& m) {
  return fmt::format("node(s) had GPUs of a DRA driver: write a limit {}: {} into the pod too", m.detail,
                     m.need);
}

std::string draTooMany(const Misfit& m) {
  return fmt::format(
      "node(s) had GPUs of a DRA driver: a ResourceClaim for the containers' limits would name {} and may "
      "name {}",
      m.need, model::kMaxResults);
}

std::string tooFewGpus(const Misfit& m) {
  return m.need > kMaxDevices && m.have == kMaxDevices
             ? fmt::format("node(s) had too few GPUs: need {} and a pod gets at most {} of one node", m.need,
                           m.have)
             : fmt::format("node(s) had too few GPUs: need {} and the largest has {}", m.need, m.have);
}

std::string topologyImpossible(const Misfit& m) {
  return m.detail.empty()
             ? fmt::format("node(s) had too few GPUs in one island: need {} and the largest has {}", m.need,
                           m.have)
             : fmt::format(
                   "node(s) had no island with enough bandwidth: need {} GPUs with {} GB/s per pair and "
                   "best is {}",
                   m.detail, m.need, m.have);
}

std::string gpusTwice(const Misfit& m) {
  return m.detail.empty()
             ? fmt::format("node(s) had too few GPUs whose UUID stands once: need {} and most is {}", m.need,
                           m.have)
             : fmt::format("node(s) had {} with a UUID that stands at another GPU too", m.detail);
}

std::string topologyUnmet(const Misfit& m) {
  return m.detail.empty()
             ? fmt::format("node(s) had too few free GPUs in one island: need {} and most free is {}", m.need,
                           m.have)
             : fmt::format(
                   "node(s) had no free GPUs with enough bandwidth: need {} with {} GB/s per pair in one "
                   "island and best is {}",
                   m.detail, m.need, m.have);
}

std::string claimsUnmet(const Misfit& m) {
  return fmt::format("node(s) had no devices for the pod's ResourceClaims: {}{}", m.detail,
                     m.need > 0 ? fmt::format(" and most free is {}", m.have) : "");
}

std::string volumeOfOnePod(const Misfit& m) {
  return m.detail.empty() ? "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                            "mode already in-use by another pod"
                          : "node has pod using PersistentVolumeClaim with the same name and "
                            "ReadWriteOncePod access mode";
}

// All but OtherNode are about the node that refused.
constexpr Cures kFactsOrOther = Cure::NodeFacts | Cure::OtherNode;
constexpr Cures kAmounts = kFactsOrOther | Cure::PodGone;
constexpr Cures kGpus = kFactsOrOther | Cure::Devices;  // that are not there, or not of that kind
constexpr Cures kTheseGpus = Cure::NodeFacts | Cure::Devices;
constexpr Cures kFreeGpus = kGpus | Cure::PodGone;

constexpr Cures kVolumes = kFactsOrOther | Cure::Volumes;

constexpr Cures only(Cure cure) { return static_cast<Cures>(cure); }

constexpr std::array<ReasonRow, kReasons> kRows{{
    {Reason::OtherName, "OtherName", saysDetail<"node(s) were not named {}">, only(Cure::NodeFacts),
     PodReason::WaitsForNode},
    {Reason::Unschedulable, "Unschedulable", says<"node(s) were unschedulable">, kFactsOrOther},
    {Reason::UntoleratedTaint, "UntoleratedTaint", saysDetail<"node(s) had untolerated taint {{{}}}">,
     kFactsOrOther},
    {Reason::SelectorMismatch, "SelectorMismatch", says<"node(s) didn't match Pod's node affinity/selector">,
     kFactsOrOther},
    {Reason::NotReady, "NotReady", says<"node(s) were not ready">, kFactsOrOther},
    {Reason::ClaimSelectorMismatch, "ClaimSelectorMismatch",
     saysDetail<"node(s) didn't match the claim's selector {}">, kFactsOrOther},
    {Reason::ManagedByOther, "ManagedByOther", saysDetail<"node(s) were managed by {}">, kGpus},
    {Reason::TwoMechanisms, "TwoMechanisms",
     saysDetail<"node(s) offered {} by a device plugin and by a DRA driver: one of them must go">, kGpus},
    {Reason::DraClaimsOnly, "DraClaimsOnly",
     saysDetail<"node(s) had GPUs of a DRA driver for {}: only pods that name ResourceClaims get these">,
     kGpus},
    {Reason::KubeletTooOld, "KubeletTooOld", kubeletTooOld, kGpus},
    {Reason::DraIsTheirs, "DraIsTheirs",
     says<"node(s) had GPUs of a DRA driver: kube-scheduler gives these itself">, kGpus},
    {Reason::DraNotShared, "DraNotShared", says<"node(s) had GPUs of a DRA driver: these are not shared">,
     kGpus},
    {Reason::DraNeedsLimit, "DraNeedsLimit", draNeedsLimit, kGpus},
    {Reason::DraTooMany, "DraTooMany", draTooMany, kGpus},
    {Reason::NoDraDevices, "NoDraDevices", says<"node(s) had no GPUs of a DRA driver">, kGpus},
    {Reason::NoDraDriver, "NoDraDriver",
     says<"node(s) had no DRA driver: the pod's limits are mapped to a ResourceClaim already">, kGpus},
    {Reason::TriedInVain, "TriedInVain", says<"node(s) did not take this pod a moment ago">, only(Cure::Time),
     PodReason::SchedulerError},
    {Reason::RoomKept, "RoomKept", says<"node(s) had room that is kept for nominated pods">,
     Cure::Time | Cure::OtherNode},
    {Reason::ExceedsQuota, "ExceedsQuota", says<"ExceedsGPUQuota">, Cure::Quota | Cure::PodGone,
     PodReason::QuotaExceeded},
    {Reason::HostPortsTaken, "HostPortsTaken",
     says<"node(s) didn't have free ports for the requested pod ports">, Cure::PodGone | Cure::OtherNode},
    {Reason::TooManyPods, "TooManyPods", says<"Too many pods">, kAmounts},
    {Reason::InsufficientResource, "InsufficientResource", saysDetail<"Insufficient {}">, kAmounts},
    {Reason::DiskInUse, "DiskInUse", says<"node(s) had no available disk">, Cure::PodGone | Cure::OtherNode},
    {Reason::VolumeOfOnePod, "VolumeOfOnePod", volumeOfOnePod, only(Cure::PodGone), PodReason::WaitsForPod},
    {Reason::NoGate, "NoGate",
     says<"node(s) had no gate for pods with GPUs: gpu-scheduler-agent does not serve CSI driver "
          "gate.gpu.scheduling there">,
     Cure::Volumes | Cure::OtherNode},
    {Reason::NoSuchDriver, "NoSuchDriver", saysDetail<"{} CSI driver is not installed on the node">,
     Cure::Volumes | Cure::OtherNode},
    {Reason::TooManyVolumes, "TooManyVolumes", says<"node(s) exceed max volume count">,
     Cure::PodGone | Cure::Volumes | Cure::OtherNode},
    {Reason::VolumeElsewhere, "VolumeElsewhere",
     says<"node(s) didn't match PersistentVolume's node affinity">, kVolumes},
    {Reason::NoVolumeToBind, "NoVolumeToBind",
     says<"node(s) didn't find available persistent volumes to bind">, kVolumes},
    {Reason::TooLittleStorage, "TooLittleStorage", says<"node(s) did not have enough free storage">,
     kVolumes},
    {Reason::VolumeMissing, "VolumeMissing",
     says<"node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)">, only(Cure::Volumes),
     PodReason::VolumeNotReady},
    {Reason::VolumeInOtherZone, "VolumeInOtherZone", says<"node(s) had no available volume zone">, kVolumes},
    {Reason::SpreadNoLabel, "SpreadNoLabel",
     says<"node(s) didn't match pod topology spread constraints (missing required label)">, kFactsOrOther},
    {Reason::SpreadUnmet, "SpreadUnmet", says<"node(s) didn't match pod topology spread constraints">,
     kAmounts | Cure::PodCome},
    {Reason::PodAffinity, "PodAffinity", says<"node(s) didn't match pod affinity rules">,
     kFactsOrOther | Cure::PodCome},
    {Reason::PodAntiAffinity, "PodAntiAffinity", says<"node(s) didn't match pod anti-affinity rules">,
     kAmounts},
    {Reason::ExistingAntiAffinity, "ExistingAntiAffinity",
     says<"node(s) didn't satisfy existing pods anti-affinity rules">, kAmounts},
    {Reason::MissesFeatures, "MissesFeatures", says<"node(s) didn't match Pod's required features">,
     kFactsOrOther},
    {Reason::NoGpuStatus, "NoGpuStatus", says<"node(s) had no GpuNodeStatus">, kGpus},
    {Reason::AwaitsStatus, "AwaitsStatus", says<"node(s) had no GpuNodeStatus yet: its agent is waited for">,
     kTheseGpus, PodReason::WaitsForAgent},
    {Reason::NoGpu, "NoGpu", says<"node(s) had no GPU">, kGpus},
    {Reason::TooFewGpus, "TooFewGpus", tooFewGpus, kGpus},
    {Reason::NoSuchGpus, "NoSuchGpus", saysDetail<"node(s) had no {}">, kTheseGpus, PodReason::WaitsForNode},
    {Reason::TopologyImpossible, "TopologyImpossible", topologyImpossible, kGpus},
    {Reason::GpusTwice, "GpusTwice", gpusTwice, kGpus},
    {Reason::TooFewHealthy, "TooFewHealthy",
     saysNumbers<"node(s) had too few healthy GPUs: need {} and most healthy is {}">, kGpus},
    {Reason::GpusUnhealthy, "GpusUnhealthy", saysDetail<"node(s) had unhealthy {}">, kTheseGpus,
     PodReason::WaitsForNode},
    {Reason::TooFewFree, "TooFewFree",
     saysNumbers<"node(s) had too few free GPUs: need {} and most free is {}">, kFreeGpus,
     PodReason::Unschedulable, true},
    {Reason::GpusHeld, "GpusHeld", saysDetail<"node(s) had {}">, kTheseGpus | Cure::PodGone,
     PodReason::WaitsForPod, true},
    {Reason::TopologyUnmet, "TopologyUnmet", topologyUnmet, kFreeGpus, PodReason::Unschedulable, true},
    {Reason::ClaimsUnmet, "ClaimsUnmet", claimsUnmet, kFreeGpus},
    {Reason::AwaitsLook, "AwaitsLook",
     says<"node(s) had pods with nvidia.com/gpu that have just come: its agent is to say which GPUs they "
          "have">,
     kTheseGpus, PodReason::WaitsForAgent},
    {Reason::NotTakenYet, "NotTakenYet", says<"node(s) had pods that gpu-manager has not taken yet">,
     Cure::Time | Cure::PodGone, PodReason::WaitsForAgent},
}};

constexpr bool isInOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].reason) != i) { return false; }
  }
  return true;
}
constexpr bool isToldByCures() {
  return std::all_of(kRows.begin(), kRows.end(), [](const ReasonRow& row) {
    const bool another_would_do = (row.cures & only(Cure::OtherNode)) != 0;
    return another_would_do == (row.pod_reason == PodReason::Unschedulable);
  });
}
static_assert(isToldByCures(), "Unschedulable is said where another node would do, and nowhere else");
static_assert(isInOrder(), "one row for each reason, in the order of sched/request/reason.h");

}  // namespace

const ReasonRow& rowOf(Reason reason) {
  const auto at = static_cast<std::size_t>(reason);
  GS_CHECK(at < kRows.size(), "reason {}", at);
  return kRows[at];
}

}  // namespace gs::sched
