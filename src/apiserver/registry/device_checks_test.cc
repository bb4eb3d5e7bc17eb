// Of kinds of resource.k8s.io; test/conformance/newest has many more, as a real server answers them.
#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

constexpr const char* kDeviceClaims = "resource.k8s.io/resourceclaims";
constexpr const char* kDeviceTemplates = "resource.k8s.io/resourceclaimtemplates";
constexpr const char* kDeviceClasses = "resource.k8s.io/deviceclasses";
constexpr const char* kDeviceSlices = "resource.k8s.io/resourceslices";
constexpr const char* kTaintRules = "resource.k8s.io/devicetaintrules";

class DeviceChecks : public testing::TestWithParam<Said> {};
TEST_P(DeviceChecks, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}

constexpr const char* kOneRequest =
    R"({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly":
        {"deviceClassName": "gpu"}}]}}})";

INSTANTIATE_TEST_SUITE_P(
    Claims, DeviceChecks,
    testing::Values(
        Said{"APlainOne", kDeviceClaims, kOneRequest, ""},
        Said{"OneOfBothKinds", kDeviceClaims,
             R"({"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"},
                 "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}, {"name": "n"}]}}})",
             "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is "
             "required, but multiple fields are set\n"
             "spec.devices.requests[1]: Required value: exactly one of `exactly` or `firstAvailable` is "
             "required"},
        Said{"TwoOfAName", kDeviceClaims,
             R"({"spec": {"devices": {"requests": [{"name": "r", "exactly": {"count": 2,
                 "deviceClassName": "c"}}, {"name": "r", "exactly": {"count": 2, "deviceClassName": "c"}}]}}})",
             R"(spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"c",)"
             R"("allocationMode":"ExactCount","count":2}})"},
        Said{"ANumberOfAll", kDeviceClaims,
             R"({"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c",
                 "allocationMode": "All", "count": 1}}]}}})",
             "spec.devices.requests[0].exactly.count: Invalid value: 1: must not be specified when "
             "allocationMode is 'All'"},
        Said{"RequestsThatAreNone", kDeviceClaims,
             R"({"spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [{"name": "s",
                 "deviceClassName": "c"}]}], "constraints": [{"matchAttribute": "x.io/m",
                 "requests": ["r", "r/s", "r/t", "r/s/u"]}]}}})",
             "spec.devices.constraints[0].requests[2]: Invalid value: \"r/t\": must be the name of a request "
             "in the claim or the name of a request and a subrequest separated by '/'\n"
             "spec.devices.constraints[0].requests[3]: Invalid value: \"r/s/u\": must be the name of a "
             "request in the claim or the name of a request and a subrequest separated by '/'"},
        Said{"AnotherSpec", kDeviceClaims, kOneRequest, "spec: Invalid value: null: field is immutable",
             R"({"metadata": {"name": "c"}, "spec": {"devices": {}}})"},
        Said{"AnAllocationOfNoRequest", kDeviceClaims, kOneRequest,
             "status.allocation.devices.results[0].request: Invalid value: \"x\": must be the name of a "
             "request in the claim or the name of a request and a subrequest separated by '/'\n"
             "status.allocation.devices.results[0].pool: Invalid value: \"a//b\": segment 1: must not be "
             "empty",
             R"({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly":
                 {"deviceClassName": "gpu"}}]}}, "status": {"allocation": {"devices": {"results": [
                 {"request": "x", "driver": "d", "pool": "a//b", "device": "g"}]}}}})"},
        Said{"ReservedWithoutAllocation", kDeviceClaims, kOneRequest,
             "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
             R"({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly":
                 {"deviceClassName": "gpu"}}]}}, "status": {"reservedFor": [{"resource": "pods",
                 "name": "p", "uid": "u"}]}})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Others, DeviceChecks,
    testing::Values(
        Said{"ATemplateWithAName", kDeviceTemplates,
             R"({"spec": {"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"devices": {}}}})",
             "spec.metadata.name: Forbidden: cannot be set"},
        Said{"AClassWithoutCel", kDeviceClasses,
             R"({"spec": {"selectors": [{"cel": {"expression": "true"}}, {}], "config": [{}],
                 "extendedResourceName": "requests.x.io/gpu"}})",
             "spec.selectors[1].cel: Required value\nspec.config[0].opaque: Required value\n"
             "spec.extendedResourceName: Invalid value: \"requests.x.io/gpu\": must not have \"requests.\" "
             "prefix"},
        Said{"ASliceOfNoNode", kDeviceSlices,
             R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 0, "generation": -1}}})",
             "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero\n"
             "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero\n"
             "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
             "`perDeviceNodeSelection` is required"},
        Said{"ASliceOfTwoWays", kDeviceSlices,
             R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n",
                 "allNodes": true}})",
             "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, "
             "`allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"},
        Said{
            "AttributesOfTwoKindsAndNone", kDeviceSlices,
            R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": true,
                 "devices": [{"name": "g", "attributes": {"a": {"int": 0, "bool": false}, "b": {},
                 "c": {"version": "1.0"}}}]}})",
            "spec.devices[0].attributes[a]: Invalid value: \"{`int`, `bool`}\": must specify exactly one of: "
            "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`\n"
            "spec.devices[0].attributes[b]: Invalid value: \"\": must specify one of: `int`, `bool`, "
            "`string`, `version`, `ints`, `bools`, `strings`, `versions`\n"
            "spec.devices[0].attributes[c].version: Invalid value: \"1.0\": must be a string compatible with "
            "semver.org spec 2.0.0"},
        Said{"ASliceThatMoves", kDeviceSlices,
             R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n"}})",
             "spec.pool.name: Invalid value: \"q\": field is immutable\n"
             "spec.driver: Invalid value: \"e\": field is immutable\n"
             "spec.nodeName: Invalid value: \"m\": field is immutable",
             R"({"spec": {"driver": "e", "pool": {"name": "q", "resourceSliceCount": 1}, "nodeName": "m"}})"},
        Said{
            "AnAmountThatIsNoMultiple", kDeviceSlices,
            R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": true,
                 "devices": [{"name": "g", "allowMultipleAllocations": true, "capacity": {"m": {"value": "10",
                 "requestPolicy": {"default": "4", "validRange": {"min": "1", "step": "2"}}}}}]}})",
            "spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: \"4\": value is not a "
            "multiple of a given step (2) from (1)"},
        Said{"ATaintOfNoEffect", kTaintRules,
             R"({"spec": {"deviceSelector": {"device": "g"}, "taint": {"key": "k", "effect": "Never"}}})",
             "spec.taint.effect: Unsupported value: \"Never\": supported values: \"NoExecute\", "
             "\"NoSchedule\", \"None\""}),
    nameOf);

constexpr const char* kPodOfClaims =
    R"({"metadata": {"name": "p"}, "spec": {"restartPolicy": "Always", "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": 30, "resourceClaims": [{"name": "a",
        "resourceClaimName": "c"}], "containers": [{"name": "m", "image": "i", "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File", "resources": {"limits": {"x.io/gpu": "1"},
        "claims": [{"name": "a"}]}}]}})";
/// The same pod with this status.
std::string withPodStatus(const char* status) {
  std::string text = kPodOfClaims;
  return text.insert(text.size() - 1, std::string{R"(, "status": )"} + status);
}

TEST(PodClaims, ASpecNamesEachClaimOnceAndFromOneSource) {
  const std::string pod = kPodOfClaims;
  EXPECT_EQ(findings("/pods", pod.c_str()), "");
  const auto with = [&](const char* claims) {
    std::string text = pod;
    const std::string before = R"([{"name": "a",
        "resourceClaimName": "c"}])";
    return findings("/pods", text.replace(text.find(before), before.size(), claims).c_str());
  };
  EXPECT_EQ(with("[]"),
            "spec.containers[0].resources.claims[0]: Not found: \"a\": must be one of the names in "
            "pod.spec.resourceClaims which is empty");
  EXPECT_EQ(with(R"([{"name": "a"}])"),
            R"(spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,)"
            R"("ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, )"
            "`resourceClaimTemplateName`");
  EXPECT_EQ(with(R"([{"name": "a", "resourceClaimName": "c"}, {"name": "a", "resourceClaimName": "d"}])"),
            R"(spec.resourceClaims[1].name: Duplicate value: "a")");
}

TEST(PodClaims, AStatusNamesClaimsContainersAndResourcesOfThePod) {
  const auto said = [](const char* status) {
    return findings("/pods", kPodOfClaims, withPodStatus(status).c_str());
  };
  EXPECT_EQ(said(R"({"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "c"}],
                     "extendedResourceClaimStatus": {"resourceClaimName": "e", "requestMappings": [
                     {"containerName": "m", "resourceName": "x.io/gpu", "requestName": "r"}]}})"),
            "");
  EXPECT_EQ(said(R"({"resourceClaimStatuses": [{"name": "b"}]})"),
            "status.resourceClaimStatuses[0].name: Invalid value: \"b\": must match the name of an entry in "
            "`spec.resourceClaims`");
  EXPECT_EQ(said(R"({"extendedResourceClaimStatus": {"resourceClaimName": "", "requestMappings": [
                     {"containerName": "n", "resourceName": "x.io/gpu", "requestName": "r"},
                     {"containerName": "m", "resourceName": "cpu", "requestName": "r"}]}})"),
            "status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: \"n\": must "
            "match the name of an entry in spec.initContainers.name or spec.containers.name\n"
            "status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: \"cpu\": "
            "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
            "spec.containers.resources.requests\n"
            "status.extendedResourceClaimStatus.resourceClaimName: Required value");
}

TEST(PodClaims, AStatusIsReplacedAndNotLost) {
  const json::Value old = json::parse(R"({"status": {"resourceClaimStatuses": [{"name": "a"}],
      "extendedResourceClaimStatus": {"resourceClaimName": "e"}}})")
                              .value();
  json::Value next = json::parse(R"({"status": {"phase": "Running"}})").value();
  keepPodClaimStatus(old, next);
  EXPECT_EQ(next["status"]["resourceClaimStatuses"], old["status"]["resourceClaimStatuses"]);
  EXPECT_EQ(next["status"]["extendedResourceClaimStatus"], old["status"]["extendedResourceClaimStatus"]);
  next = json::parse(R"({"status": {"resourceClaimStatuses": [],
      "extendedResourceClaimStatus": {"resourceClaimName": "f"}}})")
             .value();
  keepPodClaimStatus(old, next);
  EXPECT_EQ(json::print(next["status"]), R"({"extendedResourceClaimStatus":{"resourceClaimName":"f"}})");
}

TEST(DeviceKinds, WhatDriversSaidOfDevicesThatAreNoLongerAllocatedGoes) {
  const json::Value old = json::parse(R"({"status": {"allocation": {"devices": {"results": [
      {"driver": "d", "pool": "p", "device": "g0"}, {"driver": "d", "pool": "p", "device": "g1"}]}}}})")
                              .value();
  json::Value next = json::parse(R"({"status": {"allocation": {"devices": {"results": [
      {"driver": "d", "pool": "p", "device": "g1"}]}}, "devices": [{"driver": "d", "pool": "p",
      "device": "g0"}, {"driver": "d", "pool": "p", "device": "g1"}]}})")
                         .value();
  keepClaimStatus(old, next);
  EXPECT_EQ(json::print(next["status"]["devices"]), R"([{"driver":"d","pool":"p","device":"g1"}])");
}

TEST(DeviceKinds, TaintsWithoutATimeAreAsOldAsTheWrite) {
  static const Resources kResources;
  const Now now{{}, Wall{std::chrono::hours{24}}};
  json::Value slice = json::parse(R"({"spec": {"devices": [{"taints": [{"key": "a"},
      {"key": "b", "timeAdded": "2025-01-01T00:00:00Z"}]}]}})")
                          .value();
  defaultTaintTimes(*kResources.stored(kDeviceSlices), slice, now);
  EXPECT_EQ(json::print(slice["spec"]["devices"].at(0)["taints"]),
            R"([{"key":"a","timeAdded":"1970-01-02T00:00:00Z"},)"
            R"({"key":"b","timeAdded":"2025-01-01T00:00:00Z"}])");
  const Resource& rules = *kResources.stored(kTaintRules);
  const json::Value old = json::parse(R"({"spec": {"taint": {"effect": "None", "timeAdded": "t"}}})").value();
  json::Value next = old;
  keepTaintTime(rules, old, next, now);
  EXPECT_EQ(next, old);
  next.child("spec").child("taint").set("effect", "NoExecute");
  keepTaintTime(rules, old, next, now);
  EXPECT_EQ(next["spec"]["taint"]["timeAdded"].str(), "1970-01-02T00:00:00Z");
}

TEST(DeviceKinds, WhatIsBehindGatesThatAreOffIsDropped) {
  static const Resources kResources;
  json::Value slice = json::parse(R"({"spec": {"partitionTypeAttribute": "x.io/t", "devices": [{
      "nodeAllocatableResources": {}, "attributes": {"a": {"ints": [1]}}}]}})")
                          .value();
  beginDeviceKind(*kResources.stored(kDeviceSlices), slice);
  EXPECT_EQ(json::print(slice), R"({"spec":{"devices":[{"attributes":{"a":{}}}]}})");
}

TEST(DeviceKinds, ARequestIsOneOfItsClassUnlessItSaysMore) {
  static const Resources kResources;
  json::Value claim = json::parse(R"({"spec": {"devices": {"requests": [{"exactly": {"tolerations": [{}]}},
      {"firstAvailable": [{"allocationMode": "All"}]}]}}})")
                          .value();
  defaultKind(*kResources.stored(kDeviceClaims), claim);
  EXPECT_EQ(json::print(claim["spec"]["devices"]["requests"]),
            R"([{"exactly":{"tolerations":[{"operator":"Equal"}],"allocationMode":"ExactCount","count":1}},)"
            R"({"firstAvailable":[{"allocationMode":"All"}]}])");
}

TEST(DeviceNames, Lists) {
  for (const char* version : {"1.2.3", "0.0.0-0a.-+01.x", "10.20.30-rc.1"}) {
    const std::string slice =
        std::string{R"({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1},
            "allNodes": true, "devices": [{"name": "g", "attributes": {"v": {"version": ")"} +
        version + R"("}}}]}})";
    EXPECT_EQ(findings(kDeviceSlices, slice.c_str()), "") << version;
  }
  FieldErrors errors;
  checkPoolName(json::Value{"a/b.c/d"}, "f", errors);
  checkAttributeName("x.io/a_1", "f", errors);
  checkAttributeName("_a", "f", errors);
  checkShareId(json::Value{"0123abcd-0123-abcd-0123-0123456789ab"}, "f", errors);
  EXPECT_EQ(errors.size(), 0U);
  checkAttributeName("1a", "f", errors);
  checkAttributeName("/a", "f", errors);
  checkShareId(json::Value{"0123ABCD-0123-abcd-0123-0123456789ab"}, "f", errors);
  EXPECT_EQ(errors.size(), 3U);
}

}  // namespace
}  // namespace gs::apiserver
