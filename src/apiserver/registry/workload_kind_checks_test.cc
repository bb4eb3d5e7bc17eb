#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

class WorkloadKindChecks : public testing::TestWithParam<Said> {};
TEST_P(WorkloadKindChecks, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}

constexpr const char* kSlices = "discovery.k8s.io/endpointslices";
constexpr const char* kJobs = "batch/jobs";
constexpr const char* kSets = "apps/statefulsets";

INSTANTIATE_TEST_SUITE_P(
    Slices, WorkloadKindChecks,
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
    Workloads, WorkloadKindChecks,
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
