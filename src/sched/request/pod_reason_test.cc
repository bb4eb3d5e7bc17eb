#include "sched/request/pod_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gs::sched {
namespace {

TEST(PodReasons, EachHasANameThatAConditionMayHave) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kPodReasons; ++i) {
    const std::string name = nameOf(static_cast<PodReason>(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
              std::string::npos)
        << name;
  }
  EXPECT_STREQ(nameOf(PodReason::Unschedulable), "Unschedulable") << "autoscalers know it by that name";
}

TEST(PodReasons, WhatKeepsAPodFromAllNodesHasOneOfItsOwn) {
  EXPECT_EQ(podReasonOf("ClaimMissing"), PodReason::ClaimNotFound);
  EXPECT_EQ(podReasonOf("Gang"), PodReason::NotSupported);
  EXPECT_EQ(podReasonOf("VolumeClaimUnbound"), PodReason::VolumeNotReady);
  EXPECT_EQ(podReasonOf("VolumesNotBound"), PodReason::VolumeNotReady) << "they were waited for";
  EXPECT_EQ(podReasonOf("ResourceClaimBegun"), PodReason::WaitsForPod);
  EXPECT_EQ(podReasonOf("NoLeaseRecord"), PodReason::SchedulerNotReady);
  EXPECT_EQ(podReasonOf("WriteRefused"), PodReason::SchedulerError);
}

TEST(PodReasons, WhatStandsBehindAColonDoesNotCount) {
  EXPECT_EQ(podReasonOf("Unsupported:spec.x, spec.y"), PodReason::NotSupported);
  EXPECT_EQ(podReasonOf("MayNotList:deviceclasses"), PodReason::SchedulerNotReady);
}

/// As what doors say that a pod has wrong.
TEST(PodReasons, AKindThatTheTableDoesNotKnowAsksForNoNode) {
  EXPECT_EQ(podReasonOf("TwoDoors"), PodReason::InvalidRequest);
  EXPECT_EQ(podReasonOf("OfANewDoor"), PodReason::InvalidRequest);
  EXPECT_EQ(podReasonOf(""), PodReason::InvalidRequest);
  EXPECT_EQ(podReasonOf("Unschedulable"), PodReason::InvalidRequest);
}

}  // namespace
}  // namespace gs::sched
