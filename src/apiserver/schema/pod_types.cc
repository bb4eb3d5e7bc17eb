#include "apiserver/schema/pod_types.h"

namespace gs::apiserver {

const char* const kPodTypes = R"(
FieldSelector v1.ObjectFieldSelector apiVersion:string fieldPath:!string
ResourceFieldSelector v1.ResourceFieldSelector containerName:string resource:!string divisor:!quantity
KeyRef v1.ConfigMapKeySelector@ name:string key:!string optional:*bool
SecretKeyRef v1.SecretKeySelector@ name:string key:!string optional:*bool
EnvVarSource v1.EnvVarSource fieldRef:*FieldSelector resourceFieldRef:*ResourceFieldSelector
  configMapKeyRef:*KeyRef secretKeyRef:*SecretKeyRef
EnvVar v1.EnvVar name:!string value:string valueFrom:*EnvVarSource
ConfigMapEnv v1.ConfigMapEnvSource name:string optional:*bool
SecretEnv v1.SecretEnvSource name:string optional:*bool
EnvFrom v1.EnvFromSource prefix:string configMapRef:*ConfigMapEnv secretRef:*SecretEnv
ContainerPort v1.ContainerPort name:string hostPort:int32 containerPort:!int32 protocol:string hostIP:string
ContainerClaim v1.ResourceClaim name:!string request:string
Resources v1.ResourceRequirements limits:{quantity} requests:{quantity} claims:[ContainerClaim]@name
VolumeMount v1.VolumeMount name:!string readOnly:bool recursiveReadOnly:*string mountPath:!string
  subPath:string mountPropagation:*string subPathExpr:string
VolumeDevice v1.VolumeDevice name:!string devicePath:!string
ResizePolicy v1.ContainerResizePolicy resourceName:!string restartPolicy:!string
Exec v1.ExecAction command:[string]
HttpHeader v1.HTTPHeader name:!string value:!string
HttpGet v1.HTTPGetAction path:string port:!intstr host:string scheme:string httpHeaders:[HttpHeader]
TcpSocket v1.TCPSocketAction port:!intstr host:string
Grpc v1.GRPCAction port:!int32 service:*!string
Sleep v1.SleepAction seconds:!int64
LifecycleHandler v1.LifecycleHandler exec:*Exec httpGet:*HttpGet tcpSocket:*TcpSocket sleep:*Sleep
Lifecycle v1.Lifecycle postStart:*LifecycleHandler preStop:*LifecycleHandler
Probe v1.Probe exec:*Exec httpGet:*HttpGet tcpSocket:*TcpSocket grpc:*Grpc initialDelaySeconds:int32
  timeoutSeconds:int32 periodSeconds:int32 successThreshold:int32 failureThreshold:int32
  terminationGracePeriodSeconds:*int64
Capabilities v1.Capabilities add:[string] drop:[string]
SeLinux v1.SELinuxOptions user:string role:string type:string level:string
Seccomp v1.SeccompProfile type:!string localhostProfile:*string
AppArmor v1.AppArmorProfile type:!string localhostProfile:*string
WindowsOptions v1.WindowsSecurityContextOptions gmsaCredentialSpecName:*string gmsaCredentialSpec:*string
  runAsUserName:*string hostProcess:*bool
SecurityContext v1.SecurityContext capabilities:*Capabilities privileged:*bool seLinuxOptions:*SeLinux
  windowsOptions:*WindowsOptions runAsUser:*int64 runAsGroup:*int64 runAsNonRoot:*bool
  readOnlyRootFilesystem:*bool allowPrivilegeEscalation:*bool procMount:*string seccompProfile:*Seccomp
  appArmorProfile:*AppArmor
Sysctl v1.Sysctl name:!string value:!string
PodSecurityContext v1.PodSecurityContext seLinuxOptions:*SeLinux windowsOptions:*WindowsOptions
  runAsUser:*int64 runAsGroup:*int64 runAsNonRoot:*bool supplementalGroups:[int64]
  supplementalGroupsPolicy:*string fsGroup:*int64 sysctls:[Sysctl] fsGroupChangePolicy:*string
  seccompProfile:*Seccomp appArmorProfile:*AppArmor seLinuxChangePolicy:*string
Container v1.Container name:!string image:string command:[string] args:[string] workingDir:string
  ports:[ContainerPort]@containerPort,protocol envFrom:[EnvFrom] env:[EnvVar]@name resources:Resources
  resizePolicy:[ResizePolicy] restartPolicy:*string volumeMounts:[VolumeMount]@mountPath
  volumeDevices:[VolumeDevice]@devicePath
  livenessProbe:*Probe readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle
  terminationMessagePath:string
  terminationMessagePolicy:string imagePullPolicy:string securityContext:*SecurityContext stdin:bool
  stdinOnce:bool
  tty:bool
Toleration v1.Toleration key:string operator:string value:string effect:string tolerationSeconds:*int64
SchedulingGate v1.PodSchedulingGate name:!string
KeyToPath v1.KeyToPath key:!string path:!string mode:*int32
EmptyDir v1.EmptyDirVolumeSource medium:string sizeLimit:*quantity
HostPath v1.HostPathVolumeSource path:!string type:*string
SecretVolume v1.SecretVolumeSource secretName:string items:[KeyToPath] defaultMode:*int32 optional:*bool
ConfigMapVolume v1.ConfigMapVolumeSource name:string items:[KeyToPath] defaultMode:*int32 optional:*bool
DownwardFile v1.DownwardAPIVolumeFile path:!string fieldRef:*FieldSelector
  resourceFieldRef:*ResourceFieldSelector mode:*int32
DownwardVolume v1.DownwardAPIVolumeSource items:[DownwardFile] defaultMode:*int32
SecretProjection v1.SecretProjection name:string items:[KeyToPath] optional:*bool
ConfigMapProjection v1.ConfigMapProjection name:string items:[KeyToPath] optional:*bool
DownwardProjection v1.DownwardAPIProjection items:[DownwardFile]
TokenProjection v1.ServiceAccountTokenProjection audience:string expirationSeconds:*int64 path:!string
VolumeProjection v1.VolumeProjection secret:*SecretProjection downwardAPI:*DownwardProjection
  configMap:*ConfigMapProjection serviceAccountToken:*TokenProjection clusterTrustBundle:*any
ProjectedVolume v1.ProjectedVolumeSource sources:![VolumeProjection] defaultMode:*int32
ClaimVolume v1.PersistentVolumeClaimVolumeSource claimName:!string readOnly:bool
CsiVolume v1.CSIVolumeSource driver:!string readOnly:*bool fsType:*string volumeAttributes:{string}
  nodePublishSecretRef:*LocalObjectReference
EphemeralVolume v1.EphemeralVolumeSource volumeClaimTemplate:*any
NfsVolume v1.NFSVolumeSource server:!string path:!string readOnly:bool
Volume v1.Volume name:!string hostPath:*HostPath emptyDir:*EmptyDir gcePersistentDisk:*any
  awsElasticBlockStore:*any gitRepo:*any secret:*SecretVolume nfs:*NfsVolume iscsi:*any glusterfs:*any
  persistentVolumeClaim:*ClaimVolume rbd:*any flexVolume:*any cinder:*any cephfs:*any flocker:*any
  downwardAPI:*DownwardVolume fc:*any azureFile:*any configMap:*ConfigMapVolume vsphereVolume:*any
  quobyte:*any azureDisk:*any photonPersistentDisk:*any projected:*ProjectedVolume portworxVolume:*any
  scaleIO:*any storageos:*any csi:*CsiVolume ephemeral:*EphemeralVolume image:*any
NodeRequirement v1.NodeSelectorRequirement key:!string operator:!string values:[string]
NodeTerm v1.NodeSelectorTerm@ matchExpressions:[NodeRequirement] matchFields:[NodeRequirement]
NodeSelector v1.NodeSelector@ nodeSelectorTerms:![NodeTerm]
PreferredTerm v1.PreferredSchedulingTerm weight:!int32 preference:!NodeTerm
NodeAffinity v1.NodeAffinity requiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution:[PreferredTerm]
PodTerm v1.PodAffinityTerm labelSelector:*LabelSelector namespaces:[string] topologyKey:!string
  namespaceSelector:*LabelSelector matchLabelKeys:[string] mismatchLabelKeys:[string]
WeightedPodTerm v1.WeightedPodAffinityTerm weight:!int32 podAffinityTerm:!PodTerm
PodAffinity v1.PodAffinity requiredDuringSchedulingIgnoredDuringExecution:[PodTerm]
  preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodTerm]
PodAntiAffinity v1.PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution:[PodTerm]
  preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodTerm]
Affinity v1.Affinity nodeAffinity:*NodeAffinity podAffinity:*PodAffinity podAntiAffinity:*PodAntiAffinity
Spread v1.TopologySpreadConstraint maxSkew:!int32 topologyKey:!string whenUnsatisfiable:!string
  labelSelector:*LabelSelector minDomains:*int32 nodeAffinityPolicy:*string nodeTaintsPolicy:*string
  matchLabelKeys:[string]
HostAlias v1.HostAlias ip:!string hostnames:[string]
DnsOption v1.PodDNSConfigOption name:string value:*string
DnsConfig v1.PodDNSConfig nameservers:[string] searches:[string] options:[DnsOption]
ReadinessGate v1.PodReadinessGate conditionType:!string
PodOs v1.PodOS name:!string
PodClaim v1.PodResourceClaim name:!string resourceClaimName:*string resourceClaimTemplateName:*string
PodSpec v1.PodSpec volumes:[Volume]@name initContainers:[Container]@name containers:![Container]@name
  ephemeralContainers:[any]@name restartPolicy:string terminationGracePeriodSeconds:*int64
  activeDeadlineSeconds:*int64 dnsPolicy:string nodeSelector:{string} serviceAccountName:string
  serviceAccount:string automountServiceAccountToken:*bool nodeName:string hostNetwork:bool hostPID:bool
  hostIPC:bool shareProcessNamespace:*bool securityContext:*PodSecurityContext
  imagePullSecrets:[LocalObjectReference]@name
  hostname:string subdomain:string affinity:*Affinity schedulerName:string tolerations:[Toleration]
  hostAliases:[HostAlias]@ip priorityClassName:string priority:*int32 dnsConfig:*DnsConfig
  readinessGates:[ReadinessGate]
  runtimeClassName:*string enableServiceLinks:*bool preemptionPolicy:*string overhead:{quantity}
  topologySpreadConstraints:[Spread]@topologyKey,whenUnsatisfiable setHostnameAsFQDN:*bool os:*PodOs
  hostUsers:*bool schedulingGates:[SchedulingGate]@name resourceClaims:[PodClaim]@name resources:*Resources
)";

}  // namespace gs::apiserver
