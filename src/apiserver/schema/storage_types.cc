#include "apiserver/schema/storage_types.h"

namespace gs::apiserver {

const char* const kStorageTypes = R"(
TopologyRequirement v1.TopologySelectorLabelRequirement key:!string values:![string]
TopologyTerm v1.TopologySelectorTerm@ matchLabelExpressions:[TopologyRequirement]
StorageClass v1.StorageClass kind:string apiVersion:string metadata:ObjectMeta provisioner:!string
  parameters:{string} reclaimPolicy:*string mountOptions:[string] allowVolumeExpansion:*bool
  volumeBindingMode:*string allowedTopologies:[TopologyTerm]
VolumeNodeResources v1.VolumeNodeResources count:*int32
CsiNodeDriver v1.CSINodeDriver name:!string nodeID:!string topologyKeys:![string]
  allocatable:*VolumeNodeResources
CsiNodeSpec v1.CSINodeSpec drivers:![CsiNodeDriver]@name
CSINode v1.CSINode kind:string apiVersion:string metadata:ObjectMeta spec:!CsiNodeSpec
CsiTokenRequest v1.TokenRequest audience:!string expirationSeconds:*int64
CsiDriverSpec v1.CSIDriverSpec attachRequired:*bool podInfoOnMount:*bool volumeLifecycleModes:[string]@
  storageCapacity:*bool fsGroupPolicy:*string tokenRequests:[CsiTokenRequest] requiresRepublish:*bool
  seLinuxMount:*bool nodeAllocatableUpdatePeriodSeconds:*int64
CSIDriver v1.CSIDriver kind:string apiVersion:string metadata:ObjectMeta spec:!CsiDriverSpec
CSIStorageCapacity v1.CSIStorageCapacity kind:string apiVersion:string metadata:ObjectMeta
  nodeTopology:*LabelSelector storageClassName:!string capacity:*quantity maximumVolumeSize:*quantity
VolumeAttachmentSource v1.VolumeAttachmentSource persistentVolumeName:*string inlineVolumeSpec:*PvSpec
VolumeAttachmentSpec v1.VolumeAttachmentSpec attacher:!string source:!VolumeAttachmentSource nodeName:!string
VolumeError v1.VolumeError time:time message:string errorCode:*int32
VolumeAttachmentStatus v1.VolumeAttachmentStatus attached:!bool attachmentMetadata:{string}
  attachError:*VolumeError detachError:*VolumeError
VolumeAttachment v1.VolumeAttachment kind:string apiVersion:string metadata:ObjectMeta
  spec:!VolumeAttachmentSpec status:VolumeAttachmentStatus
)";

}  // namespace gs::apiserver
