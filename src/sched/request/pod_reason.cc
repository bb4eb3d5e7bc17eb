#include "sched/request/pod_reason.h"

#include <algorithm>
#include <array>

namespace gs::sched {
namespace {

struct KindRow {
  std::string_view kind;  // up to a ':', behind which stands what is meant
  PodReason reason;
};

/// What is not here is wrong in the pod, or in its claim: most of what doors say.
constexpr std::array kKinds{
    // Of doors.
    KindRow{"NoSuchDoor", PodReason::NotSupported},
    KindRow{"Unsupported", PodReason::NotSupported},
    KindRow{"Gang", PodReason::NotSupported},
    KindRow{"ClaimMissing", PodReason::ClaimNotFound},
    // Of ResourceClaims.
    KindRow{"ResourceClaimMissing", PodReason::ClaimNotFound},
    KindRow{"DeviceClassMissing", PodReason::ClaimNotFound},
    KindRow{"ResourceClaimTaken", PodReason::WaitsForPod},
    KindRow{"ResourceClaimBegun", PodReason::WaitsForPod},
    KindRow{"ResourceClaimNotServed", PodReason::NotSupported},
    KindRow{"AllUnderQuota", PodReason::InvalidRequest},
    // Of volumes.
    KindRow{"VolumeClaimMissing", PodReason::VolumeNotReady},
    KindRow{"VolumeClaimLost", PodReason::VolumeNotReady},
    KindRow{"VolumeClaimDeleting", PodReason::VolumeNotReady},
    KindRow{"VolumeClaimTaken", PodReason::VolumeNotReady},
    KindRow{"VolumeClaimUnbound", PodReason::VolumeNotReady},
    KindRow{"VolumeMissing", PodReason::VolumeNotReady},
    KindRow{"VolumesNotBound", PodReason::VolumeNotReady},
    KindRow{"VolumeSelectorsTooLarge", PodReason::InvalidRequest},
    // Of the scheduler.
    KindRow{"GpuEnvMissing", PodReason::InvalidRequest},
    KindRow{"TooManyRules", PodReason::InvalidRequest},
    KindRow{"MayNotList", PodReason::SchedulerNotReady},
    KindRow{"NamespacesUnknown", PodReason::SchedulerNotReady},
    KindRow{"QuotaUnknown", PodReason::SchedulerNotReady},
    KindRow{"NoLeaseRecord", PodReason::SchedulerNotReady},
    KindRow{"LeftoverLeases", PodReason::SchedulerError},
    KindRow{"WriteRefused", PodReason::SchedulerError},
};

static_assert(std::none_of(kKinds.begin(), kKinds.end(),
                           [](const KindRow& row) { return row.reason == PodReason::Unschedulable; }),
              "no new node helps a pod that is kept from all nodes");

}  // namespace

const char* nameOf(PodReason reason) {
  switch (reason) {
    case PodReason::Unschedulable: return "Unschedulable";
    case PodReason::QuotaExceeded: return "QuotaExceeded";
    case PodReason::InvalidRequest: return "InvalidRequest";
    case PodReason::ClaimNotFound: return "ClaimNotFound";
    case PodReason::NotSupported: return "NotSupported";
    case PodReason::VolumeNotReady: return "VolumeNotReady";
    case PodReason::WaitsForNode: return "WaitsForNode";
    case PodReason::WaitsForPod: return "WaitsForPod";
    case PodReason::WaitsForAgent: return "WaitsForAgent";
    case PodReason::SchedulerNotReady: return "SchedulerNotReady";
    case PodReason::SchedulerError: return "SchedulerError";
  }
  return "?";
}

PodReason podReasonOf(std::string_view kind) {
  kind = kind.substr(0, kind.find(':'));
  const auto* const row =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& one) { return one.kind == kind; });
  return row == kKinds.end() ? PodReason::InvalidRequest : row->reason;
}

}  // namespace gs::sched
