#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

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
    Namespaces, KindChecks,
    testing::Values(Said{
        "FinalizerOfNoDomain", "/namespaces",
        R"({"metadata": {"name": "n"}, "spec": {"finalizers": ["a/b", "a", "x/y/z"]}})",
        R"(spec.finalizers: Invalid value: "a": )"
        "name is neither a standard finalizer name nor is it fully qualified\n"
        R"(spec.finalizers: Invalid value: "x/y/z": a qualified name must consist of )"
        R"(alphanumeric characters, '-', '_' or '.', and must start and end with an )"
        R"(alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used )"
        R"(for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS )"
        R"(subdomain prefix and '/' (e.g. 'example.com/MyName'))"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Webhooks, KindChecks,
    testing::Values(Said{"ServiceWithoutNamespaceAsTheRealServerCallsIt",
                         "admissionregistration.k8s.io/mutatingwebhookconfigurations",
                         R"({"webhooks": [{"name": "a.b.c", "sideEffects": "None",
                             "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s"}}}]})",
                         "webhooks[0].clientConfig.service.name: Required value: service name is required"}),
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

}  // namespace
}  // namespace gs::apiserver
