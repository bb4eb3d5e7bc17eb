#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

constexpr const char* kOneVolume = "/persistentvolumes";
constexpr const char* kOneClaim = "/persistentvolumeclaims";

class StorageChecks : public testing::TestWithParam<Said> {};
TEST_P(StorageChecks, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}

constexpr const char* kPlainClaim =
    R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}})";
constexpr const char* kClaimStays =
    "spec: Forbidden: spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims";

INSTANTIATE_TEST_SUITE_P(
    Both, StorageChecks,
    testing::Values(
        Said{"VolumeOfNothing", kOneVolume, R"({"metadata": {"name": "v"}, "spec": {}})",
             "spec.accessModes: Required value\nspec.capacity: Required value\n"
             "spec.capacity: Unsupported value: core.ResourceList(nil): supported values: \"storage\"\n"
             "spec: Required value: must specify a volume type"},
        Said{
            "VolumeOfTwo", kOneVolume,
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["X"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Keep", "hostPath": {"path": "/a"}, "csi": {"driver": "d"}}})",
            R"(spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", )"
            R"("ReadWriteOnce", "ReadWriteOncePod")"
            "\nspec.persistentVolumeReclaimPolicy: Unsupported value: \"Keep\": supported values: "
            "\"Delete\", "
            "\"Recycle\", \"Retain\"\nspec.csi: Forbidden: may not specify more than 1 volume type"},
        Said{
            "VolumeThatBecomesAnother", kOneVolume,
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadOnlyMany"], "capacity":
                 {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "a"}}})",
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
            R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadOnlyMany"], "capacity":
                 {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "b"}}})"},
        Said{
            "ClaimOfNothing", kOneClaim,
            R"({"metadata": {"name": "c"}, "spec": {"storageClassName": "A_b"}})",
            "spec.accessModes: Required value: at least 1 access mode is required\n"
            "spec.resources[storage]: Required value\n"
            "spec.storageClassName: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of "
            "lower "
            "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'example.com', regex used for validation is "
            R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"},
        Said{"ClaimThatIsBound", kOneClaim,
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"],
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             "",
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "v",
                 "resources": {"requests": {"storage": "1Gi"}}}})"},
        Said{"ClaimThatTurnsToAnotherVolume", kOneClaim,
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "v",
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             "spec: Forbidden: spec is immutable after creation except resources.requests and "
             "volumeAttributesClassName for bound claims",
             R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "w",
                 "resources": {"requests": {"storage": "1Gi"}}}})"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Claims, StorageChecks,
    testing::Values(
        Said{"APlainOne", kOneClaim, kPlainClaim, ""},
        Said{
            "NegativeStorage", kOneClaim,
            R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "-1Gi"}}}})",
            R"(spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero)"},
        Said{"NoStorage", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}})",
             R"(spec.resources[storage]: Invalid value: "0": must be greater than zero)"},
        Said{"LessThanAByteIsMoreThanNone", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1m"}}}})",
             ""},
        Said{"UnknownVolumeMode", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "x",
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             R"(spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem")"},
        Said{"OnePodOnlyAndOthers", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"},
        Said{"OnePodOnlyAndOneThatIsNone", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOncePod", "x"],
                 "resources": {"requests": {"storage": "1Gi"}}}})",
             R"(spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", )"
             R"("ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")"},
        Said{"WrongSelector", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}})",
             "spec.selector.matchExpressions[0].values: Required value: "
             "must be specified when `operator` is 'In' or 'NotIn'"},
        Said{
            "SourceWithoutKind", kOneClaim,
            R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "dataSourceRef": {"apiGroup": "A", "kind": "", "name": "a"}}})",
            R"(spec.dataSource.kind: Required value)"
            "\n"
            R"(spec.dataSource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of )"
            R"(lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric )"
            R"(character (e.g. 'example.com', regex used for validation is )"
            R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"
            "\n"
            R"(spec.dataSourceRef.kind: Required value)"
            "\n"
            R"(spec.dataSourceRef.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist )"
            R"(of lower case alphanumeric characters, '-' or '.', and must start and end with an )"
            R"(alphanumeric character (e.g. 'example.com', regex used for validation is )"
            R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"},
        Said{"SourcesThatDiffer", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
                 "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"}}})",
             R"(spec: Invalid value: field.Path{name:"dataSource"}: must match dataSourceRef)"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    ClaimUpdates, StorageChecks,
    testing::Values(
        Said{"MoreStorageOfAnUnboundOne", kOneClaim, kPlainClaim, kClaimStays,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
                 "status": {"phase": "Pending"}})"},
        Said{"MoreStorageOfABoundOneIsForAdmission", kOneClaim, kPlainClaim, "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
                 "status": {"phase": "Bound"}})"},
        Said{"OtherModeOfABoundOne", kOneClaim, kPlainClaim, kClaimStays,
             R"({"spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}},
                 "status": {"phase": "Bound"}})"},
        Said{"TheSameStorageWrittenOtherwise", kOneClaim, kPlainClaim, "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1073741824"}}}})"},
        Said{"AVolumeOnce", kOneClaim, kPlainClaim, "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "volumeName": "v"}})"},
        Said{"AnotherVolume", kOneClaim,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "volumeName": "v"}})",
             kClaimStays,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "volumeName": "w"}})"},
        Said{"AClassOnce", kOneClaim, kPlainClaim, "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "storageClassName": "a"}})"},
        Said{"AnotherVolumeMode", kOneClaim, kPlainClaim,
             "spec: Forbidden: spec is immutable after creation except resources.requests and "
             "volumeAttributesClassName for bound claims\n"
             R"(volumeMode: Invalid value: "Block": field is immutable)",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "volumeMode": "Block"}})"},
        Said{"AClassInTheAnnotation", kOneClaim, kPlainClaim,
             R"(metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "a": )"
             "field is immutable",
             R"({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "a"}},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})"}),
    nameOf);

/// A claim that asks for 4Gi and has 2Gi.
TEST(ClaimSizes, ShrinkToMoreThanTheyHave) {
  const auto claim = [](const char* size) {
    return json::parse(
               R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": ")" +
               std::string{size} + R"("}}}, "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}})")
        .value();
  };
  const auto said = [&](const char* size) {
    const FieldErrors errors = checkPersistentVolumeClaim(claim(size), claim("4Gi"));
    return errors.empty() ? "" : errors.front().field + ": " + errors.front().message;
  };
  EXPECT_EQ(said("3Gi"), "");
  EXPECT_EQ(said("2Gi"),
            "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity");
  EXPECT_EQ(said("5Gi"), "") << "admission refuses that";
}

constexpr const char* kPlainVolume =
    R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
        "csi": {"driver": "a.b", "volumeHandle": "h"}}})";

INSTANTIATE_TEST_SUITE_P(
    Volumes, StorageChecks,
    testing::Values(
        Said{"APlainOne", kOneVolume, kPlainVolume, ""},
        Said{"NegativeCapacity", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "-1"},
                 "nfs": {"server": "s", "path": "/"}}})",
             "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity\n"
             R"(spec.capacity[storage]: Invalid value: "-1": must be greater than zero)"},
        Said{"NoCapacity", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/"}}})",
             "spec.capacity: Required value\n"
             R"(spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage")"},
        Said{"HostPathWithoutPath", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "hostPath": {}}})",
             "spec.hostPath.path: Required value"},
        Said{"NfsWithoutAnything", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "nfs": {"server": "", "path": ""}}})",
             "spec.nfs.server: Required value\nspec.nfs.path: Required value\n"
             R"(spec.nfs.path: Invalid value: "": must be an absolute path)"},
        Said{"LocalOnNoNode", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "local": {"path": "/a/../b"}}})",
             R"(spec.local.path: Invalid value: "/a/../b": must not contain '..')"
             "\nspec.nodeAffinity: Required value: Local volume requires node affinity"},
        Said{"NodesThatSayNothing", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "local": {"path": "/a"}, "nodeAffinity": {}}})",
             "spec.nodeAffinity.required: Required value: must specify required node constraints"},
        Said{"NodesOfNoTerm", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "local": {"path": "/a"}, "nodeAffinity": {"required": {}}}})",
             "spec.nodeAffinity.required.nodeSelectorTerms: Required value: "
             "must have at least one node selector term"},
        Said{"ASecondKind", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "hostPath": {"path": "/a"}, "csi": {}}})",
             "spec.csi: Forbidden: may not specify more than 1 volume type"},
        Said{"SecretWithoutNamespace", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "csi": {"driver": "a.b", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}}}})",
             "spec.csi.nodePublishSecretRef.namespace: Required value"},
        Said{"RecycledRoot", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "hostPath": {"path": "/./"}, "persistentVolumeReclaimPolicy": "Recycle"}})",
             "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of "
             "'/'"},
        Said{"OptionsThatNobodyMountsWith", kOneVolume,
             R"({"metadata": {"annotations": {"volume.beta.kubernetes.io/mount-options": "ro"}},
                 "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"},
                 "hostPath": {"path": "/a"}}})",
             "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: "
             "may not specify mount options for this volume type"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    VolumeUpdates, StorageChecks,
    testing::Values(
        Said{"AnotherSource", kOneVolume, kPlainVolume,
             "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
             "creation",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "hostPath": {"path": "/a"}}})"},
        Said{"ASecretToGrowBy", kOneVolume, kPlainVolume, "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "csi": {"driver": "a.b", "volumeHandle": "h",
                 "controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}})"},
        Said{"AnotherVolumeMode", kOneVolume, kPlainVolume,
             R"(volumeMode: Invalid value: "Block": field is immutable)",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "volumeMode": "Block", "csi": {"driver": "a.b", "volumeHandle": "h"}}})"},
        Said{"NoNodesAnyMore", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}},
                 "csi": {"driver": "a.b", "volumeHandle": "h"}}})",
             R"(nodeAffinity: Invalid value: "null": field is immutable, except for updating from beta )"
             "label to GA",
             kPlainVolume},
        Said{"ALabelThatIsNoLongerBeta", kOneVolume,
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
                 [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}]}},
                 "csi": {"driver": "a.b", "volumeHandle": "h"}}})",
             "",
             R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
                 [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}},
                 "csi": {"driver": "a.b", "volumeHandle": "h"}}})"}),
    nameOf);

}  // namespace
}  // namespace gs::apiserver
