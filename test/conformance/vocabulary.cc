#include "test/conformance/vocabulary.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/check.h"

namespace gs::conformance {
namespace {

using json::Array;
using json::Value;

/// One field a line, then its words as JSON. A field of one type only: "v1.Toleration.operator".
constexpr std::string_view kWords = R"words(
name ["main", "a", "b", "a", "b", "A", "a.b", "a_b", "-a", "a-", "", "1"]
v1.ObjectMeta.name ["x", "x.y", "x", "X", "x_y", "x-", ".x", "", "x:y", "x/y", "system-x", "system-node-critical"]
v1.ObjectMeta.generateName ["x-", "x", "X-", "x.", "x--", "-"]
v1.ObjectMeta.labels ["b", "c", "", "a b", "-", "A.b_c"]
v1.ObjectMeta.annotations ["b", "", "a b", "1", "-1", "01", "+1", "2147483648", "x/y", "runtime/default", "unconfined", "localhost/a", "localhost/", "localhost/ a"]
v1.ObjectMeta.finalizers ["example.com/a", "kubernetes", "orphan", "a", "a b", "foregroundDeletion"]
v1.ObjectMeta.namespace ["default", "other"]
v1.EnvVar.name ["A", "B", "A", "a-b", "a=b", "", "1", "A B"]
v1.EnvVar.value ["", "x", "$(A)", "y"]
v1.ContainerPort.name ["http", "a", "http", "HTTP", "a--b", "1", "a-", "sixteen-letters-x", ""]
v1.HTTPHeader.name ["X-A", "a", "a b", "", "_"]
v1.Sysctl.name ["net.core.somaxconn", "kernel.sem", "kernel.shm_rmid_forced", "net/ipv4/tcp_syncookies", "fs.mqueue.a", "A", "a..b", "", "kernel.sem"]
v1.PodSchedulingGate.name ["a", "b", "example.com/a", "", "a b", "a/b/c"]
v1.PodReadinessGate.conditionType ["a", "example.com/a", "", "a b"]
v1.PodDNSConfigOption.name ["ndots", "", "a"]
v1.PodOS.name ["linux", "Linux", ""]
image ["i", "i:1", "i:latest", "r.io/i@sha256:0000000000000000000000000000000000000000000000000000000000000000", "r:5000/i", "", " i", "i ", "I"]
command ["sh", "", "a b"]
containerPort [80, 8080, 80, 0, 1, 65535, 65536, -1]
hostPort [80, 8080, 80, 0, 1, 65535, 65536, -1]
hostIP ["", "127.0.0.1", "x"]
protocol ["TCP", "UDP", "SCTP", "", "tcp", "HTTP"]
scheme ["HTTP", "HTTPS", "", "http"]
v1.GRPCAction.port [80, 0, 65536]
service ["", "a"]
path ["/", "a", "", "/a/../b", "..", "..a", "../a", "a/b", "/a"]
mountPath ["/a", "/b", "/a", "", "a", "/a/../b"]
subPath ["a", "", "/a", "..", "a/../b"]
subPathExpr ["a", "", "/a", "$(A)"]
v1.VolumeMount.name ["a", "b", "a", ""]
mountPropagation ["None", "HostToContainer", "Bidirectional", "none", ""]
recursiveReadOnly ["Disabled", "Enabled", "IfPossible", "", "x"]
medium ["", "Memory", "HugePages", "x"]
v1.HostPathVolumeSource.type ["", "Directory", "File", "Socket", "directory"]
defaultMode [0, 420, 511, 512, -1]
mode [0, 420, 511, 512, -1]
secretName ["a", "", "A"]
claimName ["a", ""]
driver ["a.b", "A.b", "", "a_b", "csi.example.com", "a-very-long-name-of-a-driver-which-goes-on-for-more-than-63-letters"]
expirationSeconds [600, 599, 3600, 4294967296, 4294967297, 0]
fieldPath ["metadata.name", "metadata.labels['a']", "metadata.annotations['A/b']", "metadata.labels['a b']", "metadata.labels", "status.podIP", "spec.host", "spec.nodeName", "status.phase", "x", "", "spec.x['a']", "metadata.annotations['']"]
v1.ObjectFieldSelector.apiVersion ["v1", "", "v2"]
resource ["limits.cpu", "requests.memory", "limits.ephemeral-storage", "requests.hugepages-2Mi", "cpu", "", "limits.nvidia.com/gpu"]
divisor ["1", "1m", "0", "1Mi", "1k", "2", "10m", "1Ki"]
prefix ["A_", "", "a b", "=", "1"]
operator ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "", "in"]
v1.Toleration.operator ["Exists", "Equal", "", "exists", "In"]
effect ["NoSchedule", "PreferNoSchedule", "NoExecute", "", "noexecute"]
key ["a", "b", "a", "example.com/a", "", "a b", "metadata.name", "a/b/c", "/a", "A"]
topologyKey ["kubernetes.io/hostname", "a", "a", "", "a b", "a/b/c"]
values ["a", "b", "", "a b", "1", "-"]
v1.Toleration.value ["", "a", "a b", "-"]
v1.Taint.value ["", "a", "a b", "-"]
whenUnsatisfiable ["DoNotSchedule", "ScheduleAnyway", "DoNotSchedule", "", "x"]
nodeAffinityPolicy ["Honor", "Ignore", "", "honor"]
nodeTaintsPolicy ["Honor", "Ignore", "", "honor"]
maxSkew [1, 2, 0, -1]
minDomains [1, 0, -1]
weight [1, 100, 0, 101, -1]
matchLabelKeys ["a", "b", "", "a b"]
mismatchLabelKeys ["a", "b", "", "a b"]
namespaces ["default", "A", ""]
restartPolicy ["Always", "OnFailure", "Never", "", "always"]
v1.Container.restartPolicy ["Always", "OnFailure", "Never", ""]
v1.ContainerResizePolicy.restartPolicy ["NotRequired", "RestartContainer", "", "x"]
resourceName ["cpu", "memory", "", "gpu"]
dnsPolicy ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None", "", "none"]
nameservers ["10.0.0.1", "::1", "x", "", "1.2.3"]
searches ["a.b", "a.b.", ".", "_a.b", "A", "", "a..b"]
hostnames ["a", "a.b", "A", ""]
ip ["10.0.0.1", "::1", "x", "", "10.0.0.1", "010.0.0.1"]
imagePullPolicy ["Always", "IfNotPresent", "Never", "", "always"]
terminationMessagePolicy ["File", "FallbackToLogsOnError", "", "x"]
hostname ["a", "A", "a.b", ""]
subdomain ["a", "A", "a.b", ""]
nodeName ["n", "N", "n.m", ""]
schedulerName ["a", "", "gpu-scheduler"]
serviceAccountName ["default", "default", "a.b"]
priorityClassName ["", "system-node-critical", "none", "A"]
priority [0, 1, 2000001000]
preemptionPolicy ["Never", "PreemptLowerPriority", "", "x"]
terminationGracePeriodSeconds [0, 30, -1, 1, 5]
activeDeadlineSeconds [1, 0, -1, 30, 2147483647, 2147483648]
tolerationSeconds [0, 30, -1]
initialDelaySeconds [0, 5, -1]
timeoutSeconds [0, 1, -1, 5]
periodSeconds [0, 1, -1]
successThreshold [0, 1, 2, -1]
failureThreshold [0, 3, -1]
v1.SleepAction.seconds [0, 1, -1, 31]
runAsUser [0, 1000, -1, 2147483647, 2147483648]
runAsGroup [0, 1000, -1, 2147483648]
fsGroup [0, 1000, -1, 2147483648]
supplementalGroups [0, 1000, -1, 2147483648]
fsGroupChangePolicy ["Always", "OnRootMismatch", "", "x"]
supplementalGroupsPolicy ["Merge", "Strict", "", "x"]
seLinuxChangePolicy ["Recursive", "MountOption", "", "x"]
procMount ["Default", "Unmasked", "", "x"]
v1.SeccompProfile.type ["RuntimeDefault", "Localhost", "Unconfined", "", "x"]
v1.AppArmorProfile.type ["RuntimeDefault", "Localhost", "Unconfined", "", "x"]
localhostProfile ["a", "", "/a", "../a", " a"]
add ["NET_ADMIN", "CAP_SYS_ADMIN", ""]
drop ["ALL", ""]
podCIDR ["10.0.0.0/24", "10.0.0.0", "", "::/64", "10.0.0.0/33"]
podCIDRs ["10.0.0.0/24", "::/64", "10.0.0.0", "10.0.1.0/24", "10.0.0.0/33"]
v1.NodeCondition.type ["Ready", "MemoryPressure", "a"]
status ["True", "False", "Unknown", ""]
v1.NodeAddress.type ["InternalIP", "Hostname", "InternalIP", ""]
address ["10.0.0.1", "a", "10.0.0.1", ""]
v1.DeploymentStrategy.type ["RollingUpdate", "Recreate", "", "x"]
v1.DaemonSetUpdateStrategy.type ["RollingUpdate", "OnDelete", "", "x"]
maxUnavailable [0, 1, -1, "25%", "0%", "101%", "a", "1"]
maxSurge [0, 1, -1, "25%", "0%", "101%", "a", "1"]
replicas [0, 1, -1, 3]
minReadySeconds [0, 1, -1, 700]
revisionHistoryLimit [0, 1, -1]
progressDeadlineSeconds [0, 1, 600, -1]
policyTypes ["Ingress", "Egress", "Ingress", "", "x"]
v1.NetworkPolicyPort.port [80, "http", 0, 65536, "HTTP", "a--b"]
endPort [80, 90, 1, 0, 65536]
cidr ["10.0.0.0/8", "::/0", "10.0.0.0", "", "10.0.0.0/33"]
except ["10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/16", "x", ""]
policyName ["a", "A", "", "a.b"]
validationActions ["Deny", "Warn", "Audit", "Deny", "", "deny"]
parameterNotFoundAction ["Deny", "Allow", "", "x"]
matchPolicy ["Exact", "Equivalent", "", "x"]
operations ["CREATE", "UPDATE", "*", "DELETE", "", "create"]
apiGroups ["", "apps", "*"]
apiVersions ["v1", "*", ""]
resources ["pods", "*", "pods/*", "*/status", "pods/status", "", "*/*"]
scope ["*", "Cluster", "Namespaced", "", "x"]
v1.OwnerReference.apiVersion ["v1", "apps/v1", "", "a/"]
v1.OwnerReference.kind ["Pod", "", "Node"]
uid ["00000000-0000-0000-0000-000000000001", "", "a"]
minAvailable [0, 1, -1, "25%", "0%", "101%", "a", "1"]
unhealthyPodEvictionPolicy ["AlwaysAllow", "IfHealthyBudget", "", "x"]
v1.PriorityClass.value [0, 1, -1, 1000000000, 1000000001, 2000000000, 2000001000]
verbs ["get", "*", ""]
resourceNames ["a", ""]
nonResourceURLs ["/x", "*", ""]
v1.RoleRef.apiGroup ["rbac.authorization.k8s.io", "", "x"]
v1.RoleRef.kind ["Role", "ClusterRole", "x", ""]
v1.RoleRef.name ["a", "", "a/b", ".."]
v1.Subject.apiGroup ["rbac.authorization.k8s.io", "", "x"]
v1.Subject.kind ["ServiceAccount", "User", "Group", "x", ""]
v1.Subject.name ["a", "", "a b", "system:x"]
v1.Subject.namespace ["default", "", "A"]
v1.Secret.type ["Opaque", "", "kubernetes.io/tls", "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth", "kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson", "kubernetes.io/service-account-token", "x"]
v1.Secret.data ["", "e30=", "eA==", "W10="]
v1.ConfigMap.binaryData ["", "e30="]
v1.Secret.stringData ["", "{}", "x", "null"]
v1.ServiceSpec.type ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "", "x"]
clusterIP ["None", "None", "10.96.77.7", "x", ""]
clusterIPs ["None", "10.96.77.7", "10.96.77.8", "::1", "x", ""]
ipFamilies ["IPv4", "IPv4", "IPv6", "", "x"]
ipFamilyPolicy ["SingleStack", "PreferDualStack", "RequireDualStack", "", "x"]
sessionAffinity ["None", "ClientIP", "ClientIP", "", "x"]
v1.ClientIPConfig.timeoutSeconds [0, 1, 86400, 86401, -1]
externalTrafficPolicy ["Cluster", "Local", "", "x"]
internalTrafficPolicy ["Cluster", "Local", "", "x"]
trafficDistribution ["PreferClose", "", "PreferSameZone", "x"]
externalName ["a.b", "a.b.", "A", "", "."]
externalIPs ["10.0.0.1", "127.0.0.1", "x", "::", "010.0.0.1"]
loadBalancerIP ["10.0.0.1", "x", ""]
loadBalancerSourceRanges ["10.0.0.0/8", " 10.0.0.0/8", "x", ""]
loadBalancerClass ["a", "a/b", "", "a b"]
healthCheckNodePort [0, 30090]
v1.ServicePort.name ["a", "b", "a", "", "A", "a.b"]
v1.ServicePort.port [80, 81, 80, 0, 65535, 65536, -1]
targetPort [80, "http", 0, "", 65536, "80"]
nodePort [0, 30080, 30080, 30081]
appProtocol ["a", "a/b", "", "a b"]
addressType ["IPv4", "IPv4", "IPv6", "FQDN", "", "x"]
addresses ["10.0.0.1", "10.0.0.2", "::1", "2001:db8::1", "127.0.0.1", "169.254.0.1", "224.0.0.1", "0.0.0.0", "::", "ff02::1", "fe80::1", "x", "", "a.b", "a.b.", "A.b", "010.0.0.1", "::ffff:10.0.0.1", "2001:DB8::1", "1:0:0:2:0:0:0:3"]
v1.EndpointPort.name ["a", "b", "a", "", "A"]
v1.ForZone.name ["a", "b", "a", "", "a b"]
completionMode ["NonIndexed", "Indexed", "Indexed", "", "x"]
parallelism [0, 1, -1, 2, 10001, 100001]
completions [0, 1, -1, 5, 100001]
backoffLimit [0, 1, -1]
backoffLimitPerIndex [0, 1, -1]
maxFailedIndexes [0, 1, -1, 6, 10001, 100001]
ttlSecondsAfterFinished [0, 1, -1]
podReplacementPolicy ["Failed", "TerminatingOrFailed", "", "x"]
managedBy ["a.b/c", "a", "A/b", "a/b c", "", "a/"]
action ["Count", "FailIndex", "FailJob", "Ignore", "", "x"]
v1.PodFailurePolicyOnExitCodesRequirement.operator ["In", "NotIn", "", "x"]
v1.PodFailurePolicyOnExitCodesRequirement.values [1, 2, 0, 1, 3]
containerName ["main", "a", ""]
v1.PodFailurePolicyOnPodConditionsPattern.type ["a", "A/b", "", "a b"]
succeededIndexes ["", "0", "0-1", "1,0", "x", "5", "1-2-3", "2-1", "0,2-4"]
succeededCount [0, 1, -1, 6]
podManagementPolicy ["OrderedReady", "Parallel", "", "x"]
v1.StatefulSetUpdateStrategy.type ["RollingUpdate", "OnDelete", "", "x"]
partition [0, 1, -1]
whenDeleted ["Retain", "Delete", "", "x"]
whenScaled ["Retain", "Delete", "", "x"]
v1.StatefulSetOrdinals.start [0, 1, -1]
serviceName ["a", "A", "", "a.b"]
leaseDurationSeconds [0, 1, -1]
leaseTransitions [0, 1, -1]
strategy ["OldestEmulationVersion", "x", ""]
preferredHolder ["a", ""]
accessModes ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOnce", "ReadWriteOncePod", "", "x"]
volumeMode ["Filesystem", "Block", "", "x"]
storageClassName ["a", "a.b", "", "A"]
volumeName ["a", "b", "", "A"]
persistentVolumeReclaimPolicy ["Retain", "Delete", "Recycle", "", "x"]
v1.PersistentVolumeClaimSpec.volumeAttributesClassName ["a", "A", ""]
v1.TypedLocalObjectReference.apiGroup ["", "snapshot.storage.k8s.io", "example.com", "A"]
v1.TypedLocalObjectReference.kind ["PersistentVolumeClaim", "VolumeSnapshot", "x", ""]
v1.TypedObjectReference.apiGroup ["", "snapshot.storage.k8s.io", "example.com", "A"]
v1.TypedObjectReference.kind ["PersistentVolumeClaim", "VolumeSnapshot", "x", ""]
v1.TypedObjectReference.namespace ["", "default", "A"]
v1.SecretReference.namespace ["default", "", "A", "a.b"]
failurePolicy ["Fail", "Ignore", "", "x"]
reinvocationPolicy ["Never", "IfNeeded", "", "x"]
sideEffects ["None", "NoneOnDryRun", "Some", "Unknown", "", "x"]
admissionReviewVersions ["v1", "v1beta1", "v1", "", "v 1", "x"]
url ["https://a.b/c", "http://a.b", "https://", "a", "", "https://u:p@a.b", "https://a.b/c?d", "https://a.b#c"]
caBundle ["", "eA=="]
v1.ServiceReference.port [443, 0, 65536, -1]
v1.ServiceReference.path ["/a", "a", "", "//", "/a//b", "/A b"]
v1.ServiceReference.name ["a", "", "A"]
v1.ServiceReference.namespace ["default", "", "A"]
v1.MutatingWebhook.name ["a.b.c", "a.b.d", "a.b.c", "a.b", "a", "", "A.b.c"]
v1.ValidatingWebhook.name ["a.b.c", "a.b.d", "a.b.c", "a.b", "a", "", "A.b.c"]
v1.MutatingWebhook.timeoutSeconds [1, 10, 30, 0, 31, -1]
v1.ValidatingWebhook.timeoutSeconds [1, 10, 30, 0, 31, -1]
)words";

/// What stands in an object and is another server's business, or out of reach: the list of
/// docs/inside/testing.md.
constexpr std::string_view kLeftOut[] = {
    // The server's own.
    "v1.ObjectMeta.managedFields", "v1.ObjectMeta.selfLink", "v1.ObjectMeta.resourceVersion",
    "v1.ObjectMeta.uid", "v1.ObjectMeta.creationTimestamp", "v1.ObjectMeta.deletionTimestamp",
    "v1.ObjectMeta.deletionGracePeriodSeconds", "v1.ObjectMeta.generation",
    // Behind feature gates that are off in 1.33.
    "v1.PodSpec.resources", "v1.PodSpec.resourceClaims", "v1.ResourceRequirements.claims", "v1.Volume.image",
    "v1.VolumeProjection.clusterTrustBundle", "v1.RollingUpdateStatefulSetStrategy.maxUnavailable",
    // RuntimeClasses, which are not served, and ephemeral containers, which need a subresource.
    "v1.PodSpec.runtimeClassName", "v1.PodSpec.overhead", "v1.PodSpec.ephemeralContainers",
    // serviceAccount stands for serviceAccountName.
    "v1.PodSpec.serviceAccount",
    // Windows.
    "v1.SecurityContext.windowsOptions", "v1.PodSecurityContext.windowsOptions",
    // Volumes of old drivers, and templates of claims.
    "v1.Volume.gcePersistentDisk", "v1.Volume.awsElasticBlockStore", "v1.Volume.gitRepo", "v1.Volume.iscsi",
    "v1.Volume.glusterfs", "v1.Volume.rbd", "v1.Volume.flexVolume", "v1.Volume.cinder", "v1.Volume.cephfs",
    "v1.Volume.flocker", "v1.Volume.fc", "v1.Volume.azureFile", "v1.Volume.vsphereVolume",
    "v1.Volume.quobyte", "v1.Volume.azureDisk", "v1.Volume.photonPersistentDisk", "v1.Volume.portworxVolume",
    "v1.Volume.scaleIO", "v1.Volume.storageos", "v1.Volume.ephemeral",
    "v1.StatefulSetSpec.volumeClaimTemplates", "v1.PersistentVolumeSpec.gcePersistentDisk",
    "v1.PersistentVolumeSpec.awsElasticBlockStore", "v1.PersistentVolumeSpec.glusterfs",
    "v1.PersistentVolumeSpec.rbd", "v1.PersistentVolumeSpec.iscsi", "v1.PersistentVolumeSpec.cinder",
    "v1.PersistentVolumeSpec.cephfs", "v1.PersistentVolumeSpec.fc", "v1.PersistentVolumeSpec.flocker",
    "v1.PersistentVolumeSpec.flexVolume", "v1.PersistentVolumeSpec.azureFile",
    "v1.PersistentVolumeSpec.vsphereVolume", "v1.PersistentVolumeSpec.quobyte",
    "v1.PersistentVolumeSpec.azureDisk", "v1.PersistentVolumeSpec.photonPersistentDisk",
    "v1.PersistentVolumeSpec.portworxVolume", "v1.PersistentVolumeSpec.scaleIO",
    "v1.PersistentVolumeSpec.storageos",
    // CEL.
    "v1.MutatingWebhook.matchConditions", "v1.ValidatingWebhook.matchConditions",
    // Of nodes: what kubelets alone write.
    "v1.NodeSpec.configSource", "v1.NodeStatus.config", "v1.NodeStatus.images",
    "v1.NodeStatus.volumesAttached", "v1.NodeStatus.runtimeHandlers", "v1.NodeStatus.features",
    "v1.NodeSystemInfo.swap"};

/// What a request says of the whole object, and the status, which the server writes (but a node's is drawn).
bool isOfTheServer(std::string_view field) {
  static const std::set<std::string_view> kWhole{"v1.Pod",
                                                 "v1.Node",
                                                 "v1.Deployment",
                                                 "v1.DaemonSet",
                                                 "v1.StatefulSet",
                                                 "v1.Job",
                                                 "v1.NetworkPolicy",
                                                 "v1.ValidatingAdmissionPolicyBinding",
                                                 "v1.Service",
                                                 "v1.EndpointSlice",
                                                 "v1.PodDisruptionBudget",
                                                 "v1.PriorityClass",
                                                 "v1.ConfigMap",
                                                 "v1.Secret",
                                                 "v1.Role",
                                                 "v1.ClusterRole",
                                                 "v1.RoleBinding",
                                                 "v1.ClusterRoleBinding",
                                                 "v1.Lease",
                                                 "v1.ServiceAccount",
                                                 "v1.PersistentVolumeClaim",
                                                 "v1.PersistentVolume",
                                                 "v1.Namespace",
                                                 "v1.ReplicaSet",
                                                 "v1.MutatingWebhookConfiguration",
                                                 "v1.ValidatingWebhookConfiguration"};
  const auto dot = field.rfind('.');
  const auto name = field.substr(dot + 1);
  return kWhole.contains(field.substr(0, dot)) &&
         (name == "kind" || name == "apiVersion" || (name == "status" && field != "v1.Node.status"));
}

const std::map<std::string, Array, std::less<>>& words() {
  static const auto kAll = [] {
    std::map<std::string, Array, std::less<>> out;
    for (std::string_view rest = kWords.substr(1); !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n'));
      const auto space = line.find(' ');
      const auto parsed = json::parse(line.substr(space + 1));
      GS_CHECK(parsed && parsed->isArray(), "not a list of words: {}", line);
      out.emplace(line.substr(0, space), parsed->items());
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return out;
  }();
  return kAll;
}

std::string longText(std::size_t size) { return std::string(size, 'x'); }

}  // namespace

const json::Array* wordsOf(std::string_view field) {
  if (const auto at = words().find(field); at != words().end()) { return &at->second; }
  const auto at = words().find(field.substr(std::min(field.rfind('.') + 1, field.size())));
  return at == words().end() ? nullptr : &at->second;
}

const Texts& keysOf(std::string_view field) {
  static const Texts kResources{"cpu",       "memory",          "nvidia.com/gpu", "ephemeral-storage", "gpu",
                                "pods",      "hugepages-2Mi",   "hugepages-x",    "requests.cpu",      "a b",
                                "A.com/gpu", "kubernetes.io/a", "storage",        "a.com/b/c",         ""};
  static const Texts kKeys{"a",
                           "b",
                           "a",
                           "example.com/a",
                           "a b",
                           "",
                           "/a",
                           "a/",
                           "A/b",
                           "a/b/c",
                           "a_b",
                           "kubernetes.io/config.mirror",
                           "container.apparmor.security.beta.kubernetes.io/main",
                           "container.apparmor.security.beta.kubernetes.io/a",
                           "container.apparmor.security.beta.kubernetes.io/x",
                           "controller.kubernetes.io/pod-deletion-cost",
                           "kubernetes.io/service-account.name",
                           "service.kubernetes.io/topology-mode",
                           "volume.beta.kubernetes.io/storage-class",
                           "volume.beta.kubernetes.io/mount-options",
                           "service.kubernetes.io/topology-aware-hints",
                           "service.beta.kubernetes.io/load-balancer-source-ranges"};
  static const Texts kData{"a",          "b",
                           "a",          "tls.crt",
                           "tls.key",    "username",
                           "password",   "ssh-privatekey",
                           ".dockercfg", ".dockerconfigjson",
                           "a b",        "../x",
                           "..",         "",
                           "a/b"};
  static const Texts kLabels{"a", "b", "a", "example.com/a", "a b", "", "/a", "a/", "A/b", "a/b/c", "a_b"};
  for (const char* one : {"limits", "requests", "capacity", "allocatable", "overhead"}) {
    if (field.ends_with(one)) { return kResources; }
  }
  for (const char* one : {"v1.Secret.data", "v1.Secret.stringData", "v1.ConfigMap.data", "binaryData"}) {
    if (field.ends_with(one)) { return kData; }
  }
  return field.ends_with("annotations") ? kKeys : kLabels;
}

bool isLeftOut(std::string_view field) {
  return isOfTheServer(field) ||
         std::find(std::begin(kLeftOut), std::end(kLeftOut), field) != std::end(kLeftOut);
}

bool isChoice(std::string_view go_name) {
  static const std::set<std::string_view> kChoices{
      "v1.Volume",           "v1.EnvVarSource", "v1.EnvFromSource",    "v1.LifecycleHandler",
      "v1.VolumeProjection", "v1.Probe",        "v1.NetworkPolicyPeer"};
  return kChoices.contains(go_name);
}

const Texts& texts() {
  static const Texts kTexts{"a",          "b",          "a",   "",     "A",           "a.b",
                            "a b",        "-a",         "a-",  "a\"b", "a\nb",        "1",
                            longText(63), longText(64), "a/b", "..",   longText(253), longText(254)};
  return kTexts;
}

const json::Array& numbers() {
  static const Array kNumbers{0, 1, -1, 2, 30, 100, 65536, 2147483647};
  return kNumbers;
}

const json::Array& amounts() {
  static const Array kAmounts{"1",   "2",    "1",     "0",   "-1",   "500m", "1500m", "1.5",
                              "0.5", "1Gi",  "1.5Gi", "1e3", "1000", "1k",   "1n",    "-1n",
                              "1u",  "1e-9", "2Mi",   "3Mi", 1,      2.5,    "x",     ""};
  return kAmounts;
}

const json::Array& portRefs() {
  static const Array kPorts{80, "http", 0, 65536, "HTTP", "", "a--b", "1"};
  return kPorts;
}

}  // namespace gs::conformance
