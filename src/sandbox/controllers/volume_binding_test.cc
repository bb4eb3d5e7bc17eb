// Which volume a claim gets, on the API server in memory.
#include "sandbox/controllers/controllers_test.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kWaits = R"({"volumeBindingMode": "WaitForFirstConsumer"})";

class VolumeBindingTest : public ControllersTest {};

TEST_F(VolumeBindingTest, TheSmallestVolumeThatIsLargeEnoughIsTaken) {
  makeVolume("a-large", "50Gi", "");
  makeVolume("b-small", "1Gi", "");
  makeVolume("c-right", "5Gi", "");
  makeVolume("d-other", "3Gi", "other");
  makeClaim("c", "", R"({"resources": {"requests": {"storage": "3Gi"}}})");
  EXPECT_EQ(volumeOf("c"), "c-right");
  const Value claim = get(claimPath("c"));
  EXPECT_EQ(claim["status"]["phase"].str(), "Bound");
  EXPECT_EQ(claim["status"]["capacity"]["storage"].str(), "5Gi");
  EXPECT_EQ(
      claim["metadata"]["annotations"],
      read(R"({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"})"));
  const Value volume = get(volumePath("c-right"));
  EXPECT_EQ(volume["status"]["phase"].str(), "Bound");
  EXPECT_EQ(volume["spec"]["claimRef"]["uid"].str(), uid(claimPath("c")));
  EXPECT_EQ(volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"].str(), "yes");
  EXPECT_EQ(phase(volumePath("b-small")), "Available");
}

TEST_F(VolumeBindingTest, OneThatCanNoMoreThanIsAskedComesFirst) {
  makeVolume("a", "1Gi", "", R"({"accessModes": ["ReadWriteOnce", "ReadOnlyMany"]})");
  makeVolume("b", "9Gi", "");
  makeVolume("c", "1Gi", "", R"({"accessModes": ["ReadOnlyMany"]})");
  makeVolume("d", "1Gi", "", R"({"volumeMode": "Block"})");
  makeClaim("c", "");
  EXPECT_EQ(volumeOf("c"), "b");
}

TEST_F(VolumeBindingTest, ASelectorCounts) {
  makeVolume("a", "1Gi", "");
  makeVolume("b", "1Gi", "");
  merge(volumePath("b"), R"({"metadata": {"labels": {"disk": "fast"}}})");
  makeClaim("c", "", R"({"selector": {"matchLabels": {"disk": "fast"}}})");
  EXPECT_EQ(volumeOf("c"), "b");
}

TEST_F(VolumeBindingTest, AVolumeThatComesLaterIsTakenThen) {
  makeClaim("c", "");
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  EXPECT_EQ(told("FailedBinding"),
            "no persistent volumes available for this claim and no storage class is set");
  makeVolume("v", "1Gi", "");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
}

TEST_F(VolumeBindingTest, TwoClaimsDoNotGetOneVolume) {
  makeClaim("c", "");
  makeClaim("d", "");
  makeVolume("v", "1Gi", "");
  EXPECT_EQ(volumeOf("c"), "v");
  EXPECT_EQ(volumeOf("d"), "");
  EXPECT_EQ(phase(claimPath("d")), "Pending");
}

TEST_F(VolumeBindingTest, AClassThatWaitsForAPodIsLeftToTheScheduler) {
  makeClass("local", kWaits, "kubernetes.io/no-provisioner");
  makeVolume("v", "1Gi", "local");
  makeClaim("c", "local");
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  EXPECT_EQ(told("WaitForFirstConsumer"), "waiting for first consumer to be created before binding");
  make("/api/v1/namespaces/default/pods",
       R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "i"}],
           "volumes": [{"name": "k", "persistentVolumeClaim": {"claimName": "c"}}]}})");
  EXPECT_EQ(told("WaitForPodScheduled"), "waiting for pod p to be scheduled");
  Value volume = get(volumePath("v"));
  volume.child("spec").set("claimRef", json::Object{{"kind", "PersistentVolumeClaim"},
                                                    {"namespace", "default"},
                                                    {"name", "c"},
                                                    {"uid", uid(claimPath("c"))}});
  volume.child("metadata").child("annotations").set("pv.kubernetes.io/bound-by-controller", "yes");
  send("PUT", volumePath("v"), std::move(volume));
  EXPECT_EQ(phase(claimPath("c")), "Bound");
  EXPECT_EQ(volumeOf("c"), "v");
}

TEST_F(VolumeBindingTest, ANamedVolumeThatDoesNotServeIsNotTaken) {
  makeVolume("v", "1Gi", "");
  makeClaim("c", "", R"({"volumeName": "v", "resources": {"requests": {"storage": "2Gi"}}})");
  EXPECT_EQ(phase(claimPath("c")), "Pending");
  EXPECT_EQ(phase(volumePath("v")), "Available");
  EXPECT_EQ(told("VolumeMismatch"), R"(Cannot bind to requested volume "v": requested PV is too small)");
  makeVolume("w", "1Gi", "", R"({"claimRef": {"namespace": "default", "name": "another"}})");
  makeClaim("d", "", R"({"volumeName": "w"})");
  EXPECT_EQ(told("FailedBinding"), R"(volume "w" already bound to a different claim.)");
}

TEST_F(VolumeBindingTest, AVolumeThatWasChosenForAClaimWithAnotherOneIsFreeAgain) {
  makeClass("local", kWaits, "kubernetes.io/no-provisioner");
  makeClaim("c", "local");
  const auto makeFor = [&](const std::string& name, const std::string& notes) {
    Value made = read(R"({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
        "storageClassName": "local", "csi": {"driver": "d", "volumeHandle": "h"}}})");
    made.set("metadata", json::Object{{"name", name}, {"annotations", read(notes)}});
    made.child("spec").set(
        "claimRef", json::Object{{"namespace", "default"}, {"name", "c"}, {"uid", uid(claimPath("c"))}});
    send("POST", "/api/v1/persistentvolumes", std::move(made));
  };
  makeFor("a", "{}");
  EXPECT_EQ(volumeOf("c"), "a");
  makeFor("by-the-controller", R"({"pv.kubernetes.io/bound-by-controller": "yes"})");
  EXPECT_TRUE(get(volumePath("by-the-controller"))["spec"]["claimRef"].isNull());
  EXPECT_EQ(phase(volumePath("by-the-controller")), "Available");
  makeFor("by-the-user", "{}");
  EXPECT_EQ(get(volumePath("by-the-user"))["spec"]["claimRef"]["name"].str(), "c")
      << "it is kept for that name";
  EXPECT_EQ(get(volumePath("by-the-user"))["spec"]["claimRef"]["uid"].str(), "");
  EXPECT_EQ(volumeOf("c"), "a");
}

TEST_F(VolumeBindingTest, ADefaultClassThatComesLateIsForClaimsWithoutOne) {
  makeClaim("c", Value{});
  makeClaim("none", "");
  EXPECT_TRUE(get(claimPath("c"))["spec"]["storageClassName"].isNull());
  makeClass("standard",
            R"({"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})");
  EXPECT_EQ(get(claimPath("c"))["spec"]["storageClassName"].str(), "standard");
  EXPECT_EQ(phase(claimPath("c")), "Bound");
  EXPECT_EQ(phase(claimPath("none")), "Pending") << "it wants none";
  makeClaim("next", Value{});
  EXPECT_EQ(phase(claimPath("next")), "Bound");
}

TEST_F(VolumeBindingTest, AClassThatIsNotThereIsSaid) {
  makeClaim("c", "gone");
  EXPECT_EQ(told("ProvisioningFailed"), "storageclass.storage.k8s.io \"gone\" not found");
}

}  // namespace
}  // namespace gs::sandbox::controllers
