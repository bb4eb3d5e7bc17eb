#include "apiserver/schema/device_types.h"

namespace gs::apiserver {

const char* const kDeviceTypes = R"(
CelSelector v1.CELDeviceSelector expression:!string
DeviceSelector v1.DeviceSelector cel:*CelSelector
DeviceToleration v1.DeviceToleration key:string operator:string value:string effect:string
  tolerationSeconds:*int64
DeviceAmounts v1.CapacityRequirements requests:{quantity}
DerivedAttribute v1.DeviceDerivedAttribute name:!string expression:!string
ExactRequest v1.ExactDeviceRequest deviceClassName:!string selectors:[DeviceSelector] allocationMode:string
  count:int64 adminAccess:*bool tolerations:[DeviceToleration] capacity:*DeviceAmounts
  derivedAttributes:[DerivedAttribute]
SubRequest v1.DeviceSubRequest name:!string deviceClassName:!string selectors:[DeviceSelector]
  allocationMode:string count:int64 tolerations:[DeviceToleration] capacity:*DeviceAmounts
  derivedAttributes:[DerivedAttribute]
DeviceRequest v1.DeviceRequest name:!string exactly:*ExactRequest firstAvailable:[SubRequest]
DeviceConstraint v1.DeviceConstraint requests:[string] matchAttribute:*string distinctAttribute:*string
OpaqueConfig v1.OpaqueDeviceConfiguration driver:!string parameters:!any
ClaimConfig v1.DeviceClaimConfiguration requests:[string] opaque:*OpaqueConfig
DeviceClaim v1.DeviceClaim requests:![DeviceRequest] constraints:[DeviceConstraint] config:[ClaimConfig]
ClaimSpec v1.ResourceClaimSpec devices:!DeviceClaim
ClaimConsumer v1.ResourceClaimConsumerReference apiGroup:string resource:!string name:!string uid:!uid
AllocatedDevice v1.DeviceRequestAllocationResult request:!string driver:!string pool:!string device:!string
  adminAccess:*bool tolerations:[DeviceToleration] bindingConditions:[string]
  bindingFailureConditions:[string] shareID:*uid consumedCapacity:{quantity} skipNodeOperations:[string]@
AllocatedConfig v1.DeviceAllocationConfiguration source:!string requests:[string] opaque:*OpaqueConfig
AllocatedDevices v1.DeviceAllocationResult results:[AllocatedDevice] config:[AllocatedConfig]
Allocation v1.AllocationResult devices:AllocatedDevices nodeSelector:*NodeSelector allocationTimestamp:*time
NetworkData v1.NetworkDeviceData interfaceName:string ips:[string] hardwareAddress:string
DeviceStatus v1.AllocatedDeviceStatus driver:!string pool:!string device:!string shareID:*string
  conditions:![PdbCondition]@type data:*any networkData:*NetworkData
ClaimStatus v1.ResourceClaimStatus allocation:*Allocation reservedFor:[ClaimConsumer]@uid
  devices:[DeviceStatus]@driver,device,pool,shareID
ResourceClaim v1.ResourceClaim kind:string apiVersion:string metadata:ObjectMeta spec:!ClaimSpec
  status:ClaimStatus
ClaimMeta v1.ObjectMeta name:string generateName:string namespace:string selfLink:string uid:uid
  resourceVersion:string generation:int64 creationTimestamp:*time deletionTimestamp:*time
  deletionGracePeriodSeconds:*int64 labels:{string} annotations:{string} ownerReferences:[OwnerReference]@uid
  finalizers:[string]@ managedFields:[any]
ClaimTemplateSpec v1.ResourceClaimTemplateSpec metadata:ClaimMeta spec:!ClaimSpec
ResourceClaimTemplate v1.ResourceClaimTemplate kind:string apiVersion:string metadata:ObjectMeta
  spec:!ClaimTemplateSpec
ClassConfig v1.DeviceClassConfiguration opaque:*OpaqueConfig
DeviceClassSpec v1.DeviceClassSpec selectors:[DeviceSelector] config:[ClassConfig]
  extendedResourceName:*string
DeviceClass v1.DeviceClass kind:string apiVersion:string metadata:ObjectMeta spec:!DeviceClassSpec
DeviceAttribute v1.DeviceAttribute int:*int64 bool:*bool string:*string version:*string ints:[int64]
  bools:[bool] strings:[string] versions:[string]
CapacityRange v1.CapacityRequestPolicyRange min:*quantity max:*quantity step:*quantity
CapacityPolicy v1.CapacityRequestPolicy default:*!quantity validValues:[quantity] validRange:*CapacityRange
DeviceCapacity v1.DeviceCapacity value:!quantity requestPolicy:*CapacityPolicy
DeviceCounter v1.Counter value:!quantity
CounterSet v1.CounterSet name:!string counters:{DeviceCounter}
CounterUse v1.DeviceCounterConsumption counterSet:!string counters:{DeviceCounter}
  compatibilityGroups:[string]
DeviceTaint v1.DeviceTaint key:!string value:string effect:!string timeAdded:*time
Device v1.Device name:!string attributes:{DeviceAttribute} capacity:{DeviceCapacity}
  consumesCounters:[CounterUse] nodeName:*string nodeSelector:*NodeSelector allNodes:*bool
  taints:[DeviceTaint] bindsToNode:*bool bindingConditions:[string] bindingFailureConditions:[string]
  allowMultipleAllocations:*bool nodeAllocatableResources:{any}
ResourcePool v1.ResourcePool name:!string generation:!int64 resourceSliceCount:!int64
ResourceSliceSpec v1.ResourceSliceSpec driver:!string pool:!ResourcePool nodeName:*string
  nodeSelector:*NodeSelector allNodes:*bool devices:[Device] perDeviceNodeSelection:*bool
  sharedCounters:[CounterSet] partitionTypeAttribute:*string skipNodeOperations:[string]@
ResourceSlice v1.ResourceSlice kind:string apiVersion:string metadata:ObjectMeta spec:!ResourceSliceSpec
TaintedDevices v1.DeviceTaintSelector driver:*string pool:*string device:*string
DeviceTaintRuleSpec v1.DeviceTaintRuleSpec deviceSelector:*TaintedDevices taint:DeviceTaint
DeviceTaintRuleStatus v1.DeviceTaintRuleStatus conditions:[PdbCondition]@type
DeviceTaintRule v1.DeviceTaintRule kind:string apiVersion:string metadata:ObjectMeta
  spec:!DeviceTaintRuleSpec status:DeviceTaintRuleStatus
)";

}  // namespace gs::apiserver
