#include "apiserver/schema/volume_types.h"

namespace gs::apiserver {

const char* const kVolumeTypes = R"(
TypedLocalReference v1.TypedLocalObjectReference@ apiGroup:*!string kind:!string name:!string
TypedReference v1.TypedObjectReference apiGroup:*!string kind:!string name:!string namespace:*string
VolumeResources v1.VolumeResourceRequirements limits:{quantity} requests:{quantity}
PvcSpec v1.PersistentVolumeClaimSpec accessModes:[string] selector:*LabelSelector resources:VolumeResources
  volumeName:string storageClassName:*string volumeMode:*string dataSource:*TypedLocalReference
  dataSourceRef:*TypedReference volumeAttributesClassName:*string
PvcCondition v1.PersistentVolumeClaimCondition type:!string status:!string lastProbeTime:time
  lastTransitionTime:time reason:string message:string
PvcStatus v1.PersistentVolumeClaimStatus phase:string accessModes:[string] capacity:{quantity}
  conditions:[PvcCondition]@type allocatedResources:{quantity} allocatedResourceStatuses:{string}
  currentVolumeAttributesClassName:*string modifyVolumeStatus:*any
PersistentVolumeClaim v1.PersistentVolumeClaim kind:string apiVersion:string metadata:ObjectMeta spec:PvcSpec
  status:PvcStatus
SecretReference v1.SecretReference name:string namespace:string
CsiPersistentVolume v1.CSIPersistentVolumeSource driver:!string volumeHandle:!string readOnly:bool fsType:string
  volumeAttributes:{string} controllerPublishSecretRef:*SecretReference nodeStageSecretRef:*SecretReference
  nodePublishSecretRef:*SecretReference controllerExpandSecretRef:*SecretReference
  nodeExpandSecretRef:*SecretReference
LocalVolume v1.LocalVolumeSource path:!string fsType:*string
VolumeNodeAffinity v1.VolumeNodeAffinity required:*NodeSelector
PvSpec v1.PersistentVolumeSpec capacity:{quantity} gcePersistentDisk:*any awsElasticBlockStore:*any
  hostPath:*HostPath glusterfs:*any nfs:*NfsVolume rbd:*any iscsi:*any cinder:*any cephfs:*any fc:*any flocker:*any
  flexVolume:*any azureFile:*any vsphereVolume:*any quobyte:*any azureDisk:*any photonPersistentDisk:*any
  portworxVolume:*any scaleIO:*any local:*LocalVolume storageos:*any csi:*CsiPersistentVolume accessModes:[string]
  claimRef:*ObjectReference persistentVolumeReclaimPolicy:string storageClassName:string
  mountOptions:[string] volumeMode:*string nodeAffinity:*VolumeNodeAffinity volumeAttributesClassName:*string
PvStatus v1.PersistentVolumeStatus phase:string message:string reason:string lastPhaseTransitionTime:*time
PersistentVolume v1.PersistentVolume kind:string apiVersion:string metadata:ObjectMeta spec:PvSpec
  status:PvStatus
)";

}  // namespace gs::apiserver
