#include "agent/enforced/lease_check.h"

#include <gtest/gtest.h>

#include "agent/enforced/leases_test.h"

namespace gs::agent {
namespace {

class LeaseCheck : public ::testing::Test {
 protected:
  LeaseSays check(const model::Lease& lease, int gpu = 0) const {
    return leaseSays(lease, {node_, {gpu, model::DeviceId::kWhole}, pod_.uid, *saidBy(pod_, node_)});
  }
  [[nodiscard]] std::string why(const model::Lease& lease) const { return check(lease).why; }
  [[nodiscard]] model::ShareHolder holderOf(const model::Pod& pod, const char* reservation) const {
    return {pod.uid, pod.key, 0, 0, model::ReservationId{reservation}, "n:0,1"};
  }

  model::NodeName node_{"n"};
  model::Pod pod_ = podWith("p", "n:0,1", "r1");
  model::Pod other_ = podWith("q", "n:0", "r2");
  FakeLeases leases_;
};

TEST_F(LeaseCheck, ItsOwnOfItsReservationIsFine) {
  model::Lease& lease = leases_.give(0, pod_, "r1", "n:0,1");
  lease.uuid = "GPU-1";
  const LeaseSays says = check(lease);
  EXPECT_TRUE(says.is_its) << says.why;
  EXPECT_FALSE(says.is_shared);
  EXPECT_EQ(says.uuid, "GPU-1");
  EXPECT_FALSE(says.holder);
}

TEST_F(LeaseCheck, AnotherPodsIsSaidWithItsName) {
  const LeaseSays says = check(leases_.give(0, other_, "r2", "n:0"));
  EXPECT_FALSE(says.is_its);
  EXPECT_EQ(says.why,
            "lease leases/gpu-n-0 gives GPU 0 of node n to pod default/q (uid 'uid-q'), and not to this one");
  EXPECT_EQ(says.holder, model::Uid{"uid-q"});
}

/// A pod that was made again has the name of the one before, and another uid.
TEST_F(LeaseCheck, APodOfTheSameNameIsAnotherOne) {
  model::Pod before = pod_;
  before.uid = model::Uid{"uid-before"};
  EXPECT_FALSE(check(leases_.give(0, before, "r1", "n:0,1")).is_its);
}

TEST_F(LeaseCheck, OneOfAnotherReservationLandedLate) {
  EXPECT_EQ(why(leases_.give(0, pod_, "r9", "n:0,1")),
            "lease leases/gpu-n-0 gives it GPU 0 by reservation 'r9', and it was bound with 'r1'");
  pod_.annotations.erase(model::kReservationKey);
  EXPECT_EQ(why(leases_.give(0, pod_, "r9", "n:0,1")), "") << "it says none";
}

TEST_F(LeaseCheck, TheLeaseSaysWhichDevicesTheReservationHas) {
  EXPECT_EQ(why(leases_.give(0, pod_, "r1", "n:0,1,2")),
            "lease leases/gpu-n-0 says that it was given 'n:0,1,2', and its annotation "
            "gpu.scheduling/allocated says 'n:0,1'");
  EXPECT_EQ(why(leases_.give(0, pod_, "r1", "n:1,0")), "") << "in whichever order";
}

TEST_F(LeaseCheck, OneOfAnotherDeviceOrNodeOrOfSomebodyElseIsNone) {
  const char* none = "lease leases/gpu-n-0 is not one of GPU 0 of node n that gpu-scheduler wrote";
  model::Lease lease = leases_.give(0, pod_, "r1", "n:0,1");
  lease.gpu = 1;
  EXPECT_EQ(why(lease), none);
  lease.gpu = 0;
  lease.node = model::NodeName{"m"};
  EXPECT_EQ(why(lease), none);
  lease.node = node_;
  lease.format = 0;
  EXPECT_EQ(why(lease), none);
  EXPECT_FALSE(check(lease).holder) << "who has the device is not said by it";
}

TEST_F(LeaseCheck, ASharedOneNamesItAmongOthers) {
  model::Lease& lease = leases_.share(0, {holderOf(pod_, "r1"), holderOf(other_, "r2")});
  EXPECT_TRUE(check(lease).is_its) << why(lease);
  EXPECT_TRUE(check(lease).is_shared);
  lease.malformed = "holders: of the other one";
  EXPECT_TRUE(check(lease).is_its) << "its own entry is fine";
  lease.holders.front().reservation = model::ReservationId{"r9"};
  EXPECT_FALSE(check(lease).is_its);
  lease.holders.erase(lease.holders.begin());
  const LeaseSays says = check(lease);
  EXPECT_EQ(says.why,
            "lease leases/gpu-n-0 shares GPU 0 of node n among other pods, and does not name this one");
  EXPECT_EQ(says.holder, model::Uid{"uid-q"});
}

TEST_F(LeaseCheck, WhatCannotBeReadIsNotBelieved) {
  model::Lease& lease = leases_.give(0, pod_, "r1", "n:0,1");
  lease.malformed = "annotation gpu.scheduling/pod-uid is missing";
  EXPECT_EQ(why(lease), "lease leases/gpu-n-0 cannot be read: annotation gpu.scheduling/pod-uid is missing");
}

/// While one version replaces the other, both write leases (kapi/lease_format.h).
TEST_F(LeaseCheck, OfAnotherFormatWhatCanBeReadCounts) {
  model::Lease& lease = leases_.give(0, pod_, "", "");
  lease.other_format = true;
  lease.malformed = "format '2' is not this version's";
  EXPECT_TRUE(check(lease).is_its) << why(lease);
  lease.reservation = model::ReservationId{"r9"};
  EXPECT_FALSE(check(lease).is_its);
  lease.reservation = {};
  lease.pod_uid = other_.uid;
  EXPECT_FALSE(check(lease).is_its);
}

// ---- what a pod says

TEST(Said, IsNothingWithoutOurAnnotations) {
  EXPECT_FALSE(saidBy(podWith("p", "", ""), model::NodeName{"n"}));
  const auto count = saidBy(podWith("p", "", "r1"), model::NodeName{"n"});
  ASSERT_TRUE(count);
  EXPECT_TRUE(count->devices.empty());
  EXPECT_EQ(count->mistake, "");
}

TEST(Said, NonsenseIsAMistakeAndNamesNoDevice) {
  const model::NodeName node{"n"};
  for (const char* no : {"m:0", "n:x", "n:", ",", "n:0,-1", "n:1024", "n:3/1"}) {
    const auto said = saidBy(podWith("p", no, "r1"), node);
    ASSERT_TRUE(said) << no;
    EXPECT_NE(said->mistake, "") << no;
    EXPECT_NE(said->mistake.find("gpu.scheduling/allocated"), std::string::npos) << said->mistake;
    EXPECT_TRUE(said->devices.empty()) << no;
  }
  std::string many = "n:0";
  for (int i = 0; i < 5000; ++i) { many += ",0"; }
  EXPECT_NE(saidBy(podWith("p", many, "r1"), node)->mistake, "");
}

TEST(Said, DevicesAreInOrder) {
  const auto said = saidBy(podWith("p", "2, 0", "r1"), model::NodeName{"n"});
  EXPECT_EQ(said->mistake, "");
  ASSERT_EQ(said->devices.size(), 2U);
  EXPECT_EQ(said->devices[0].gpu, 0);
  EXPECT_EQ(said->devices[1].gpu, 2);
}

}  // namespace
}  // namespace gs::agent
