// The kinds that more than one component reads or writes, a line each.
// What a kind is stands beside its decoder.
#pragma once

#include "kapi/kind.h"

namespace gs::kapi {

extern const Kind kPod;
extern const Kind kNode;
extern const Kind kNamespace;
extern const Kind kGpuClaim;
extern const Kind kGpuNodeStatus;
extern const Kind kLease;
extern const Kind kCrd;
extern const Kind kEvent;
extern const Kind kQuotaMap;  // a ConfigMap that holds quotas
extern const Kind kResourceSlice;
extern const Kind kDeviceTaintRule;
extern const Kind kDeviceClass;
extern const Kind kResourceClaim;
extern const Kind kDisruptionBudget;
extern const Kind kPersistentVolume;
extern const Kind kPersistentVolumeClaim;
extern const Kind kStorageClass;
extern const Kind kCsiNode;
extern const Kind kCsiDriver;
extern const Kind kCsiStorageCapacity;
extern const Kind kVolumeAttachment;
extern const Kind kServerVersion;  // no kind of object: what the server says at /version; only got
// model::PodOwner, for default spread only.
extern const Kind kService;
extern const Kind kReplicationController;
extern const Kind kReplicaSet;
extern const Kind kStatefulSet;

}  // namespace gs::kapi
