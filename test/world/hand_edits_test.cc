// What people who may edit pods and leases change by hand frees no GPU that a pod was bound with.
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class HandEdits : public Cluster {
 protected:
  HandEdits() { startOne(); }
};

TEST_F(HandEdits, AChangedAnnotationOfARunningPodFreesNothing) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  for (const json::Value& told : {json::Value{}, json::Value{"node-a:3"}, json::Value{"nonsense"}}) {
    ASSERT_EQ(changeAllocated("p", told), 200);
    world.run(40s);
    const auto lease = world.get(kLeases + "gpu-node-a-0");
    EXPECT_EQ(lease["spec"]["holderIdentity"].str(), uid) << json::print(told);
  }
  EXPECT_TRUE(warned("GpuAnnotationChanged"));
}

TEST_F(HandEdits, AChangedAnnotationAndAMissingLeaseFreeNothing) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  ASSERT_EQ(allocated("p"), "node-b:0,1");
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  const std::string leases = kLeases + "gpu-node-b-";
  for (const json::Value& told : {json::Value{}, json::Value{"node-b:5"}, json::Value{"nonsense"}}) {
    ASSERT_EQ(changeAllocated("p", told), 200);
    world.run(2s);
    ASSERT_EQ(world.request("DELETE", leases + "1").code, 200);
    world.run(40s);
    for (const char* id : {"0", "1"}) {
      EXPECT_EQ(world.get(leases + id)["spec"]["holderIdentity"].str(), uid)
          << json::print(told) << " " << id;
    }
  }
  EXPECT_TRUE(warned("GpuAnnotationChanged"));
}

/// The leader knows what they said, and writes no lease that says nothing.
TEST_F(HandEdits, NoAnnotationAndNoLeaseOfAPodOfANumberFreeNothing) {
  world.create(pod("p", "", 2));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const std::string at = allocated("p");
  ASSERT_EQ(at, "node-b:0,1");
  ASSERT_EQ(changeAllocated("p", {}), 200);
  world.run(2s);
  for (const char* id : {"0", "1"}) {
    ASSERT_EQ(world.request("DELETE", kLeases + "gpu-node-b-" + id).code, 200);
  }
  world.run(40s);
  for (const char* id : {"0", "1"}) {
    const auto lease = world.get(kLeases + "gpu-node-b-" + id);
    EXPECT_EQ(lease["metadata"]["annotations"]["gpu.scheduling/devices"].str(), at) << id;
  }
}

TEST_F(HandEdits, AnAnnotationThatNamesFewerGpusFreesNone) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  for (const json::Value& reservation : {json::Value{"mine"}, json::Value{}}) {
    const auto answer = world.request(
        "PATCH", "/api/v1/namespaces/default/pods/p",
        json::Object{{"metadata", json::Object{{"annotations",
                                                json::Object{{"gpu.scheduling/allocated", "node-b:0"},
                                                             {"gpu.scheduling/reservation", reservation}}}}}},
        "application/merge-patch+json");
    ASSERT_EQ(answer.code, 200);
    world.run(40s);
    const auto lease = world.get(kLeases + "gpu-node-b-1");
    EXPECT_EQ(lease["spec"]["holderIdentity"].str(), uid) << json::print(reservation);
  }
  EXPECT_TRUE(warned("GpuAnnotationChanged"));
}

/// An earlier decision for the same pod, by a leader that was cut off, lands while nobody leads, and the
/// pod's own leases (one, or all of them) are deleted by hand.
class LateLeases : public HandEdits, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(LateLeases, DoNotOutweighWhatThePodWasBoundWith) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  ASSERT_EQ(podObject("p")["metadata"]["annotations"]["gpu.scheduling/allocated"].str(), "node-b:0,1");
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  const std::string leases = kLeases + "gpu-node-b-";
  world.crash(0);
  json::Value late = world.get(leases + "0");
  for (const std::string& id : GetParam()) { ASSERT_EQ(world.request("DELETE", leases + id).code, 200); }
  world.run(2s);
  for (const char* id : {"2", "3"}) {
    json::Value& meta = late.child("metadata");
    meta = json::Object{{"name", std::string{"gpu-node-b-"} + id},
                        {"namespace", "default"},
                        {"labels", meta["labels"]},
                        {"annotations", meta["annotations"]}};
    meta.child("annotations").set("gpu.scheduling/gpu", id);
    meta.child("annotations").set("gpu.scheduling/devices", "node-b:2,3");
    meta.child("annotations").set("gpu.scheduling/reservation", "another");
    world.create(late);
  }
  world.restart(0);
  const auto holder = [&](const char* id) { return world.get(leases + id)["spec"]["holderIdentity"].str(); };
  EXPECT_TRUE(eventually([&] { return holder("1") == uid && holder("2").empty() && holder("3").empty(); }));
  EXPECT_EQ(holder("0"), uid);
  EXPECT_FALSE(warned("GpuAnnotationChanged"));
  expectSettled();
}
INSTANTIATE_TEST_SUITE_P(Deleted, LateLeases,
                         ::testing::Values(std::vector<std::string>{"1"}, std::vector<std::string>{"0"},
                                           std::vector<std::string>{"0", "1"}));

/// The pod's lease is written again as often as it is deleted, and still nothing is freed by an annotation.
TEST_F(HandEdits, AChangedAnnotationFreesNothingAfterTheLeaseWasWrittenAgain) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  const std::string lease = kLeases + "gpu-node-a-0";
  ASSERT_EQ(world.request("DELETE", lease).code, 200);
  ASSERT_TRUE(eventually([&] { return world.get(lease)["spec"]["holderIdentity"].str() == uid; }));
  ASSERT_EQ(changeAllocated("p", "node-a:3"), 200);
  world.run(40s);
  EXPECT_EQ(world.get(lease)["spec"]["holderIdentity"].str(), uid);
  EXPECT_TRUE(warned("GpuAnnotationChanged"));
}

TEST_F(HandEdits, ALeaseOfARunningPodThatNamesAnotherReservationIsWrittenAnew) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  const auto reservation = podObject("p")["metadata"]["annotations"]["gpu.scheduling/reservation"];
  const std::string path = kLeases + "gpu-node-a-0";
  json::Value lease = world.get(path);
  lease.child("metadata").child("annotations").set("gpu.scheduling/reservation", "of-an-adoption");
  ASSERT_EQ(world.request("PUT", path, lease).code, 200);
  EXPECT_TRUE(eventually([&] {
    return world.get(path)["metadata"]["annotations"]["gpu.scheduling/reservation"] == reservation;
  }));
}

TEST_F(HandEdits, WhatAPodWasBoundWithIsKnownByItsReservation) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  const auto reservation = podObject("p")["metadata"]["annotations"]["gpu.scheduling/reservation"];
  EXPECT_FALSE(reservation.str().empty());
  for (const char* id : {"0", "1"}) {
    const auto lease = world.get(kLeases + "gpu-node-b-" + id);
    EXPECT_EQ(lease["metadata"]["annotations"]["gpu.scheduling/reservation"], reservation);
  }
}

}  // namespace
}  // namespace gs::test
