#include "apiserver/registry/kind_checks.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::apiserver {
namespace {

using json::Value;

/// What is said of a new object, or of `next` as an update of it: "field: message" of each finding.
std::string findings(const char* id, const char* object, const char* next = nullptr) {
  static const Resources kResources;
  const Resource& r = *kResources.stored(id);
  Value old = json::parse(object).value();
  defaultKind(r, old);
  beginKind(r, old, {});
  Value now = old;
  if (next != nullptr) {
    now = json::parse(next).value();
    defaultKind(r, now);
    keepKind(r, old, now);
  }
  FieldErrors errors = checkFirst(r, now);
  if (errors.empty()) { errors = checkKind(r, now, next == nullptr ? Value{} : old); }
  std::string out;
  for (const FieldError& e : errors) { out += (out.empty() ? "" : "\n") + e.field + ": " + e.message; }
  return out;
}

struct Said {
  const char* name;
  const char* resource;
  const char* object;
  const char* said;
  const char* next = nullptr;
};
std::string nameOf(const testing::TestParamInfo<Said>& info) { return info.param.name; }

class KindChecks : public testing::TestWithParam<Said> {};
TEST_P(KindChecks, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}

constexpr const char* kPolicies = "networking.k8s.io/networkpolicies";
constexpr const char* kBudgets = "policy/poddisruptionbudgets";
constexpr const char* kClasses = "scheduling.k8s.io/priorityclasses";
constexpr const char* kRoles = "rbac.authorization.k8s.io/roles";
constexpr const char* kClusterRoles = "rbac.authorization.k8s.io/clusterroles";
constexpr const char* kRoleBindings = "rbac.authorization.k8s.io/rolebindings";
constexpr const char* kClusterBindings = "rbac.authorization.k8s.io/clusterrolebindings";
constexpr const char* kMaps = "/configmaps";
constexpr const char* kSecrets = "/secrets";
constexpr const char* kServices = "/services";
constexpr const char* kSlices = "discovery.k8s.io/endpointslices";
constexpr const char* kJobs = "batch/jobs";
constexpr const char* kSets = "apps/statefulsets";
constexpr const char* kVolumes = "/persistentvolumes";
constexpr const char* kClaims = "/persistentvolumeclaims";

INSTANTIATE_TEST_SUITE_P(
    NetworkPolicies, KindChecks,
    testing::Values(
        Said{"ExceptOfAnotherRange", kPolicies,
             R"({"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8",
                 "except": ["11.0.0.0/9", "10.1.0.0/16"]}}]}]}})",
             R"(spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/9": )"
             "must be a strict subset of `cidr`"},
        Said{"ExceptOfAll", kPolicies,
             R"({"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": )"
             R"(["10.0.0.0/8"]}}]}]}})",
             R"(spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": )"
             "must be a strict subset of `cidr`"},
        Said{
            "ExceptOfTheOtherFamily", kPolicies,
            R"({"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "::/0", "except": ["10.0.0.0/9"]}}]}]}})",
            R"(spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/9": )"
            "must be a strict subset of `cidr`"},
        Said{"ExceptOfAnIpv6Range", kPolicies,
             R"({"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "2001:db8::/32",
                 "except": ["2001:db8:1::/48",
                 "2001:db9::/48"]}}]}]}})",
             R"(spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "2001:db9::/48": )"
             "must be a strict subset of `cidr`"},
        Said{"NothingIsSaidOfExceptsOfNoRange", kPolicies,
             R"({"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "x", "except": ["y"]}}]}]}})",
             R"(spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, )"
             "(e.g. 10.9.8.0/24 or 2001:db8::/64)"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    BudgetsAndClasses, KindChecks,
    testing::Values(
        Said{"NegativeMinAvailable", kBudgets, R"({"spec": {"minAvailable": -1}})",
             "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
        Said{"MinAvailableAboveAll", kBudgets, R"({"spec": {"minAvailable": "101%"}})",
             R"(spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: )"
             "must not be greater than 100%"},
        Said{"MaxUnavailableIsNoShare", kBudgets, R"({"spec": {"maxUnavailable": "abc"}})",
             R"(spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"abc"}: )"
             "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
             "'93%', "
             "regex used for validation is '[0-9]+%')"},
        Said{"EvictionPolicy", kBudgets, R"({"spec": {"unhealthyPodEvictionPolicy": "X"}})",
             R"(spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: )"
             R"("AlwaysAllow", "IfHealthyBudget")"},
        Said{"BudgetSelector", kBudgets,
             R"({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}}})",
             R"(spec.selector.matchExpressions[0].operator: Invalid value: "Foo": not a valid selector )"
             R"(operator)"},
        Said{"BudgetIsFine", kBudgets,
             R"({"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}})", ""},
        Said{"ClassAboveUsers", kClasses, R"({"metadata": {"name": "a"}, "value": 2000000000})",
             "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
        Said{
            "ClassPreemption", kClasses, R"({"metadata": {"name": "a"}, "preemptionPolicy": "X"})",
            R"(preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never")"},
        Said{"ClassWithoutPreemption", kClasses, R"({"metadata": {"name": "a"}, "preemptionPolicy": ""})",
             "preemptionPolicy: Required value"},
        Said{"ClassOfTheSystem", kClasses, R"({"metadata": {"name": "system-foo"}, "value": 1})",
             "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system "
             "use "
             "only. error: system-foo is not a known system priority class"},
        Said{"ClassOfTheSystemsValue", kClasses,
             R"({"metadata": {"name": "system-node-critical"}, "value": 1})",
             "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system "
             "use "
             "only. error: value of system-node-critical PriorityClass must be 2000001000"},
        Said{"ClassOfTheSystemIsNoDefault", kClasses,
             R"({"metadata": {"name": "system-cluster-critical"}, "value": 2000000000, "globalDefault": )"
             R"(true})",
             "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system "
             "use "
             "only. error: globalDefault of system-cluster-critical PriorityClass must be false"},
        Said{"ClassesStay", kClasses, R"({"metadata": {"name": "a"}, "value": 1})",
             "value: Forbidden: may not be changed in an update.\n"
             R"(preemptionPolicy: Invalid value: "Never": field is immutable)",
             R"({"metadata": {"name": "a"}, "value": 2, "preemptionPolicy": "Never"})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Roles, KindChecks,
    testing::Values(
        Said{"NothingIsAllowed", kRoles, R"({"rules": [{"apiGroups": [""]}]})",
             "rules[0].verbs: Required value: verbs must contain at least one value\n"
             "rules[0].resources: Required value: resource rules must supply at least one resource"},
        Said{"NoGroup", kRoles, R"({"rules": [{"verbs": ["get"], "resources": ["pods"]}]})",
             "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
        Said{"PathsOfANamespace", kRoles, R"({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]})",
             R"(rules[0].nonResourceURLs: Invalid value: []string{"/x"}: )"
             "namespaced rules cannot apply to non-resource URLs"},
        Said{"PathsAndResources", kClusterRoles,
             R"({"rules": [{"verbs": ["get"], "resources": ["pods"], "nonResourceURLs": ["/x"]}]})",
             R"(rules[0].nonResourceURLs: Invalid value: []string{"/x"}: )"
             "rules cannot apply to both regular resources and non-resource URLs"},
        Said{"Paths", kClusterRoles, R"({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]})", ""},
        Said{"NothingIsAggregated", kClusterRoles, R"({"aggregationRule": {}})",
             "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector "
             "required if "
             "aggregationRule is non-nil"},
        Said{
            "BindingOfAnotherKind", kRoleBindings,
            R"({"roleRef": {"kind": "X", "name": ".."}, "subjects": [{"kind": "User", "name": ""},
                 {"kind": "ServiceAccount", "name": "a b"}]})",
            R"(roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole")"
            "\n"
            R"(roleRef.name: Invalid value: "..": may not be '..')"
            "\n"
            "subjects[0].name: Required value\n"
            R"(subjects[1].name: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of lower )"
            "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'example.com', regex used for validation is "
            R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"},
        Said{
            "BindingOfACluster", kClusterBindings,
            R"({"roleRef": {"kind": "Role"}, "subjects": [{"kind": "ServiceAccount", "name": "a"},
                 {"kind": "Foo", "name": "a"}, {"kind": "User", "apiGroup": "x", "name": "a"}]})",
            R"(roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole")"
            "\nroleRef.name: Required value\nsubjects[0].namespace: Required value\n"
            R"(subjects[1].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", )"
            R"("Group")"
            "\n"
            R"(subjects[2].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io")"},
        Said{"BindingsStay", kRoleBindings, R"({"roleRef": {"kind": "Role", "name": "a"}})",
             R"(roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", )"
             R"(Name:"b"}: )"
             "cannot change roleRef",
             R"({"roleRef": {"kind": "Role", "name": "b"}})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    WhatIsKept, KindChecks,
    testing::Values(
        Said{"KeyTwice", kMaps, R"({"data": {"a": "x"}, "binaryData": {"a": "eA=="}})",
             R"(data[a]: Invalid value: "a": duplicate of key present in binaryData)"},
        Said{"KeyAbove", kMaps, R"({"data": {"../x": "x"}})",
             R"(data[../x]: Invalid value: "../x": a valid config key must consist of alphanumeric )"
             R"(characters, )"
             "'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
             "'[-._a-zA-Z0-9]+')\n"
             R"(data[../x]: Invalid value: "../x": must not start with '..')"},
        Said{"MapsThatStay", kMaps, R"({"immutable": true, "data": {"a": "x"}})",
             "immutable: Forbidden: field is immutable when `immutable` is set\n"
             "data: Forbidden: field is immutable when `immutable` is set",
             R"({"data": {"a": "y"}})"},
        Said{"SecretsThatStay", kSecrets, R"({"immutable": true, "stringData": {"a": "x"}})",
             "data: Forbidden: field is immutable when `immutable` is set",
             R"({"immutable": true, "stringData": {"a": "y"}})"},
        Said{"NoUserOrPassword", kSecrets, R"({"type": "kubernetes.io/basic-auth"})",
             "data[username]: Required value\ndata[password]: Required value"},
        Said{"APasswordAlone", kSecrets, R"({"type": "kubernetes.io/basic-auth", "data": {"password": ""}})",
             ""},
        Said{"NoDockerConfig", kSecrets, R"({"type": "kubernetes.io/dockerconfigjson"})",
             "data[.dockerconfigjson]: Required value"},
        Said{"NoOldDockerConfig", kSecrets, R"({"type": "kubernetes.io/dockercfg"})",
             "data[.dockercfg]: Required value"},
        Said{"DockerConfig", kSecrets,
             R"({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}})", ""},
        Said{"DockerConfigIsNoObject", kSecrets,
             R"({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "[]"}})",
             R"(data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array )"
             R"(into )"
             "Go value of type map[string]interface {}"},
        Said{
            "DockerConfigIsNoJson", kSecrets,
            R"({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "x"}})",
            R"(data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'x' looking )"
            R"(for )"
            "beginning of value"},
        Said{"NoSshKey", kSecrets, R"({"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}})",
             "data[ssh-privatekey]: Required value"},
        Said{"TokenOfNobody", kSecrets, R"({"type": "kubernetes.io/service-account-token"})",
             "metadata.annotations[kubernetes.io/service-account.name]: Required value"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Services, KindChecks,
    testing::Values(
        Said{"PortTwice", kServices,
             R"({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}})",
             R"(spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", )"
             R"(AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, )"
             R"(StrVal:""}, )"
             "NodePort:0}"},
        Said{"PortNameTwice", kServices,
             R"({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]}})",
             R"(spec.ports[1].name: Duplicate value: "a")"},
        Said{"AffinityAndTraffic", kServices,
             R"({"spec": {"ports": [{"port": 80}], "sessionAffinity": "X", "externalTrafficPolicy": )"
             R"("Local"}})",
             R"(spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None")"
             "\n"
             R"(spec.externalTrafficPolicy: Invalid value: "Local": may only be set for )"
             R"(externally-accessible services)"},
        Said{"AffinityForTooLong", kServices,
             R"({"spec": {"ports": [{"port": 80}], "sessionAffinity": "ClientIP",
                 "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}})",
             "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
             "must be greater than 0 and less than 86400"},
        Said{
            "TrafficPolicies", kServices,
            R"({"spec": {"type": "NodePort", "ports": [{"port": 80}], "externalTrafficPolicy": "X",
                 "internalTrafficPolicy": "X", "trafficDistribution": "X", "healthCheckNodePort": 1}})",
            R"(spec.externalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local")"
            "\nspec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and "
            "`externalTrafficPolicy` is 'Local'\n"
            R"(spec.internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local")"
            "\n"
            R"(spec.trafficDistribution: Unsupported value: "X": supported values: "PreferClose")"},
        Said{"FamilyPolicy", kServices, R"({"spec": {"ports": [{"port": 0}], "ipFamilyPolicy": "X"}})",
             R"(spec.ipFamilyPolicy: Unsupported value: "X": supported values: )"
             R"("PreferDualStack", "RequireDualStack", "SingleStack")"},
        Said{"ClusterIp", kServices, R"({"spec": {"ports": [{"port": 80}], "clusterIP": "1.2"}})",
             R"(spec.clusterIPs[0]: Invalid value: "1.2": must be a valid IP address, )"
             "(e.g. 10.9.8.7 or 2001:db8::ffff)"},
        Said{"ClusterIps", kServices, R"({"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1",
                 "clusterIPs": ["10.0.0.1", "None"]}})",
             R"(spec.clusterIPs[1]: Invalid value: "None": must be a valid IP address, )"
             "(e.g. 10.9.8.7 or 2001:db8::ffff)"},
        Said{"ClusterIpsOfOneFamily", kServices,
             R"({"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1", "ipFamilies": ["IPv6", "IPv6"],
                 "clusterIPs": ["10.0.0.2", "10.0.0.3"]}})",
             R"(spec.clusterIPs: Invalid value: []string{"10.0.0.2", "10.0.0.3"}: first value must match )"
             R"(`clusterIP`)"
             "\n"
             R"(spec.ipFamilies[1]: Duplicate value: "IPv6")"
             "\n"
             R"(spec.clusterIPs: Invalid value: []string{"10.0.0.2", "10.0.0.3"}: )"
             "may specify no more than one IP for each IP family\n"
             R"(spec.clusterIPs[0]: Invalid value: "10.0.0.2": expected an IPv6 value as indicated by )"
             R"(`ipFamilies[0]`)"
             "\n"
             R"(spec.clusterIPs[1]: Invalid value: "10.0.0.3": expected an IPv6 value as indicated by )"
             R"(`ipFamilies[1]`)"},
        Said{"TwoFamiliesOfOne", kServices,
             R"({"spec": {"ports": [{"port": 80}], "ipFamilies": ["IPv4", "IPv6"]}})",
             R"(spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or )"
             R"('PreferDualStack' )"
             "when multiple IP families are specified"},
        Said{"ADualCluster", kServices,
             R"({"spec": {"ports": [{"port": 80}], "ipFamilyPolicy": "RequireDualStack"}})",
             R"(spec.ipFamilyPolicy: Invalid value: "RequireDualStack": )"
             "this cluster is not configured for dual-stack services"},
        Said{"AnIpv6Cluster", kServices, R"({"spec": {"ports": [{"port": 80}], "ipFamilies": ["IPv6"]}})",
             R"(spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster)"},
        Said{"NothingToAnswer", kServices, R"({"spec": {"clusterIP": "None"}})", ""},
        Said{"NodePortOfNone", kServices, R"({"spec": {"ports": [{"port": 80, "nodePort": 30080}]}})",
             "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
        Said{"NodePortTwice", kServices,
             R"({"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30080},
                 {"name": "b", "port": 81, "nodePort": 30080}]}})",
             "spec.ports[1].nodePort: Duplicate value: 30080"},
        Said{"HeadlessNodePort", kServices,
             R"({"spec": {"type": "NodePort", "clusterIP": "None", "selector": {"a": "b"}, "ports": )"
             R"([{"port": 80}]}})",
             R"(spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services)"},
        Said{
            "Selector", kServices, R"({"spec": {"ports": [{"port": 80}], "selector": {"a": "-"}}})",
            R"(spec.selector: Invalid value: "-": a valid label must be an empty string or consist of )"
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
        Said{"AppProtocol", kServices, R"({"spec": {"ports": [{"port": 80, "appProtocol": "/b"}]}})",
             R"(spec.ports[0].appProtocol: Invalid value: "/b": prefix part must be non-empty)"},
        Said{"TargetPort", kServices, R"({"spec": {"ports": [{"port": 80, "targetPort": "80"}]}})",
             R"(spec.ports[0].targetPort: Invalid value: "80": must contain at least one letter (a-z))"},
        Said{"ExternalIps", kServices,
             R"({"spec": {"ports": [{"port": 80}], "externalIPs": ["x", "127.0.0.1"]}})",
             R"(spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or )"
             R"(2001:db8::ffff))"
             "\n"
             R"(spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range )"
             "(127.0.0.0/8, ::1/128)"},
        Said{"ExternalNameAlone", kServices,
             R"({"spec": {"type": "ExternalName", "externalName": "a.", "clusterIPs": ["None"],
                 "ipFamilies": ["IPv4"],
                 "ipFamilyPolicy": "SingleStack"}})",
             "spec.clusterIPs: Forbidden: may not be set for ExternalName services\n"
             "spec.ipFamilies: Forbidden: may not be set for ExternalName services\n"
             "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services"},
        Said{"OfBalancersAlone", kServices,
             R"({"spec": {"ports": [{"port": 80}], "loadBalancerSourceRanges": ["10.0.0.0/8", "x"],
                 "loadBalancerClass": "a", "allocateLoadBalancerNodePorts": true}})",
             "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'\n"
             R"(spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, )"
             "(e.g. 10.9.8.0/24 or 2001:db8::/64)\n"
             "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'\n"
             "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"},
        Said{"TopologyNotes", kServices,
             R"({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "a",
                 "service.kubernetes.io/topology-aware-hints": "b"}}, "spec": {"ports": [{"port": 80}]}})",
             R"(metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "a": must match )"
             "annotations[service.kubernetes.io/topology-aware-hints] when both are specified"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Slices, KindChecks,
    testing::Values(
        Said{"Addresses", kSlices,
             R"({"addressType": "IPv4", "endpoints": [{"addresses": ["x", "::1", "169.254.0.1"]}, )"
             R"({"addresses": []}]})",
             R"(endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, )"
             "(e.g. 10.9.8.7 or 2001:db8::ffff)\n"
             R"(endpoints[0].addresses: Invalid value: "::1": must be an IPv4 address)"
             "\n"
             R"(endpoints[0].addresses[1]: Invalid value: "::1": may not be in the loopback range )"
             R"((127.0.0.0/8, ::1/128))"
             "\n"
             R"(endpoints[0].addresses[2]: Invalid value: "169.254.0.1": may not be in the link-local range )"
             "(169.254.0.0/16, fe80::/10)\n"
             "endpoints[1].addresses: Required value: must contain at least 1 address"},
        Said{
            "Ipv6AddressesAreCanonical", kSlices,
            R"({"addressType": "IPv6", "endpoints": [{"addresses": ["2001:DB8:0:0:1::0", "::ffff:10.0.0.1",
                 "010.0.0.1", "2001:db8::1"]}]})",
            R"(endpoints[0].addresses[0]: Invalid value: "2001:DB8:0:0:1::0": )"
            R"(must be in canonical form ("2001:db8:0:0:1::"))"
            "\n"
            R"(endpoints[0].addresses[1]: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped IPv6 )"
            R"(address)"
            "\n"
            R"(endpoints[0].addresses[2]: Invalid value: "010.0.0.1": must not have leading 0s)"},
        Said{"Names", kSlices,
             R"({"addressType": "FQDN", "endpoints": [{"addresses": ["a", "a.b.", ""], "nodeName": "n",
                 "hostname": "a.b"}]})",
             R"(endpoints[0].addresses[0]: Invalid value: "a": )"
             "should be a domain with at least two segments separated by dots\n"
             "endpoints[0].addresses[2]: Required value\n"
             R"(endpoints[0].hostname: Invalid value: "a.b": must not contain dots)"},
        Said{"Ports", kSlices,
             R"({"addressType": "IPv4", "ports": [{}, {"name": "", "protocol": "X", "appProtocol": "/b"}]})",
             R"(ports[1].name: Duplicate value: "")"
             "\n"
             R"(ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP")"
             "\n"
             R"(ports[1].appProtocol: Invalid value: "/b": prefix part must be non-empty)"},
        Said{"Hints", kSlices,
             R"({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"],
                 "hints": {"forZones": [{"name": "a"}, {"name": "a"}], "forNodes": [{"name": "A"}]}}]})",
             R"(endpoints[0].hints.forZones[1].name: Duplicate value: "a")"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Storage, KindChecks,
    testing::Values(
        Said{"VolumeOfNothing", kVolumes, R"({"metadata": {"name": "v"}, "spec": {}})",
             "spec.accessModes: Required value\nspec.capacity: Required value\n"
             "spec: Required value: must specify a volume type"},
        Said{
            "VolumeOfTwo", kVolumes,
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["X"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Keep", "hostPath": {"path": "/a"}, "csi": {"driver": "d"}}})",
            R"(spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", )"
            R"("ReadWriteOnce", "ReadWriteOncePod")"
            "\nspec.csi: Forbidden: may not specify more than 1 volume type\n"
            "spec.csi.volumeHandle: Required value\n"
            R"(spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", )"
            R"("Recycle", "Retain")"},
        Said{
            "VolumeThatBecomesAnother", kVolumes,
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadOnlyMany"], "capacity":
                 {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "a"}}})",
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadOnlyMany"], "capacity":
                 {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "b"}}})"},
        Said{
            "ClaimOfNothing", kClaims, R"({"metadata": {"name": "c"}, "spec": {"storageClassName": "A_b"}})",
            "spec.accessModes: Required value: at least 1 access mode is required\n"
            "spec.resources[storage]: Required value\n"
            "spec.storageClassName: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of "
            "lower "
            "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'example.com', regex used for validation is "
            R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"},
        Said{"ClaimThatIsBound", kClaims,
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"],
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             "",
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "v",
                 "resources": {"requests": {"storage": "1Gi"}}}})"},
        Said{"ClaimThatTurnsToAnotherVolume", kClaims,
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "v",
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             "spec: Forbidden: spec is immutable after creation except resources.requests and "
             "volumeAttributesClassName for bound claims",
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "w",
                 "resources": {"requests": {"storage": "1Gi"}}}})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Workloads, KindChecks,
    testing::Values(
        Said{"WhatBecomesOfClaims", kSets,
             R"({"spec": {"selector": {"matchLabels": {"a": "b"}}, "persistentVolumeClaimRetentionPolicy":
                 {"whenDeleted": "X"}, "template": {"metadata": {"labels": {"a": "b"}}}}})",
             R"(spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "X": )"
             R"(supported values: "Retain", "Delete")"},
        Said{"GateTwice", "/pods", R"({"spec": {"containers": [{"name": "c", "image": "i"}]}})",
             R"(spec.schedulingGates[1]: Duplicate value: "a")"
             "\nspec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling "
             "gate 'a'",
             R"({"spec": {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "a"},
                 {"name": "a"}]}})"},
        Said{
            "SelectorOfAStatefulSet", kSets,
            R"({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "X"}]}, "template": )"
            R"({}}})",
            R"(spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator)"
            "\n"
            R"(spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), )"
            R"(MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"a", )"
            R"(Operator:"X", )"
            "Values:[]string(nil)}}}"},
        Said{"UnknownCompletion", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"completionMode": "X",
                 "backoffLimitPerIndex": 1, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             R"(spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed")"},
        Said{"IndexesOfNone", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"maxFailedIndexes": 1, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified\n"
             "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode"},
        Said{"MoreFailThanThereAre", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"completionMode": "Indexed",
                 "completions": 1, "backoffLimitPerIndex": 1, "maxFailedIndexes": 2, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             "spec.maxFailedIndexes: Invalid value: 2: must be less than or equal to completions"},
        Said{"ManyIndexes", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"completionMode": "Indexed",
                 "completions": 100001, "parallelism": 10001,
                    "backoffLimitPerIndex": 1, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000\n"
             "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions "
             "are "
             "above 100000 and used with backoff limit per index"},
        Said{"ManagedBy", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"managedBy": "A/b c", "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             R"(spec.managedBy: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower )"
             R"(case )"
             "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
             R"((e.g. 'example.com', regex used for validation is )"
             R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"
             "\n"
             R"(spec.managedBy: Invalid value: "b c": Invalid path (regex used for validation is )"
             R"('[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'))"},
        Said{"FailureActions", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"},
                 "spec": {"podFailurePolicy": {"rules": [{"action": "X"}, {"action": "FailIndex",
                    "onPodConditions": [{"type": "a"}], "onExitCodes": {"operator": "In",
                         "values": [1]}}]}, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             R"(spec.podFailurePolicy.rules[0].action: Unsupported value: "X": supported values: )"
             R"("Count", "FailIndex", "FailJob", "Ignore")"
             "\nspec.podFailurePolicy.rules[0]: Invalid value: "
             "specifying one of OnExitCodes and OnPodConditions is required\n"
             R"(spec.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": )"
             "requires the backoffLimitPerIndex to be set\n"
             "spec.podFailurePolicy.rules[1]: Invalid value: "
             "specifying both OnExitCodes and OnPodConditions is not supported"},
        Said{"ExitCodes", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"},
                 "spec": {"podFailurePolicy": {"rules": [{"action": "Count", "onExitCodes": {"operator": "In",
                    "containerName": "x", "values": [2, 0, 2]}}, {"onExitCodes": {"values": []}}]},
                         "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             R"(spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": )"
             "must be one of the container or initContainer names in the pod template\n"
             "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: "
             "must not be 0 for the In operator\n"
             "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2\n"
             "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []int32{2, 0, 2}: must be "
             "ordered\n"
             R"(spec.podFailurePolicy.rules[1].action: Required value: valid values: )"
             R"(["Count" "FailIndex" "FailJob" "Ignore"])"
             "\n"
             R"(spec.podFailurePolicy.rules[1].onExitCodes.operator: Required value: valid values: ["In" )"
             R"("NotIn"])"
             "\nspec.podFailurePolicy.rules[1].onExitCodes.values: Invalid value: []int32{}: "
             "at least one value is required"},
        Said{
            "PodConditions", kJobs,
            R"({"metadata": {"name": "j", "uid": "u"},
                 "spec": {"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions":
                    [{"type": "", "status": "x"}]}]}, "podReplacementPolicy": "TerminatingOrFailed",
                         "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
            R"(spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": name part must be )"
            R"(non-empty)"
            "\n"
            R"(spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": name part must )"
            R"(consist of )"
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
            R"(spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "x": supported )"
            R"(values: )"
            R"("False", "True", "Unknown")"
            "\n"
            R"(spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: )"
            R"("Failed")"},
        Said{"SuccessOfOnes", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"successPolicy": {}, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             R"(spec.successPolicy: Invalid value: {}: requires indexed completion mode)"},
        Said{"Success", kJobs,
             R"({"metadata": {"name": "j", "uid": "u"}, "spec": {"completionMode": "Indexed",
                 "completions": 5, "successPolicy": {"rules": [{},
                    {"succeededIndexes": "0,2-4", "succeededCount": 5}, {"succeededCount": 6},
                    {"succeededIndexes": "1-2-3"}, {"succeededIndexes": "x"}, {"succeededIndexes": "5"},
                    {"succeededIndexes": "2,1"}, {"succeededIndexes": "3-2"}]}, "template":
                 {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                 "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}}}})",
             "spec.successPolicy.rules[0]: Required value: "
             "at least one of succeededCount or succeededIndexes must be specified\n"
             "spec.successPolicy.rules[1].succeededCount: Invalid value: 5: must be less than or equal to 4 "
             "(the number of indexes in the specified succeededIndexes field)\n"
             "spec.successPolicy.rules[2].succeededCount: Invalid value: 6: must be less than or equal to 5 "
             "(the number of specified completions)\n"
             R"(spec.successPolicy.rules[3].succeededIndexes: Invalid value: "1-2-3": error parsing )"
             R"(succeededIndexes: the fragment "1-2-3" violates the requirement that an index interval can )"
             R"(have at )"
             "most two parts separated by '-'\n"
             R"(spec.successPolicy.rules[4].succeededIndexes: Invalid value: "x": error parsing )"
             R"(succeededIndexes: )"
             R"(cannot convert string to integer for index: "x")"
             "\n"
             R"(spec.successPolicy.rules[5].succeededIndexes: Invalid value: "5": error parsing )"
             R"(succeededIndexes: )"
             R"(too large index: "5")"
             "\n"
             R"(spec.successPolicy.rules[6].succeededIndexes: Invalid value: "2,1": error parsing )"
             R"(succeededIndexes: )"
             "non-increasing order, previous: 2, current: 1\n"
             R"(spec.successPolicy.rules[7].succeededIndexes: Invalid value: "3-2": error parsing )"
             R"(succeededIndexes: )"
             "non-increasing order, previous: 3, current: 2"}),
    nameOf);

}  // namespace
}  // namespace gs::apiserver
