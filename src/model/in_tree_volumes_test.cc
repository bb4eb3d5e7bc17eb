#include "model/in_tree_volumes.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

using NodeOp = NodeRequirement::Op;

VolumeAffinity oneTerm(std::vector<NodeRequirement> labels) { return {true, {{std::move(labels), {}}}}; }

TEST(InTreeVolumes, AreKnownByPluginAndByField) {
  ASSERT_NE(inTreePlugin("kubernetes.io/gce-pd"), nullptr);
  EXPECT_STREQ(inTreePlugin("kubernetes.io/gce-pd")->driver, "pd.csi.storage.gke.io");
  EXPECT_EQ(inTreePluginOf("gcePersistentDisk"), inTreePlugin("kubernetes.io/gce-pd"));
  EXPECT_FALSE(inTreePlugin("kubernetes.io/vsphere-volume")->is_counted);
  EXPECT_EQ(inTreePlugin("kubernetes.io/nfs"), nullptr);
  EXPECT_EQ(inTreePlugin(""), nullptr);
}

TEST(InTreeVolumes, EbsHandles) {
  EXPECT_EQ(ebsHandle("vol-1"), "vol-1");
  EXPECT_EQ(ebsHandle("aws://us-east-1a/vol-1"), "vol-1");
  EXPECT_EQ(ebsHandle("aws:///vol-1"), "vol-1");
  EXPECT_EQ(ebsHandle("aws://us-east-1a/disk-1"), std::nullopt);
  EXPECT_EQ(ebsHandle("aws://us-east-1a"), std::nullopt);
  EXPECT_EQ(ebsHandle("aws://a/vol-1/x"), std::nullopt);
}

TEST(InTreeVolumes, GceHandles) {
  EXPECT_EQ(gceHandle("d"), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  EXPECT_EQ(gceHandle("d", {}), gceHandle("d"));
  EXPECT_EQ(gceHandle("d", {{kZoneLabel, "us-central1-a"}}),
            "projects/UNSPECIFIED/zones/us-central1-a/disks/d");
  EXPECT_EQ(gceHandle("d", {{kZoneLabel, "x-y-z"}, {kBetaZoneLabel, "us-central1-a__us-central1-b"}}),
            "projects/UNSPECIFIED/regions/us-central1/disks/d");
  EXPECT_EQ(gceHandle("d", {{kZoneLabel, "us-central1-a__eu-west1-b"}}), std::nullopt);
  EXPECT_EQ(gceHandle("d", {{kZoneLabel, "here__there"}}), std::nullopt);
}

TEST(InTreeVolumes, LabelZones) {
  EXPECT_EQ(labelZones("b__ a"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(labelZones("a__").empty());
  EXPECT_TRUE(labelZones("").empty());
}

TEST(InTreeVolumes, AffinityIsByTheDriversKey) {
  const InTreePlugin& gce = *inTreePlugin("kubernetes.io/gce-pd");
  const NodeRequirement by_driver{"topology.gke.io/zone", NodeOp::In, {"a"}};
  EXPECT_EQ(migratedAffinity(gce, oneTerm({{kZoneLabel, NodeOp::In, {"a"}}}), {}), oneTerm({by_driver}));
  EXPECT_EQ(
      migratedAffinity(
          gce, oneTerm({{kBetaZoneLabel, NodeOp::In, {"a"}}, {kBetaRegionLabel, NodeOp::In, {"r"}}}), {}),
      oneTerm({by_driver, {kRegionLabel, NodeOp::In, {"r"}}}));
  EXPECT_EQ(migratedAffinity(gce, {}, {{kZoneLabel, "a"}}), oneTerm({by_driver}));
  EXPECT_EQ(migratedAffinity(gce, oneTerm({{"x", NodeOp::Exists, {}}}), {{kBetaZoneLabel, "a"}}),
            oneTerm({by_driver, {"x", NodeOp::Exists, {}}}));
  EXPECT_EQ(migratedAffinity(gce, oneTerm({{kZoneLabel, NodeOp::In, {"a"}}}), {{kZoneLabel, "b"}}),
            oneTerm({by_driver}))
      << "what the affinity says counts before the labels";
  const InTreePlugin& azure = *inTreePlugin("kubernetes.io/azure-disk");
  EXPECT_EQ(migratedAffinity(azure, oneTerm({{kZoneLabel, NodeOp::In, {"a"}}}), {}),
            oneTerm({{kZoneLabel, NodeOp::In, {"a"}}}));
}

}  // namespace
}  // namespace gs::model
