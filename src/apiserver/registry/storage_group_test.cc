#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

constexpr const char* kClassId = "storage.k8s.io/storageclasses";
constexpr const char* kCsiNodeId = "storage.k8s.io/csinodes";
constexpr const char* kCsiDriverId = "storage.k8s.io/csidrivers";
constexpr const char* kCapacityId = "storage.k8s.io/csistoragecapacities";
constexpr const char* kAttachmentId = "storage.k8s.io/volumeattachments";

class StorageGroupChecks : public testing::TestWithParam<Said> {};
TEST_P(StorageGroupChecks, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}

INSTANTIATE_TEST_SUITE_P(
    Classes, StorageGroupChecks,
    testing::Values(
        Said{"Plain", kClassId, R"({"provisioner": "Ex.io/x"})", ""},
        Said{"OfNobody", kClassId, R"({})", "provisioner: Required value"},
        Said{"OfOddWords", kClassId,
             R"({"provisioner": "x", "reclaimPolicy": "Recycle", "volumeBindingMode": "Later"})",
             "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"\n"
             "volumeBindingMode: Unsupported value: \"Later\": supported values: \"Immediate\", "
             "\"WaitForFirstConsumer\""},
        Said{"WithANamelessParameter", kClassId, R"({"provisioner": "x", "parameters": {"": "a"}})",
             "parameters: Invalid value: \"\": field can not be empty."},
        Said{"OfZones", kClassId,
             R"({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone",
                 "values": ["a", "b"]}]}]})",
             ""},
        Said{"OfZonesThatAreThereTwice", kClassId,
             R"({"provisioner": "x", "allowedTopologies": [
                 {"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}]},
                 {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]},
                 {"matchLabelExpressions": [{"key": "rack", "values": []}, {"key": "rack", "values": ["1"]}]}]})",
             "allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"a\"\n"
             "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"\n"
             "allowedTopologies[2].matchLabelExpressions[0].values: Required value\n"
             "allowedTopologies[2].matchLabelExpressions[1].key: Duplicate value: \"rack\""},
        Said{
            "ThatBecomesAnother", kClassId, R"({"provisioner": "x", "parameters": {"a": "b"}})",
            "parameters: Forbidden: updates to parameters are forbidden.\n"
            "provisioner: Forbidden: updates to provisioner are forbidden.\n"
            "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.\n"
            "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable",
            R"({"provisioner": "y", "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"})"},
        Said{"ThatLetsVolumesGrow", kClassId, R"({"provisioner": "x"})", "",
             R"({"provisioner": "x", "allowVolumeExpansion": true})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Drivers, StorageGroupChecks,
    testing::Values(
        Said{"Node", kCsiNodeId,
             R"({"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["zone"],
                 "allocatable": {"count": 0}}]}})",
             ""},
        Said{"NodeOfOddDrivers", kCsiNodeId,
             R"({"spec": {"drivers": [{"name": "d", "nodeID": "", "allocatable": {"count": -1}},
                 {"name": "d", "nodeID": "n", "topologyKeys": ["a", "a"]}]}})",
             "spec.drivers[0].nodeID: Required value\n"
             "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0\n"
             "spec.drivers[1].name: Duplicate value: \"d\"\n"
             "spec.drivers[1]: Duplicate value: \"a\""},
        Said{"NodeWhoseDriverGoes", kCsiNodeId, R"({"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}})",
             "", R"({"spec": {"drivers": [{"name": "e", "nodeID": "n"}]}})"},
        Said{"NodeWhoseDriverChanges", kCsiNodeId, R"({"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}})",
             R"(spec.drivers: Invalid value: {"name":"d","nodeID":"m"}: field is immutable)",
             R"({"spec": {"drivers": [{"name": "d", "nodeID": "m"}]}})"},
        Said{"Driver", kCsiDriverId, R"({"spec": {}})", ""},
        Said{"OddDriver", kCsiDriverId,
             R"({"spec": {"fsGroupPolicy": "x", "volumeLifecycleModes": ["Always"], "tokenRequests":
                 [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}]}})",
             "spec.fsGroupPolicy: Unsupported value: \"x\": supported values: \"File\", \"None\", "
             "\"ReadWriteOnceWithFSType\"\n"
             "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less "
             "than 10 "
             "minutes\n"
             "spec.tokenRequests[1].audience: Duplicate value: \"a\"\n"
             "spec.volumeLifecycleModes: Unsupported value: \"Always\": supported values: \"Persistent\", "
             "\"Ephemeral\""},
        Said{"DriverThatChanges", kCsiDriverId, R"({"spec": {}})",
             "spec.attachedRequired: Invalid value: false: field is immutable\n"
             "spec.volumeLifecycleModes: Invalid value: []storage.VolumeLifecycleMode{\"Ephemeral\"}: field "
             "is "
             "immutable",
             R"({"spec": {"attachRequired": false, "volumeLifecycleModes": ["Ephemeral"]}})"},
        Said{"Capacity", kCapacityId, R"({"storageClassName": "a", "capacity": "0"})", ""},
        Said{"CapacityBelowNothing", kCapacityId, R"({"storageClassName": "a", "capacity": "-1Gi"})",
             "capacity: Invalid value: \"-1Gi\": must be greater than or equal to 0"},
        Said{"CapacityOfAnotherClass", kCapacityId, R"({"storageClassName": "a"})",
             "storageClassName: Invalid value: \"b\": field is immutable", R"({"storageClassName": "b"})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Attachments, StorageGroupChecks,
    testing::Values(
        Said{"Plain", kAttachmentId,
             R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}})", ""},
        Said{"OfNothing", kAttachmentId, R"({"spec": {"attacher": "d", "nodeName": "n", "source": {}}})",
             "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
             "persistentVolumeName"},
        Said{"OfTwo", kAttachmentId,
             R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v",
                 "inlineVolumeSpec": {}}}})",
             "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
        Said{
            "ThatMoves", kAttachmentId,
            R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}})",
            R"(spec: Invalid value: {"attacher":"d","nodeName":"m","source":{"persistentVolumeName":"v"}}: field )"
            "is immutable",
            R"({"spec": {"attacher": "d", "nodeName": "m", "source": {"persistentVolumeName": "v"}}})"}),
    nameOf);

TEST(StorageGroup, NewObjectsBeginWithWhatTheServerAdds) {
  const Resources resources;
  const auto begun = [&](const char* id, const char* text) {
    const Resource& r = *resources.stored(id);
    json::Value object = json::parse(text).value();
    defaultKind(r, object);
    beginKind(r, object, {});
    return json::print(object);
  };
  EXPECT_EQ(begun(kClassId, R"({"provisioner":"x"})"),
            R"({"provisioner":"x","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})");
  EXPECT_EQ(begun(kCsiDriverId, R"({"spec":{"nodeAllocatableUpdatePeriodSeconds":60}})"),
            R"({"spec":{"attachRequired":true,"podInfoOnMount":false,"storageCapacity":false,)"
            R"("requiresRepublish":false,"seLinuxMount":false,"fsGroupPolicy":"ReadWriteOnceWithFSType",)"
            R"("volumeLifecycleModes":["Persistent"]}})");
  EXPECT_EQ(begun(kAttachmentId, R"({"spec":{}})"), R"({"spec":{},"status":{"attached":false}})");
}

TEST(StorageGroup, AChangeOfADriverIsCounted) {
  const Resources resources;
  const Resource& r = *resources.stored(kCsiDriverId);
  const json::Value old = json::parse(R"({"metadata":{"name":"d"},"spec":{"podInfoOnMount":false}})").value();
  json::Value same = old;
  keepKind(r, old, same);
  EXPECT_EQ(same, old);
  json::Value next = json::parse(R"({"metadata":{"name":"d"},"spec":{"podInfoOnMount":true}})").value();
  keepKind(r, old, next);
  EXPECT_EQ(next["metadata"]["generation"].intOr(0), 1);
}

}  // namespace
}  // namespace gs::apiserver
