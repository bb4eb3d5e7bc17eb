// Volumes that are made for claims, on the API server in memory.
#include "sandbox/controllers/controllers_test.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;

class ProvisionerTest : public ControllersTest {
 protected:
  /// A class that waits for a pod, with these parameters.
  void makeWaiting(const std::string& parameters = "{}") {
    makeClass("waits", R"({"volumeBindingMode": "WaitForFirstConsumer", "parameters": )" + parameters + "}");
    makeNode("n1", R"({"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "a"})");
    makeNode("n2", R"({"kubernetes.io/hostname": "n2", "topology.kubernetes.io/zone": "b"})");
    makeClaim("c", "waits");
  }
  Value nodesOf(const std::string& claim) { return get(volumePath(volumeOf(claim)))["spec"]["nodeAffinity"]; }
  static std::string onlyFrom(const std::string& key, const std::string& value) {
    return R"({"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":")" + key +
           R"(","operator":"In","values":[")" + value + R"("]}]}]}})";
  }
};

TEST_F(ProvisionerTest, AClassThatDoesNotWaitGivesAVolumeAtOnce) {
  makeClass("now");
  makeClaim("c", "now");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
  EXPECT_EQ(volumeOf("c"), "pvc-" + uid(claimPath("c")));
  const Value volume = get(volumePath(volumeOf("c")));
  EXPECT_EQ(volume["spec"]["capacity"]["storage"].str(), "1Gi");
  EXPECT_EQ(volume["spec"]["storageClassName"].str(), "now");
  EXPECT_EQ(volume["spec"]["persistentVolumeReclaimPolicy"].str(), "Delete");
  EXPECT_EQ(volume["spec"]["csi"]["driver"].str(), kProvisioner);
  EXPECT_EQ(volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"].str(), kProvisioner);
  EXPECT_TRUE(volume["spec"]["nodeAffinity"].isNull());
  EXPECT_EQ(told("ProvisioningSucceeded"), "Successfully provisioned volume " + volumeOf("c"));
}

TEST_F(ProvisionerTest, OneThatWaitsGivesItWhereThePodIsToRun) {
  makeWaiting();
  run(10s);
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  selectNode("c", "n1");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
  EXPECT_EQ(json::print(nodesOf("c")), onlyFrom("topology.kubernetes.io/zone", "a"));
}

TEST_F(ProvisionerTest, OfANodeWithoutAZoneItIsTheNodesOwn) {
  makeWaiting();
  makeNode("n3", R"({"kubernetes.io/hostname": "host"})");
  selectNode("c", "n3");
  EXPECT_EQ(json::print(nodesOf("c")), onlyFrom("kubernetes.io/hostname", "host"));
}

TEST_F(ProvisionerTest, TopologiesOfTheClassCountWhereNoPodDoes) {
  makeClass("now",
            R"({"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]})");
  makeClaim("c", "now");
  EXPECT_EQ(json::print(nodesOf("c")), onlyFrom("zone", "a"));
}

TEST_F(ProvisionerTest, ItMayBeLate) {
  makeWaiting(R"({"late": "30s"})");
  selectNode("c", "n1");
  run(28s);
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  run(2s);
  EXPECT_EQ(phase(claimPath("c")), "Bound");
}

TEST_F(ProvisionerTest, AnotherNodeIsAnotherBeginning) {
  makeWaiting(R"({"late": "30s"})");
  selectNode("c", "n1");
  run(20s);
  selectNode("c", "n2");
  run(20s);
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  run(11s);
  EXPECT_EQ(json::print(nodesOf("c")), onlyFrom("topology.kubernetes.io/zone", "b"));
}

TEST_F(ProvisionerTest, WhereItFailsTheNodeIsTakenOffTheClaim) {
  makeWaiting(R"({"fails": "2"})");
  for (int times = 1; times <= 2; ++times) {
    selectNode("c", "n1");
    EXPECT_EQ(selectedNode("c"), "") << times;
    EXPECT_EQ(told("ProvisioningFailed"),
              "failed to provision volume with StorageClass \"waits\": the class's parameters say so");
    EXPECT_EQ(phase(claimPath("c")), "Pending");
  }
  selectNode("c", "n1");
  EXPECT_EQ(selectedNode("c"), "n1");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
}

TEST_F(ProvisionerTest, ItMayFailForEver) {
  makeClass("never", R"({"parameters": {"fails": "always"}})");
  makeClaim("c", "never");
  run(5min);
  EXPECT_EQ(phase(claimPath("c")), "Pending");
}

TEST_F(ProvisionerTest, ItMayTakeTheWrongZone) {
  makeWaiting(R"({"zone": "wrong"})");
  selectNode("c", "n1");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
  EXPECT_EQ(json::print(nodesOf("c")), onlyFrom("topology.kubernetes.io/zone", "b"));
}

TEST_F(ProvisionerTest, ANodeThatWentIsTakenOffTheClaim) {
  makeWaiting();
  selectNode("c", "gone");
  EXPECT_EQ(selectedNode("c"), "");
  EXPECT_EQ(told("ProvisioningFailed"), "failed to get target node: node \"gone\" not found");
}

TEST_F(ProvisionerTest, AnotherProvisionersClaimsAreLeftToIt) {
  makeClass("theirs", "{}", "ex.io/disks");
  makeClaim("c", "theirs");
  run(10s);
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  const Value notes = get(claimPath("c"))["metadata"]["annotations"];
  EXPECT_EQ(notes["volume.kubernetes.io/storage-provisioner"].str(), "ex.io/disks");
  EXPECT_EQ(notes["volume.beta.kubernetes.io/storage-provisioner"].str(), "ex.io/disks");
  EXPECT_TRUE(told("ExternalProvisioning").starts_with("Waiting for a volume to be created"));
}

TEST_F(ProvisionerTest, AVolumeGoesWithItsClaimUnlessItIsKept) {
  makeClass("now");
  makeClass("keeps", R"({"reclaimPolicy": "Retain"})");
  makeClaim("c", "now");
  makeClaim("k", "keeps");
  const std::string goes = volumePath(volumeOf("c"));
  const std::string stays = volumePath(volumeOf("k"));
  send("DELETE", claimPath("c"));
  send("DELETE", claimPath("k"));
  EXPECT_FALSE(isThere(goes));
  EXPECT_EQ(phase(stays), "Released");
}

TEST_F(ProvisionerTest, AVolumeThatIsThereIsTakenBeforeOneIsMade) {
  makeClass("now");
  makeVolume("v", "1Gi", "now");
  makeClaim("c", "now");
  EXPECT_EQ(volumeOf("c"), "v");
}

}  // namespace
}  // namespace gs::sandbox::controllers
