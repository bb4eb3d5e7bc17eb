#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

/// What a new object, or `next` as an update of it, has at a JSON pointer's place once it is filled in.
struct Filled {
  const char* name;
  const char* resource;
  const char* object;
  std::vector<const char*> at;
  const char* there;
  const char* next = nullptr;
};
class KindDefaults : public testing::TestWithParam<Filled> {};
TEST_P(KindDefaults, FillInWhatKubeApiserverDoes) {
  static const Resources kResources;
  const Resource& r = *kResources.stored(GetParam().resource);
  Value object = json::parse(GetParam().object).value();
  defaultKind(r, object);
  beginKind(r, object, {});
  if (GetParam().next != nullptr) {
    const Value old = object;
    object = json::parse(GetParam().next).value();
    defaultKind(r, object);
    keepKind(r, old, object);
  }
  const Value* part = &object;
  for (const char* step : GetParam().at) { part = &(*part)[step]; }
  EXPECT_EQ(json::print(*part), GetParam().there);
}
INSTANTIATE_TEST_SUITE_P(
    Table, KindDefaults,
    testing::Values(
        Filled{"DaemonSetsOnDelete",
               "apps/daemonsets",
               R"({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}})",
               {"spec", "updateStrategy", "rollingUpdate"},
               R"({"maxUnavailable":0,"maxSurge":0})"},
        Filled{"StatefulSetsWithAType",
               "apps/statefulsets",
               R"({"spec": {"updateStrategy": {"type": "RollingUpdate"}}})",
               {"spec", "updateStrategy"},
               R"({"type":"RollingUpdate"})"},
        Filled{"StatefulSetsWithEmptyWords",
               "apps/statefulsets",
               R"({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": ""}}})",
               {"spec", "persistentVolumeClaimRetentionPolicy"},
               R"({"whenDeleted":"Retain","whenScaled":"Retain"})"},
        Filled{"StatefulSetsWithoutContainers",
               "apps/statefulsets",
               R"({"spec": {"template": {"spec": {"containers": []}}}})",
               {"spec", "template", "spec", "containers"},
               "null"},
        Filled{"StatefulSetsWithoutAnImage",
               "apps/statefulsets",
               R"({"spec": {"template": {"spec": {"containers": [{}]}}}})",
               {"spec", "template", "spec", "containers"},
               R"([{"imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log",)"
               R"("terminationMessagePolicy":"File","resources":{}}])"},
        Filled{"PodConditionsOfJobs",
               "batch/jobs",
               R"({"spec": {"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "a"}]}]}}})",
               {"spec", "podFailurePolicy"},
               R"({"rules":[{"onPodConditions":[{"type":"a","status":"True"}]}]})"},
        Filled{"FailuresOfJobsWithoutRules",
               "batch/jobs",
               R"({"spec": {"podFailurePolicy": {"rules": []}}})",
               {"spec", "podFailurePolicy"},
               "{}"},
        Filled{"SelectorsOfJobs",
               "batch/jobs",
               R"({"metadata": {"uid": "u"}, "spec": {"selector": {"matchLabels":
                   {"batch.kubernetes.io/controller-uid": "x"}}}})",
               {"spec", "selector", "matchLabels"},
               R"({"batch.kubernetes.io/controller-uid":"x"})"},
        Filled{"LabelsOfJobsWithoutAny",
               "batch/jobs",
               R"({"metadata": {"name": "j", "uid": "u"}, "spec": {}})",
               {"metadata", "labels"},
               "null"},
        Filled{"NewLeases",
               "coordination.k8s.io/leases",
               R"({"spec": {"strategy": "X", "preferredHolder": "a", "leaseDurationSeconds": 5}})",
               {"spec"},
               R"({"leaseDurationSeconds":5})"},
        Filled{"LeasesThatAreWritten",
               "coordination.k8s.io/leases",
               R"({"spec": {}})",
               {"spec"},
               "{}",
               R"({"spec": {"strategy": "X"}})"},
        Filled{"SecretsOfAccounts",
               "/serviceaccounts",
               R"({"secrets": [{"name": "a", "kind": "b"}]})",
               {"secrets"},
               R"([{"name":"a"}])"},
        Filled{"RolesOfNothing", "rbac.authorization.k8s.io/roles", R"({"rules": []})", {"rules"}, "null"},
        Filled{"BindingsOfNothing",
               "rbac.authorization.k8s.io/rolebindings",
               "{}",
               {"roleRef"},
               R"({"apiGroup":"rbac.authorization.k8s.io"})"},
        Filled{"Subjects",
               "rbac.authorization.k8s.io/rolebindings",
               R"({"subjects": [{"kind": "User"}, {"kind": "ServiceAccount"}]})",
               {"subjects"},
               R"([{"kind":"User","apiGroup":"rbac.authorization.k8s.io"},{"kind":"ServiceAccount"}])"},
        Filled{"SlicesOfNothing",
               "discovery.k8s.io/endpointslices",
               R"({"endpoints": []})",
               {"endpoints"},
               "null"},
        Filled{"Endpoints",
               "discovery.k8s.io/endpointslices",
               R"({"endpoints": [{"deprecatedTopology": {"a": "b"}, "hints": {"forNodes": []}}]})",
               {"endpoints"},
               R"([{"hints":{}}])"},
        Filled{"ServicesOfNothing",
               "/services",
               "{}",
               {"spec"},
               R"({"sessionAffinity":"None","type":"ClusterIP","internalTrafficPolicy":"Cluster",)"
               R"("ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4"]})"},
        Filled{
            "ServicesThatBalance",
            "/services",
            R"({"spec": {"type": "LoadBalancer", "sessionAffinity": "ClientIP"}})",
            {"spec"},
            R"({"type":"LoadBalancer","sessionAffinity":"ClientIP",)"
            R"("sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}},"externalTrafficPolicy":"Cluster",)"
            R"("internalTrafficPolicy":"Cluster","allocateLoadBalancerNodePorts":true,)"
            R"("ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4"]})"},
        Filled{
            "ServicesOfNames",
            "/services",
            R"({"spec": {"type": "ExternalName", "clusterIP": "None", "sessionAffinityConfig": {}}})",
            {"spec"},
            R"({"type":"ExternalName","clusterIP":"None","sessionAffinity":"None","clusterIPs":["None"]})"},
        Filled{"BareServices",
               "/services",
               R"({"spec": {"clusterIP": "None"}})",
               {"spec", "ipFamilies"},
               R"(["IPv4","IPv6"])"},
        Filled{"Volumes",
               "/persistentvolumes",
               R"({"metadata": {"name": "v"}, "spec": {}})",
               {"spec"},
               R"({"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"})"},
        Filled{"VolumesThatAreKept",
               "/persistentvolumes",
               R"({"metadata": {"name": "v", "finalizers": ["a/b"]}, "spec": {}})",
               {"metadata", "finalizers"},
               R"(["a/b","kubernetes.io/pv-protection"])"},
        Filled{"Claims",
               "/persistentvolumeclaims",
               R"({"metadata": {"name": "c"}, "spec": {}, "status": {"phase": "Bound"}})",
               {"status"},
               R"({"phase":"Pending"})"},
        Filled{"FinalizersOfNamespaces",
               "/namespaces",
               R"({"metadata": {"name": "n"}, "spec": {"finalizers": ["a/b"]}})",
               {"spec", "finalizers"},
               R"(["a/b","kubernetes"])"},
        Filled{"ClaimsOfNothing",
               "/persistentvolumeclaims",
               R"({})",
               {"spec"},
               R"({"volumeMode":"Filesystem"})"},
        Filled{"VolumesOfNothing",
               "/persistentvolumes",
               R"({})",
               {"spec"},
               R"({"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"})"},
        Filled{"SizesOfClaims",
               "/persistentvolumeclaims",
               R"({"spec": {"resources": {"requests": {"storage": "1n"}}}})",
               {"spec", "resources", "requests", "storage"},
               R"("1m")"},
        Filled{"SourcesOfClaims",
               "/persistentvolumeclaims",
               R"({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}})",
               {"spec", "dataSourceRef"},
               R"({"apiGroup":null,"kind":"PersistentVolumeClaim","name":"a"})"},
        Filled{"SourcesOfClaimsByReference",
               "/persistentvolumeclaims",
               R"({"spec": {"dataSourceRef": {"apiGroup": "a.b", "kind": "C", "name": "a"}}})",
               {"spec", "dataSource"},
               R"({"apiGroup":"a.b","kind":"C","name":"a"})"},
        Filled{"SourcesThatAreNeitherClaimNorSnapshot",
               "/persistentvolumeclaims",
               R"({"spec": {"dataSource": {"apiGroup": "a.b", "kind": "C", "name": "a"}}})",
               {"spec"},
               R"({"volumeMode":"Filesystem"})"},
        Filled{
            "SourcesOfAnotherNamespace",
            "/persistentvolumeclaims",
            R"({"spec": {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a", "namespace": "n"}}})",
            {"spec"},
            R"({"volumeMode":"Filesystem"})"},
        Filled{"ClassesOfAttributes",
               "/persistentvolumeclaims",
               R"({"spec": {"volumeAttributesClassName": "a"}})",
               {"spec"},
               R"({"volumeMode":"Filesystem"})"},
        Filled{"SourcesOfClaimsThatAreWritten",
               "/persistentvolumeclaims",
               R"({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}})",
               {"spec", "dataSourceRef", "name"},
               R"("a")",
               R"({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}})"},
        Filled{"PathsOfVolumes",
               "/persistentvolumes",
               R"({"spec": {"hostPath": {"path": "/a"}, "capacity": {"storage": "1n"}}})",
               {"spec"},
               R"({"hostPath":{"path":"/a","type":""},"capacity":{"storage":"1m"},)"
               R"("persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"})"},
        Filled{"ServicesThatAreWritten",
               "/services",
               R"({"spec": {"clusterIP": "None", "selector": {"a": "b"}}})",
               {"spec", "clusterIPs"},
               R"(["None"])",
               R"({"spec": {"selector": {"a": "b"}}})"}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace gs::apiserver
