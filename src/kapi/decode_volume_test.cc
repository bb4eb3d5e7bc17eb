#include <gtest/gtest.h>

#include <string>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"
#include "kapi/selectors.h"

namespace gs::kapi {
namespace {

using model::AccessMode;
using model::NodeRequirement;
using model::NodeTerm;

TEST(DecodePersistentVolume, ReadsWhatDecides) {
  const auto v = decodePersistentVolume(parsed(R"({"metadata":{"name":"pv","uid":"u","resourceVersion":"7",
    "labels":{"tier":"fast","topology.kubernetes.io/zone":"b__a","failure-domain.beta.kubernetes.io/region":"r__"},
    "annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},
    "spec":{"capacity":{"storage":"1500m"},"accessModes":["ReadWriteOnce","ReadOnlyMany","Strange"],
    "storageClassName":"fast","volumeMode":"Block","volumeAttributesClassName":"gold",
    "claimRef":{"namespace":"ns","name":"data","uid":"c"},
    "csi":{"driver":"d.example.com","volumeHandle":"h"},
    "nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"zone","operator":"In","values":["b","a","a"]}],
       "matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]},
      {"matchExpressions":[{"key":"zone","operator":"Strange"}]},{}]}}},
    "status":{"phase":"Available"}})"));
  EXPECT_EQ(v.key, (model::ObjectKey{"", "pv"}));
  EXPECT_EQ(v.uid, model::Uid{"u"});
  EXPECT_EQ(v.revision, 7U);
  EXPECT_FALSE(v.deleting);
  EXPECT_TRUE(v.is_available);
  EXPECT_TRUE(v.is_block);
  EXPECT_TRUE(v.by_controller);
  EXPECT_EQ(v.modes, 3) << "a mode that nobody can ask for is none";
  EXPECT_EQ(v.storage_class, "fast");
  EXPECT_EQ(v.attributes_class, "gold");
  EXPECT_EQ(v.capacity, (model::Quantity{1, 500'000'000}));
  EXPECT_EQ(v.claim, (model::ClaimRef{{"ns", "data"}, model::Uid{"c"}}));
  EXPECT_EQ(v.driver, "d.example.com");
  EXPECT_EQ(v.handle, "h");
  EXPECT_EQ(v.migrated, model::Migrated{});
  EXPECT_TRUE(v.affinity.is_required);
  EXPECT_EQ(v.affinity.terms, (std::vector<NodeTerm>{{{{"zone", NodeRequirement::Op::In, {"a", "b"}}},
                                                      {{"metadata.name", NodeRequirement::Op::In, {"n"}}}}}));
  EXPECT_EQ(v.zones, (std::vector<model::ZoneLabel>{{"topology.kubernetes.io/zone", {"a", "b"}}}))
      << "a label with an empty zone says nothing";
}

TEST(DecodePersistentVolume, OfNothingIsOneThatNobodyGets) {
  const auto v = decodePersistentVolume(parsed("{}"));
  EXPECT_FALSE(v.is_available);
  EXPECT_FALSE(v.affinity.is_required);
  EXPECT_EQ(v.claim, std::nullopt);
  EXPECT_EQ(v.capacity, model::Quantity{});
}

TEST(DecodePersistentVolume, FormerAnnotationOfTheClassCountsFirst) {
  const auto v = decodePersistentVolume(
      parsed(R"({"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},
                 "spec":{"storageClassName":"new"}})"));
  EXPECT_EQ(v.storage_class, "old");
}

TEST(DecodePersistentVolume, TranslatesDisksOfFormerTypes) {
  const auto ebs =
      decodePersistentVolume(parsed(R"({"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"}},
                 "spec":{"awsElasticBlockStore":{"volumeID":"aws://z1/vol-1"}}})"));
  EXPECT_EQ(ebs.migrated.plugin, "kubernetes.io/aws-ebs");
  EXPECT_EQ(ebs.migrated.handle, "vol-1");
  EXPECT_TRUE(ebs.migrated.affinity.is_required);
  EXPECT_EQ(
      ebs.migrated.affinity.terms,
      (std::vector<NodeTerm>{{{{"topology.ebs.csi.aws.com/zone", NodeRequirement::Op::In, {"z1"}}}, {}}}));
  EXPECT_FALSE(ebs.affinity.is_required) << "as it stands it says nothing";
  const auto odd =
      decodePersistentVolume(parsed(R"({"spec":{"awsElasticBlockStore":{"volumeID":"aws://z1/disk"}}})"));
  EXPECT_EQ(odd.migrated.trouble, "awsElasticBlockStore");
  const auto azure =
      decodePersistentVolume(parsed(R"({"spec":{"azureDisk":{"diskURI":"uri","kind":"Dedicated"}}})"));
  EXPECT_EQ(azure.migrated.trouble, "azureDisk");
  EXPECT_EQ(decodePersistentVolume(parsed(R"({"spec":{"nfs":{"path":"/"}}})")).migrated.plugin, "");
}

TEST(DecodePersistentVolumeClaim, ReadsWhatDecides) {
  const auto c = decodePersistentVolumeClaim(parsed(R"({"metadata":{"namespace":"ns","name":"data","uid":"u",
    "resourceVersion":"8","deletionTimestamp":"2026-01-01T00:00:00Z",
    "ownerReferences":[{"uid":"x"},{"uid":"p","controller":true}],
    "annotations":{"volume.kubernetes.io/selected-node":"n","pv.kubernetes.io/bind-completed":"",
      "volume.beta.kubernetes.io/storage-provisioner":"old","volume.kubernetes.io/storage-provisioner":"new"}},
    "spec":{"storageClassName":"fast","accessModes":["ReadWriteOncePod","Strange"],"volumeName":"pv",
      "resources":{"requests":{"storage":"1Gi"}},"selector":{"matchLabels":{"a":"b"}}},
    "status":{"phase":"Lost"}})"));
  EXPECT_EQ(c.key, (model::ObjectKey{"ns", "data"}));
  EXPECT_TRUE(c.deleting);
  EXPECT_TRUE(c.is_lost);
  EXPECT_FALSE(c.is_block);
  EXPECT_TRUE(c.bind_completed);
  EXPECT_TRUE(c.isBound());
  EXPECT_TRUE(model::hasMode(c.modes, AccessMode::ReadWriteOncePod));
  EXPECT_TRUE(model::hasMode(c.modes, AccessMode::Other)) << "which no volume has";
  EXPECT_EQ(c.owner, model::Uid{"p"});
  EXPECT_EQ(c.storage_class, "fast");
  EXPECT_EQ(c.size, (model::Quantity{std::int64_t{1} << 30, 0}));
  ASSERT_TRUE(c.selector);
  EXPECT_TRUE(c.selector->matches(model::Labels{{"a", "b"}}));
  EXPECT_EQ(c.selected_node, model::NodeName{"n"});
  EXPECT_EQ(c.provisioner, "new");
  const auto bare = decodePersistentVolumeClaim(parsed("{}"));
  EXPECT_EQ(bare.size, std::nullopt);
  EXPECT_EQ(bare.selector, std::nullopt);
  EXPECT_EQ(bare.selected_node, std::nullopt);
  EXPECT_FALSE(bare.isBound());
}

TEST(DecodeStorageClass, ReadsWhenAndWhereVolumesAreMade) {
  const auto c = decodeStorageClass(parsed(R"({"metadata":{"name":"fast"},"provisioner":"p",
    "volumeBindingMode":"WaitForFirstConsumer",
    "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["b","a"]}]},{}]})"));
  EXPECT_EQ(c.key.name, "fast");
  EXPECT_EQ(c.provisioner, "p");
  EXPECT_TRUE(c.waits);
  ASSERT_EQ(c.topologies.size(), 2U);
  EXPECT_TRUE(c.topologies[0].matches(model::Labels{{"zone", "a"}}));
  EXPECT_FALSE(c.topologies[0].matches(model::Labels{{"zone", "c"}}));
  EXPECT_TRUE(c.topologies[1].requirements.empty());
  EXPECT_FALSE(decodeStorageClass(parsed(R"({"volumeBindingMode":"Immediate"})")).waits);
}

TEST(DecodeCsi, ReadsNodesDriversCapacitiesAttachments) {
  const auto node = decodeCsiNode(parsed(R"({"metadata":{"name":"n","annotations":{
    "storage.alpha.kubernetes.io/migrated-plugins":"kubernetes.io/gce-pd,,kubernetes.io/aws-ebs"}},
    "spec":{"drivers":[{"name":"d","nodeID":"x","allocatable":{"count":3}},{"name":"e"}]}})"));
  EXPECT_EQ(node.migrated, (std::vector<std::string>{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"}));
  ASSERT_NE(node.find("d"), nullptr);
  EXPECT_EQ(node.find("d")->most, 3);
  EXPECT_EQ(node.find("e")->most, std::nullopt);
  EXPECT_EQ(node.find("f"), nullptr);
  const auto driver =
      decodeCsiDriver(parsed(R"({"spec":{"storageCapacity":true,"preventPodSchedulingIfMissing":true}})"));
  EXPECT_TRUE(driver.tells_capacity);
  EXPECT_TRUE(driver.must_be_installed);
  const auto room = decodeCsiStorageCapacity(parsed(
      R"({"storageClassName":"fast","nodeTopology":{},"capacity":"2Gi","maximumVolumeSize":"1500m"})"));
  EXPECT_EQ(room.most, 2) << "the largest volume counts before the sum, rounded up";
  EXPECT_TRUE(room.nodes && room.nodes->requirements.empty());
  EXPECT_EQ(decodeCsiStorageCapacity(parsed(R"({"capacity":"5"})")).most, 5);
  EXPECT_EQ(decodeCsiStorageCapacity(parsed("{}")).most, std::nullopt);
  EXPECT_EQ(decodeCsiStorageCapacity(parsed("{}")).nodes, std::nullopt);
  const auto attachment = decodeVolumeAttachment(
      parsed(R"({"spec":{"attacher":"d","nodeName":"n","source":{"persistentVolumeName":"pv"}}})"));
  EXPECT_EQ(attachment.attacher, "d");
  EXPECT_EQ(attachment.node, model::NodeName{"n"});
  EXPECT_EQ(attachment.volume, "pv");
}

TEST(StrictSelector, OfWhatCannotBeReadMatchesNothing) {
  EXPECT_EQ(strictSelector(parsed("[]")), std::nullopt);
  for (const char* odd : {R"({"matchExpressions":[{"key":"a","operator":"Strange"}]})",
                          R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
                          R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})"}) {
    const auto selector = strictSelector(parsed(odd));
    ASSERT_TRUE(selector) << odd;
    EXPECT_FALSE(selector->matches(model::Labels{{"a", "b"}})) << odd;
    EXPECT_FALSE(selector->matches(model::Labels{})) << odd;
  }
}

TEST(StrictSelector, AndNodeTermsAreBounded) {
  const std::string values = repeated(R"("v@")", 5000);
  const auto selector = strictSelector(
      parsed(R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":[)" + values + "]}]}"));
  ASSERT_TRUE(selector);
  EXPECT_FALSE(selector->matches(model::Labels{{"a", "w"}}));
  EXPECT_TRUE(nodeTerms(parsed(R"([{"matchExpressions":[{"key":"a","operator":"NotIn","values":[)" + values +
                               "]}]}]"))
                  .empty());
}

TEST(NodeTerms, LeavesOutWhatCannotMatch) {
  const auto terms = nodeTerms(parsed(R"([
    {"matchExpressions":[{"key":"a","operator":"Gt","values":["5"]}]},
    {"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}]},
    {"matchExpressions":[{"key":"a","operator":"Lt","values":["1","2"]}]},
    {"matchExpressions":[{"key":"a","operator":"In"}]},
    {"matchFields":[{"key":"metadata.name","operator":"In","values":["a","b"]}]},
    {"matchFields":[{"key":"metadata.name","operator":"Exists"}]}])"));
  EXPECT_EQ(terms, (std::vector<NodeTerm>{{{{"a", NodeRequirement::Op::Gt, {"5"}}}, {}}}));
}

TEST(DecodePod, ReadsWhatItMounts) {
  const auto pod =
      decodePod(parsed(R"({"metadata":{"namespace":"ns","name":"p"},"spec":{"nodeName":"n","volumes":[
    {"name":"a","persistentVolumeClaim":{"claimName":"data"}},{"name":"b","ephemeral":{"volumeClaimTemplate":{}}},
    {"name":"c","emptyDir":{}},{"name":"d","gcePersistentDisk":{"pdName":"disk","readOnly":true}},
    {"name":"e","rbd":{"pool":"rbd","image":"i","monitors":["m2","m1","m2"]}},
    {"name":"f","iscsi":{"iqn":"q"}},{"name":"g","csi":{"driver":"d"}}]}})"));
  EXPECT_EQ(pod.volume_claims, (std::vector<model::VolumeClaim>{{"data", false}, {"p-b", true}}));
  using Kind = model::InlineDisk::Kind;
  EXPECT_EQ(pod.disks, (std::vector<model::InlineDisk>{{Kind::GcePersistentDisk, "disk", true, {}},
                                                       {Kind::Iscsi, "q", false, {}},
                                                       {Kind::Rbd, "rbd/i", false, {"m1", "m2"}}}))
      << "of bound pods too";
}

/// Pods of a node are compared disk by disk.
TEST(DecodePod, ReadsEachDiskOnce) {
  const auto pod = decodePod(parsed(R"({"spec":{"volumes":[
    {"name":"a","rbd":{"image":"i","monitors":["m2"]}},{"name":"b","rbd":{"image":"i","monitors":["m1"]}},
    {"name":"c","rbd":{"image":"i","readOnly":true,"monitors":["m3"]}},
    {"name":"d","gcePersistentDisk":{"pdName":"disk"}},{"name":"e","gcePersistentDisk":{"pdName":"disk"}}]}})"));
  using Kind = model::InlineDisk::Kind;
  EXPECT_EQ(pod.disks, (std::vector<model::InlineDisk>{{Kind::GcePersistentDisk, "disk", false, {}},
                                                       {Kind::Rbd, "/i", false, {"m1", "m2"}},
                                                       {Kind::Rbd, "/i", true, {"m3"}}}));
}

TEST(DecodePod, WithMoreVolumesThanAnyHasIsRefused) {
  const auto with = [](int n) {
    return decodePod(
        parsed(R"({"spec":{"volumes":[)" + repeated(R"({"name":"v","cinder":{"volumeID":"@"}})", n) + "]}}"));
  };
  EXPECT_EQ(with(256).unsupported, std::vector<std::string>{});
  EXPECT_EQ(with(257).disks.size(), 256U);
  EXPECT_EQ(with(257).unsupported, std::vector<std::string>{"spec.volumes with more than 256 entries"});
}

TEST(DecodePod, WithADiskThatNobodyKnowsIsRefused) {
  const auto pod =
      decodePod(parsed(R"({"spec":{"volumes":[{"name":"a","azureDisk":{"diskURI":"u","kind":"Shared"}}]}})"));
  EXPECT_EQ(pod.unsupported, std::vector<std::string>{"spec.volumes[].azureDisk.kind"});
  EXPECT_TRUE(pod.disks.empty());
}

}  // namespace
}  // namespace gs::kapi
