#include "apiserver/schema/builtin_types.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "apiserver/schema/device_types.h"
#include "apiserver/schema/pod_types.h"
#include "apiserver/schema/storage_types.h"
#include "apiserver/schema/volume_types.h"
#include "base/ascii.h"
#include "base/check.h"

namespace gs::apiserver {
namespace {

// One type per line (one that begins with a space goes on with the type before): `Name go-name field:type
// ...`; `go-name@`: its fields are owned as one. Types: string uid bytes (base64) bool int32 int64 float any
// quantity intstr time microtime, another type's name, [T] list, {T} map. Before the type `*` = pointer (kept
// as given), `!` = always written. After a list `@a,b` = merged by these keys, `@` alone = a set.
constexpr const char* kMetaTypes = R"(
OwnerReference v1.OwnerReference apiVersion:!string kind:!string name:!string uid:!uid controller:*bool
  blockOwnerDeletion:*bool
ObjectMeta v1.ObjectMeta name:string generateName:string namespace:string selfLink:string uid:uid
  resourceVersion:string generation:int64 creationTimestamp:time deletionTimestamp:*time
  deletionGracePeriodSeconds:*int64 labels:{string} annotations:{string} ownerReferences:[OwnerReference]@uid
  finalizers:[string]@ managedFields:[any]
ObjectReference v1.ObjectReference kind:string namespace:string name:string uid:uid apiVersion:string
  resourceVersion:string fieldPath:string
LocalObjectReference v1.LocalObjectReference name:string
LabelSelectorRequirement v1.LabelSelectorRequirement key:!string operator:!string values:[string]
LabelSelector v1.LabelSelector@ matchLabels:{string} matchExpressions:[LabelSelectorRequirement]
)";

// They name those of pods (pod_types.cc), too.
constexpr const char* kTypes = R"(
PodCondition v1.PodCondition type:!string observedGeneration:int64 status:!string lastProbeTime:time
  lastTransitionTime:time reason:string message:string
Ip v1.PodIP ip:!string
Waiting v1.ContainerStateWaiting reason:string message:string
Running v1.ContainerStateRunning startedAt:time
Terminated v1.ContainerStateTerminated exitCode:!int32 signal:int32 reason:string message:string
  startedAt:time finishedAt:time containerID:string
ContainerState v1.ContainerState waiting:*Waiting running:*Running terminated:*Terminated
ContainerStatus v1.ContainerStatus name:!string state:ContainerState lastState:ContainerState ready:!bool
  restartCount:!int32 image:!string imageID:!string containerID:string started:*bool
  allocatedResources:{quantity} resources:*Resources volumeMounts:[any]@mountPath user:*any
  allocatedResourcesStatus:[any]@name stopSignal:*string
PodClaimStatus v1.PodResourceClaimStatus name:!string resourceClaimName:*string
MappedRequest v1.ContainerExtendedResourceRequest containerName:!string resourceName:!string
  requestName:!string
ExtendedClaimStatus v1.PodExtendedResourceClaimStatus requestMappings:![MappedRequest]
  resourceClaimName:!string
PodStatus v1.PodStatus observedGeneration:int64 phase:string conditions:[PodCondition]@type message:string
  reason:string nominatedNodeName:string hostIP:string hostIPs:[Ip] podIP:string podIPs:[Ip]@ip
  startTime:*time initContainerStatuses:[ContainerStatus] containerStatuses:[ContainerStatus] qosClass:string
  ephemeralContainerStatuses:[ContainerStatus] resize:string resourceClaimStatuses:*[PodClaimStatus]@name
  extendedResourceClaimStatus:*ExtendedClaimStatus
Pod v1.Pod kind:string apiVersion:string metadata:ObjectMeta spec:PodSpec status:PodStatus
Binding v1.Binding kind:string apiVersion:string metadata:ObjectMeta target:!ObjectReference
Taint v1.Taint key:!string value:string effect:!string timeAdded:*time
NodeSpec v1.NodeSpec podCIDR:string podCIDRs:[string]@ providerID:string unschedulable:bool taints:[Taint]
  configSource:*any externalID:string
NodeCondition v1.NodeCondition type:!string status:!string lastHeartbeatTime:time lastTransitionTime:time
  reason:string message:string
NodeAddress v1.NodeAddress type:!string address:!string
DaemonEndpoint v1.DaemonEndpoint Port:!int32
DaemonEndpoints v1.NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint
NodeInfo v1.NodeSystemInfo machineID:!string systemUUID:!string bootID:!string kernelVersion:!string
  osImage:!string containerRuntimeVersion:!string kubeletVersion:!string kubeProxyVersion:!string
  operatingSystem:!string architecture:!string swap:*any
NodeStatus v1.NodeStatus capacity:{quantity} allocatable:{quantity} phase:string
  conditions:[NodeCondition]@type addresses:[NodeAddress]@type daemonEndpoints:DaemonEndpoints
  nodeInfo:NodeInfo images:[any] volumesInUse:[string] volumesAttached:[any] config:*any runtimeHandlers:[any]
  features:*any
Node v1.Node kind:string apiVersion:string metadata:ObjectMeta spec:NodeSpec status:NodeStatus
NamespaceSpec v1.NamespaceSpec finalizers:[string]
NamespaceStatus v1.NamespaceStatus phase:string conditions:[any]@type
Namespace v1.Namespace kind:string apiVersion:string metadata:ObjectMeta spec:NamespaceSpec
  status:NamespaceStatus
ConfigMap v1.ConfigMap kind:string apiVersion:string metadata:ObjectMeta immutable:*bool data:{string}
  binaryData:{string}
ServiceAccount v1.ServiceAccount kind:string apiVersion:string metadata:ObjectMeta
  secrets:[ObjectReference]@name imagePullSecrets:[LocalObjectReference] automountServiceAccountToken:*bool
PolicyRule v1.PolicyRule verbs:![string] apiGroups:[string] resources:[string] resourceNames:[string]
  nonResourceURLs:[string]
RbacSubject v1.Subject kind:!string apiGroup:string name:!string namespace:string
RoleRef v1.RoleRef apiGroup:!string kind:!string name:!string
AggregationRule v1.AggregationRule clusterRoleSelectors:[LabelSelector]
ClusterRole v1.ClusterRole kind:string apiVersion:string metadata:ObjectMeta rules:![PolicyRule]
  aggregationRule:*AggregationRule
Role v1.Role kind:string apiVersion:string metadata:ObjectMeta rules:![PolicyRule]
ClusterRoleBinding v1.ClusterRoleBinding kind:string apiVersion:string metadata:ObjectMeta
  subjects:[RbacSubject] roleRef:!RoleRef
RoleBinding v1.RoleBinding kind:string apiVersion:string metadata:ObjectMeta subjects:[RbacSubject]
  roleRef:!RoleRef
PdbSpec v1.PodDisruptionBudgetSpec minAvailable:*intstr selector:*LabelSelector maxUnavailable:*intstr
  unhealthyPodEvictionPolicy:*string
PdbCondition v1.Condition type:!string status:!string observedGeneration:int64 lastTransitionTime:time
  reason:!string message:!string
PdbStatus v1.PodDisruptionBudgetStatus observedGeneration:int64 disruptedPods:{time} disruptionsAllowed:!int32
  currentHealthy:!int32 desiredHealthy:!int32 expectedPods:!int32 conditions:[PdbCondition]@type
PodDisruptionBudget v1.PodDisruptionBudget kind:string apiVersion:string metadata:ObjectMeta spec:PdbSpec
  status:PdbStatus
SelfSubjectAccessReview v1.SelfSubjectAccessReview kind:string apiVersion:string metadata:ObjectMeta spec:!any
  status:any
SelfSubjectRulesReview v1.SelfSubjectRulesReview kind:string apiVersion:string metadata:ObjectMeta spec:!any
  status:any
SelfSubjectReview v1.SelfSubjectReview kind:string apiVersion:string metadata:ObjectMeta status:any
PriorityClass v1.PriorityClass kind:string apiVersion:string metadata:ObjectMeta value:!int32
  globalDefault:bool description:string preemptionPolicy:*string
PodTemplateSpec v1.PodTemplateSpec metadata:ObjectMeta spec:PodSpec
RollingUpdateDeployment v1.RollingUpdateDeployment maxUnavailable:*intstr maxSurge:*intstr
DeploymentStrategy v1.DeploymentStrategy type:string rollingUpdate:*RollingUpdateDeployment
DeploymentSpec v1.DeploymentSpec replicas:*int32 selector:*LabelSelector template:PodTemplateSpec
  strategy:DeploymentStrategy minReadySeconds:int32 revisionHistoryLimit:*int32 paused:bool
  progressDeadlineSeconds:*int32
DeploymentCondition v1.DeploymentCondition type:!string status:!string lastUpdateTime:time
  lastTransitionTime:time reason:string message:string
DeploymentStatus v1.DeploymentStatus observedGeneration:int64 replicas:int32 updatedReplicas:int32
  readyReplicas:int32 availableReplicas:int32 unavailableReplicas:int32 terminatingReplicas:*int32
  conditions:[DeploymentCondition]@type collisionCount:*int32
Deployment v1.Deployment kind:string apiVersion:string metadata:ObjectMeta spec:DeploymentSpec
  status:DeploymentStatus
WorkloadCondition v1.WorkloadCondition type:!string status:!string lastTransitionTime:time reason:string
  message:string
ReplicaSetSpec v1.ReplicaSetSpec replicas:*int32 minReadySeconds:int32 selector:*LabelSelector
  template:PodTemplateSpec
ReplicaSetStatus v1.ReplicaSetStatus replicas:!int32 fullyLabeledReplicas:int32 readyReplicas:int32
  availableReplicas:int32 terminatingReplicas:*int32 observedGeneration:int64
  conditions:[WorkloadCondition]@type
ReplicaSet v1.ReplicaSet kind:string apiVersion:string metadata:ObjectMeta spec:ReplicaSetSpec
  status:ReplicaSetStatus
RollingUpdateStatefulSet v1.RollingUpdateStatefulSetStrategy partition:*int32 maxUnavailable:*intstr
StatefulSetStrategy v1.StatefulSetUpdateStrategy type:string rollingUpdate:*RollingUpdateStatefulSet
ClaimRetention v1.StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:string whenScaled:string
Ordinals v1.StatefulSetOrdinals start:!int32
VolumeClaim v1.PersistentVolumeClaim kind:string apiVersion:string metadata:ObjectMeta spec:any status:any
StatefulSetSpec v1.StatefulSetSpec replicas:*int32 selector:*LabelSelector template:PodTemplateSpec
  volumeClaimTemplates:[VolumeClaim] serviceName:!string podManagementPolicy:string
  updateStrategy:StatefulSetStrategy revisionHistoryLimit:*int32 minReadySeconds:int32
  persistentVolumeClaimRetentionPolicy:*ClaimRetention ordinals:*Ordinals
StatefulSetStatus v1.StatefulSetStatus observedGeneration:int64 replicas:!int32 readyReplicas:int32
  currentReplicas:int32 updatedReplicas:int32 currentRevision:string updateRevision:string
  collisionCount:*int32 conditions:[WorkloadCondition]@type availableReplicas:!int32
StatefulSet v1.StatefulSet kind:string apiVersion:string metadata:ObjectMeta spec:StatefulSetSpec
  status:StatefulSetStatus
RollingUpdateDaemonSet v1.RollingUpdateDaemonSet maxUnavailable:*intstr maxSurge:*intstr
DaemonSetStrategy v1.DaemonSetUpdateStrategy type:string rollingUpdate:*RollingUpdateDaemonSet
DaemonSetSpec v1.DaemonSetSpec selector:*LabelSelector template:PodTemplateSpec
  updateStrategy:DaemonSetStrategy minReadySeconds:int32 revisionHistoryLimit:*int32
DaemonSetStatus v1.DaemonSetStatus currentNumberScheduled:!int32 numberMisscheduled:!int32
  desiredNumberScheduled:!int32 numberReady:!int32 observedGeneration:int64 updatedNumberScheduled:int32
  numberAvailable:int32 numberUnavailable:int32 collisionCount:*int32 conditions:[WorkloadCondition]@type
DaemonSet v1.DaemonSet kind:string apiVersion:string metadata:ObjectMeta spec:DaemonSetSpec
  status:DaemonSetStatus
ControllerRevision v1.ControllerRevision kind:string apiVersion:string metadata:ObjectMeta data:any
  revision:!int64
ExitCodes v1.PodFailurePolicyOnExitCodesRequirement containerName:*string operator:!string values:![int32]@
PodConditionPattern v1.PodFailurePolicyOnPodConditionsPattern type:!string status:!string
PodFailureRule v1.PodFailurePolicyRule action:!string onExitCodes:*ExitCodes
  onPodConditions:[PodConditionPattern]
PodFailurePolicy v1.PodFailurePolicy rules:![PodFailureRule]
SuccessRule v1.SuccessPolicyRule succeededIndexes:*string succeededCount:*int32
SuccessPolicy v1.SuccessPolicy rules:![SuccessRule]
JobSpec v1.JobSpec parallelism:*int32 completions:*int32 activeDeadlineSeconds:*int64
  podFailurePolicy:*PodFailurePolicy successPolicy:*SuccessPolicy backoffLimit:*int32
  backoffLimitPerIndex:*int32 maxFailedIndexes:*int32
  selector:*LabelSelector manualSelector:*bool template:PodTemplateSpec ttlSecondsAfterFinished:*int32
  completionMode:*string suspend:*bool podReplacementPolicy:*string managedBy:*string
JobCondition v1.JobCondition type:!string status:!string lastProbeTime:time lastTransitionTime:time
  reason:string message:string
UncountedPods v1.UncountedTerminatedPods succeeded:[uid]@ failed:[uid]@
JobStatus v1.JobStatus conditions:[JobCondition]@type startTime:*time completionTime:*time active:int32
  succeeded:int32 failed:int32 terminating:*int32 completedIndexes:string failedIndexes:*string
  uncountedTerminatedPods:*UncountedPods ready:*int32
Job v1.Job kind:string apiVersion:string metadata:ObjectMeta spec:JobSpec status:JobStatus
ScaleSpec v1.ScaleSpec replicas:int32
ScaleStatus v1.ScaleStatus replicas:!int32 selector:string
Scale v1.Scale kind:string apiVersion:string metadata:ObjectMeta spec:ScaleSpec status:ScaleStatus
Preconditions v1.Preconditions uid:*uid resourceVersion:*string
DeleteOptions v1.DeleteOptions kind:string apiVersion:string gracePeriodSeconds:*int64
  preconditions:*Preconditions orphanDependents:*bool propagationPolicy:*string dryRun:[string]
  ignoreStoreReadErrorWithClusterBreakingPotential:*bool
Eviction v1.Eviction kind:string apiVersion:string metadata:ObjectMeta deleteOptions:*DeleteOptions
LeaseSpec v1.LeaseSpec holderIdentity:*string leaseDurationSeconds:*int32 acquireTime:*microtime
  renewTime:*microtime leaseTransitions:*int32 strategy:*string preferredHolder:*string
Lease v1.Lease kind:string apiVersion:string metadata:ObjectMeta spec:LeaseSpec
EventSource v1.EventSource component:string host:string
EventSeries v1.EventSeries count:int32 lastObservedTime:microtime
CoreEvent v1.Event kind:string apiVersion:string metadata:ObjectMeta involvedObject:!ObjectReference
  reason:string message:string source:EventSource firstTimestamp:time lastTimestamp:time count:int32
  type:string eventTime:microtime series:*EventSeries action:string related:*ObjectReference
  reportingComponent:!string reportingInstance:!string
Event v1.Event kind:string apiVersion:string metadata:ObjectMeta eventTime:microtime series:*EventSeries
  reportingController:string reportingInstance:string action:string reason:string regarding:ObjectReference
  related:*ObjectReference note:string type:string deprecatedSource:EventSource deprecatedFirstTimestamp:time
  deprecatedLastTimestamp:time deprecatedCount:int32
CrdNames v1.CustomResourceDefinitionNames plural:!string singular:string shortNames:[string] kind:!string
  listKind:string categories:[string]
CrdColumn v1.CustomResourceColumnDefinition name:!string type:!string format:string description:string
  priority:int32 jsonPath:!string
CrdVersion v1.CustomResourceDefinitionVersion name:!string served:!bool storage:!bool deprecated:bool
  deprecationWarning:*string schema:*any subresources:*any additionalPrinterColumns:[CrdColumn]
  selectableFields:[any]
CrdSpec v1.CustomResourceDefinitionSpec group:!string names:!CrdNames scope:!string versions:![CrdVersion]
  conversion:*any preserveUnknownFields:bool
CrdCondition v1.CustomResourceDefinitionCondition type:!string status:!string lastTransitionTime:time
  reason:string message:string
CrdStatus v1.CustomResourceDefinitionStatus conditions:![CrdCondition]@type acceptedNames:!CrdNames
  storedVersions:![string]
Crd v1.CustomResourceDefinition kind:string apiVersion:string metadata:ObjectMeta spec:!CrdSpec
  status:CrdStatus
Secret v1.Secret kind:string apiVersion:string metadata:ObjectMeta immutable:*bool data:{bytes}
  stringData:{string} type:string
ServicePort v1.ServicePort name:string protocol:string appProtocol:*string port:!int32 targetPort:intstr
  nodePort:int32
ClientIpConfig v1.ClientIPConfig timeoutSeconds:*int32
SessionAffinityConfig v1.SessionAffinityConfig clientIP:*ClientIpConfig
ServiceSpec v1.ServiceSpec ports:[ServicePort]@port,protocol selector:{string} clusterIP:string
  clusterIPs:[string] type:string externalIPs:[string] sessionAffinity:string loadBalancerIP:string
  loadBalancerSourceRanges:[string] externalName:string externalTrafficPolicy:string healthCheckNodePort:int32
  publishNotReadyAddresses:bool sessionAffinityConfig:*SessionAffinityConfig ipFamilies:[string]
  ipFamilyPolicy:*string
  allocateLoadBalancerNodePorts:*bool loadBalancerClass:*string internalTrafficPolicy:*string
  trafficDistribution:*string
LoadBalancerStatus v1.LoadBalancerStatus ingress:[any]
ServiceStatus v1.ServiceStatus loadBalancer:LoadBalancerStatus conditions:[PdbCondition]@type
Service v1.Service kind:string apiVersion:string metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus
EndpointPort v1.EndpointPort name:*string protocol:*string port:*int32 appProtocol:*string
EndpointConditions v1.EndpointConditions ready:*bool serving:*bool terminating:*bool
NamedHint v1.ForZone name:!string
EndpointHints v1.EndpointHints forZones:[NamedHint] forNodes:[NamedHint]
Endpoint v1.Endpoint addresses:![string]@ conditions:EndpointConditions hostname:*string
  targetRef:*ObjectReference deprecatedTopology:{string} nodeName:*string zone:*string hints:*EndpointHints
EndpointSlice v1.EndpointSlice kind:string apiVersion:string metadata:ObjectMeta addressType:!string
  endpoints:![Endpoint] ports:![EndpointPort]
ServiceReference v1.ServiceReference namespace:!string name:!string path:*string port:*int32
WebhookClientConfig v1.WebhookClientConfig url:*string service:*ServiceReference caBundle:bytes
WebhookRule v1.RuleWithOperations operations:[string] apiGroups:[string] apiVersions:[string]
  resources:[string] scope:*string
MatchCondition v1.MatchCondition name:!string expression:!string
MutatingWebhook v1.MutatingWebhook name:!string clientConfig:!WebhookClientConfig rules:[WebhookRule]
  failurePolicy:*string matchPolicy:*string namespaceSelector:*LabelSelector objectSelector:*LabelSelector
  sideEffects:*string timeoutSeconds:*int32 admissionReviewVersions:![string] reinvocationPolicy:*string
  matchConditions:[MatchCondition]@name
ValidatingWebhook v1.ValidatingWebhook name:!string clientConfig:!WebhookClientConfig rules:[WebhookRule]
  failurePolicy:*string matchPolicy:*string namespaceSelector:*LabelSelector objectSelector:*LabelSelector
  sideEffects:*string timeoutSeconds:*int32 admissionReviewVersions:![string]
  matchConditions:[MatchCondition]@name
MutatingWebhookConfiguration v1.MutatingWebhookConfiguration kind:string apiVersion:string metadata:ObjectMeta
  webhooks:[MutatingWebhook]@name
ValidatingWebhookConfiguration v1.ValidatingWebhookConfiguration kind:string apiVersion:string
  metadata:ObjectMeta webhooks:[ValidatingWebhook]@name
ParamKind v1.ParamKind@ apiVersion:string kind:string
NamedRule v1.NamedRuleWithOperations@ resourceNames:[string] operations:[string] apiGroups:[string]
  apiVersions:[string] resources:[string] scope:*string
MatchResources v1.MatchResources@ namespaceSelector:*LabelSelector objectSelector:*LabelSelector
  resourceRules:[NamedRule] excludeResourceRules:[NamedRule] matchPolicy:*string
PolicyValidation v1.Validation expression:!string message:string reason:*string messageExpression:string
AuditAnnotation v1.AuditAnnotation key:!string valueExpression:!string
PolicyVariable v1.Variable@ name:!string expression:!string
AdmissionPolicySpec v1.ValidatingAdmissionPolicySpec paramKind:*ParamKind matchConstraints:*MatchResources
  validations:[PolicyValidation] failurePolicy:*string auditAnnotations:[AuditAnnotation]
  matchConditions:[MatchCondition]@name variables:[PolicyVariable]@name
ExpressionWarning v1.ExpressionWarning fieldRef:!string warning:!string
TypeChecking v1.TypeChecking expressionWarnings:[ExpressionWarning]
AdmissionPolicyStatus v1.ValidatingAdmissionPolicyStatus observedGeneration:int64 typeChecking:*TypeChecking
  conditions:[PdbCondition]@type
ValidatingAdmissionPolicy v1.ValidatingAdmissionPolicy kind:string apiVersion:string metadata:ObjectMeta
  spec:AdmissionPolicySpec status:AdmissionPolicyStatus
ParamRef v1.ParamRef@ name:string namespace:string selector:*LabelSelector parameterNotFoundAction:*string
PolicyBindingSpec v1.ValidatingAdmissionPolicyBindingSpec policyName:string paramRef:*ParamRef
  matchResources:*MatchResources validationActions:[string]@
ValidatingAdmissionPolicyBinding v1.ValidatingAdmissionPolicyBinding kind:string apiVersion:string
  metadata:ObjectMeta spec:PolicyBindingSpec
NetworkPolicyPort v1.NetworkPolicyPort protocol:*string port:*intstr endPort:*int32
IpBlock v1.IPBlock cidr:!string except:[string]
NetworkPolicyPeer v1.NetworkPolicyPeer podSelector:*LabelSelector namespaceSelector:*LabelSelector
  ipBlock:*IpBlock
NetworkPolicyIngress v1.NetworkPolicyIngressRule ports:[NetworkPolicyPort] from:[NetworkPolicyPeer]
NetworkPolicyEgress v1.NetworkPolicyEgressRule ports:[NetworkPolicyPort] to:[NetworkPolicyPeer]
NetworkPolicySpec v1.NetworkPolicySpec podSelector:LabelSelector ingress:[NetworkPolicyIngress]
  egress:[NetworkPolicyEgress] policyTypes:[string]
NetworkPolicy v1.NetworkPolicy kind:string apiVersion:string metadata:ObjectMeta spec:NetworkPolicySpec
)";

class Compiler {
 public:
  Compiler() {
    for (const char* table : {kMetaTypes, kPodTypes, kTypes, kVolumeTypes, kStorageTypes, kDeviceTypes}) {
      for (const auto& line : foldedLines(table)) { addType(line); }
    }
  }
  [[nodiscard]] SchemaPtr type(std::string_view name) const {
    const auto at = types_.find(name);
    GS_CHECK(at != types_.end(), "no built-in type {}", name);
    return at->second;
  }

 private:
  void addType(const std::string& line) {
    std::istringstream words{line};
    std::string name;
    auto schema = std::make_shared<Schema>();
    schema->type = Schema::Type::Object;
    words >> name >> schema->go_name;
    if (schema->go_name.back() == '@') {
      schema->atomic_map = true;
      schema->go_name.pop_back();
    }
    for (std::string word; words >> word;) { schema->fields.push_back(parseField(word)); }
    std::sort(schema->fields.begin(), schema->fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
    types_.emplace(name, std::move(schema));
  }

  Field parseField(std::string_view word) const {
    Field field;
    const std::size_t colon = word.find(':');
    field.name = word.substr(0, colon);
    word.remove_prefix(colon + 1);
    for (; word.front() == '*' || word.front() == '!'; word.remove_prefix(1)) {
      (word.front() == '*' ? field.pointer : field.always) = true;
    }
    field.schema = parseType(word);
    return field;
  }

  SchemaPtr parseType(std::string_view word) const {
    if (word.front() != '[' && word.front() != '{') { return named(word); }
    const bool list = word.front() == '[';
    const std::size_t end = word.rfind(list ? ']' : '}');
    auto schema = std::make_shared<Schema>();
    schema->type = list ? Schema::Type::List : Schema::Type::Map;
    schema->element = parseType(word.substr(1, end - 1));
    schema->go_name = (list ? "[]" : "map[string]") + schema->element->go_name;
    std::string_view rest = word.substr(end + 1);
    if (rest == "@") {
      schema->list = ListKind::Set;
    } else if (!rest.empty()) {
      schema->list = ListKind::Map;
      while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::size_t comma = std::min(rest.find(','), rest.size());
        schema->keys.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(comma);
      }
    }
    return schema;
  }

  SchemaPtr named(std::string_view word) const {
    static const std::map<std::string_view, Schema::Type> kLeaves{
        {"string", Schema::Type::String},     {"uid", Schema::Type::String},
        {"bytes", Schema::Type::String},      {"bool", Schema::Type::Boolean},
        {"int32", Schema::Type::Integer},     {"int64", Schema::Type::Integer},
        {"float", Schema::Type::Number},      {"any", Schema::Type::Any},
        {"quantity", Schema::Type::Quantity}, {"intstr", Schema::Type::IntOrString},
        {"time", Schema::Type::Time},         {"microtime", Schema::Type::MicroTime}};
    const auto leaf = kLeaves.find(word);
    if (leaf == kLeaves.end()) { return type(word); }
    auto schema = std::make_shared<Schema>();
    schema->type = leaf->second;
    schema->go_name = leaf->second == Schema::Type::Any ? "interface {}"
                      : word == "uid"                   ? "types.UID"
                      : word == "bytes"                 ? kGoBytes
                                                        : std::string{word};
    return schema;
  }

  std::map<std::string, SchemaPtr, std::less<>> types_;
};

}  // namespace

SchemaPtr builtinType(std::string_view name) {
  static const Compiler kCompiler;
  return kCompiler.type(name);
}

}  // namespace gs::apiserver
