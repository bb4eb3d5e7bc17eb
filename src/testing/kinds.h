// Every kind of kapi/kinds.h: what is fuzzed, and what laws of all kinds are tested with.
#pragma once

#include <vector>

#include "kapi/kinds.h"

namespace gs::testing {

inline std::vector<kapi::Kind> allKinds() {
  return {kapi::kPod,
          kapi::kNode,
          kapi::kGpuClaim,
          kapi::kGpuNodeStatus,
          kapi::kLease,
          kapi::kCrd,
          kapi::kEvent,
          kapi::kQuotaMap,
          kapi::kResourceSlice,
          kapi::kDeviceTaintRule,
          kapi::kDeviceClass,
          kapi::kResourceClaim,
          kapi::kPersistentVolume,
          kapi::kPersistentVolumeClaim,
          kapi::kStorageClass,
          kapi::kCsiNode,
          kapi::kCsiDriver,
          kapi::kCsiStorageCapacity,
          kapi::kVolumeAttachment,
          kapi::kNamespace,
          kapi::kService,
          kapi::kReplicationController,
          kapi::kReplicaSet,
          kapi::kStatefulSet};
}

}  // namespace gs::testing
