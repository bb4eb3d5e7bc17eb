// What is held while a DRA driver is away, and by pods whose claims went before them.
#include "engine/dra_nodes_hand_test.h"

namespace gs::engine {
namespace {

using model::Health;

// ---- a driver that is away: every start of a kubelet takes the slices of its node away

TEST_F(DraNodes, WithoutItsSlicesItIsItsDriversAndGivesNothing) {
  for (const bool with_agent : {false, true}) {
    if (with_agent) { statusComes(saysDra("t1")); }
    sliceComes(slice("node-d", {gpu(0), gpu(1)}));
    sliceGoes("node-d");
    for (const char* when : {"at once", "after an hour"}) {
      EXPECT_EQ(node().dra_resource, "nvidia.com/gpu") << when;
      ASSERT_EQ(node().whole, 2) << when;
      EXPECT_EQ(node().free_devices, 0) << when;
      EXPECT_EQ(health(1), Health::Unhealthy);
      EXPECT_EQ(node().device(1)->facts.health_reason, "gpu.nvidia.com publishes no GPUs of the node now");
      EXPECT_EQ(node().device(1)->facts.dra.device, "gpu-1");
      EXPECT_EQ(node().device(1)->facts.uuid, "GPU-d-1");
      passes(1h);
    }
    sliceComes(slice("node-d", {gpu(0), gpu(1)}));
    EXPECT_EQ(node().free_devices, 2);
    EXPECT_EQ(health(1), Health::Healthy);
  }
}

/// Pools of two slices lose one after the other.
TEST_F(DraNodes, AndSoWhileAPoolIsNotWhole) {
  auto half = slice("node-d", {gpu(0)});
  half.slices = 2;
  auto other = half;
  other.key.name = "slice-other";
  other.devices = {gpu(1)};
  sliceComes(half);
  EXPECT_EQ(node().free_devices, 0);
  sliceComes(other);
  ASSERT_EQ(node().free_devices, 2);
  engine.apply({kapi::kResourceSlice, other.key, {}, {}, ++revision}, now);
  EXPECT_EQ(node().free_devices, 0);
  EXPECT_EQ(node().device(1)->facts.dra.device, "gpu-1") << "what it had is known";
  sliceGoes("node-d");
  EXPECT_EQ(node().free_devices, 0);
  EXPECT_EQ(node().device(1)->facts.dra.device, "gpu-1");
}

/// Whoever starts to lead then has not seen the slices.
TEST_F(DraNodes, WhatGpuNodeStatusesSayIsEnough) {
  for (const char* observed : {"", "t1"}) {
    const auto status = saysDra(observed);
    statusComes(status);
    EXPECT_EQ(node().dra_resource, "nvidia.com/gpu");
    EXPECT_EQ(node().free_devices, 0);
    sliceComes(slice("node-d", {gpu(0), gpu(1)}));
    EXPECT_EQ(node().free_devices, 2);
    sliceGoes("node-d");
    EXPECT_EQ(node().dra_resource, "nvidia.com/gpu");
    statusDeleted(status);
    EXPECT_EQ(node().dra_resource, "") << "somebody took the word away";
  }
  auto by_hand = saysDra("");
  by_hand.writer = model::Writer::Unsaid;
  statusComes(by_hand);
  EXPECT_EQ(node().dra_resource, "") << "nobody of ours wrote it";
}

TEST_F(DraNodes, ADevicePluginTakesItsPlaceOnceNobodyHasDevicesOfIt) {
  const auto pod = PodBuilder("p").on("node-d");
  comes(pod);
  statusComes(saysDra("t1"));
  for (const bool knows_names : {true, false}) {
    if (knows_names) { sliceComes(slice("node-d", {gpu(0), gpu(1)})); }
    const auto claim = claimed(1, pod);
    claimComes(claim);
    sliceGoes("node-d");
    nodeOffers(2);
    EXPECT_EQ(node().dra_resource, "nvidia.com/gpu") << "p has one of them";
    EXPECT_EQ(node().free_devices, 0);
    auto empty = claim;
    empty.revision = ++revision;
    empty.allocated = false;
    empty.results.clear();
    empty.reserved_for.clear();
    goes(pod);
    claimComes(empty);
    passes(1min);
    passes(1s);
    EXPECT_EQ(node().dra_resource, "");
    nodeOffers(0);
    EXPECT_EQ(node().dra_resource, "nvidia.com/gpu") << "the status says dra until somebody writes it";
  }
}

TEST_F(DraNodes, OfANodeThatWentItIsForgottenInTheEnd) {
  sliceComes(slice("node-d", {gpu(0)}));
  engine.apply({kapi::kNode, {"", "node-d"}, {}, {}, ++revision}, now);
  sliceGoes("node-d");
  nodeComes("node-d");
  EXPECT_EQ(node().dra_resource, "nvidia.com/gpu") << "its kubelet registered it anew";
  passes(1h);
  passes(1s);
  engine.apply({kapi::kNode, {"", "node-d"}, {}, {}, ++revision}, now);
  for (int i = 0; i < 4; ++i) { passes(1min); }
  passes(1s);
  EXPECT_TRUE(engine.nodeDevices().isAway(kDraNode)) << "it counts from when the Node went";
  for (int i = 0; i < 3; ++i) { passes(1min); }
  passes(1s);
  EXPECT_FALSE(engine.nodeDevices().isAway(kDraNode));
}

/// Whoever starts to lead meanwhile does not know which driver it was: a plugin of any of them will do.
TEST_F(DraNodes, APluginOfAnotherDriverTakesItsPlaceWhereNobodyKnowsWhichItWas) {
  statusComes(saysDra("t1"));
  ASSERT_EQ(node().dra_resource, "nvidia.com/gpu");
  model::Node amd = testing::makeNode("node-d");
  amd.revision = ++revision;
  amd.allocatable.extended["amd.com/gpu"] = 2;
  engine.apply({kapi::kNode, {"", "node-d"}, {}, shared(amd), amd.revision}, now);
  EXPECT_EQ(node().dra_resource, "");
}

/// Access for whoever watches over devices is none that holds them.
TEST_F(DraNodes, AClaimForAdminsKeepsNoPluginAway) {
  const auto pod = PodBuilder("monitor").on("node-d").running();
  comes(pod);
  statusComes(saysDra("t1"));
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  auto claim = claimed(1, pod);
  claim.results.front().admin = true;
  claimComes(claim);
  sliceGoes("node-d");
  nodeOffers(2);
  EXPECT_EQ(node().dra_resource, "");
}

/// Nobody says what its containers do, and what is on the node is the driver's all the same.
TEST_F(DraNodes, WhoIsDeletedByForceWhileTheDriverIsAwayKeepsItsGpus) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  const auto pod = PodBuilder("p").on("node-d");
  comes(pod);
  claimComes(claimed(1, pod));
  sliceGoes("node-d");
  EXPECT_EQ(node().device(1)->holders.size(), 1U);
  goes(pod);
  claimGoes(claimed(1, pod));
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  EXPECT_EQ(node().free_devices, 1);
  passes(kAgentGone + 1s);
  EXPECT_EQ(node().free_devices, 2);
}

// ---- claims that go before their pods

TEST_F(DraNodes, ARunningPodHasWhatItsClaimGaveItThoughThatGoes) {
  for (const bool is_deleted : {true, false}) {
    sliceComes(slice("node-d", {gpu(0), gpu(1)}));
    const auto pod = PodBuilder(is_deleted ? "p" : "q").on("node-d").running();
    comes(pod);
    const auto claim = claimed(1, pod);
    claimComes(claim);
    ASSERT_EQ(node().free_devices, 1);
    if (is_deleted) {
      claimGoes(claim);
    } else {
      auto empty = claim;
      empty.revision = ++revision;
      empty.allocated = false;
      empty.results.clear();
      claimComes(empty);
    }
    EXPECT_EQ(node().free_devices, 1) << "its containers run on";
    auto later = PodBuilder(pod);
    later.revision(++revision);
    comes(later);
    EXPECT_EQ(node().free_devices, 1) << "whatever becomes of the pod";
    goes(later);
    EXPECT_EQ(node().free_devices, 1) << "nobody says that they ended";
    passes(kAgentGone + 1s);
    EXPECT_EQ(node().free_devices, 2);
  }
}

/// Two watches: that of pods is the busier one.
TEST_F(DraNodes, SoItIsWhereTheBindingIsSeenLater) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  auto pod = PodBuilder("p");
  comes(pod);
  const auto claim = claimed(1, pod);
  claimComes(claim);
  claimGoes(claim);
  EXPECT_EQ(node().free_devices, 2) << "it waits, so it has nothing";
  pod.on("node-d").revision(++revision);
  comes(pod);
  EXPECT_EQ(node().free_devices, 1);
  goes(pod);
  EXPECT_EQ(node().free_devices, 1);
}

TEST_F(DraNodes, WhatCameToNothingBeforeIsNotHeld) {
  sliceComes(slice("node-d", {gpu(0), gpu(1), gpu(2)}));
  auto pod = PodBuilder("p");
  comes(pod);
  claimComes(claimed(1, pod));
  auto empty = claimed(1, pod);
  empty.allocated = false;
  empty.results.clear();
  empty.reserved_for.clear();
  claimComes(empty);
  claimComes(claimed(2, pod));
  pod.on("node-d").revision(++revision);
  comes(pod);
  EXPECT_EQ(node().free_devices, 2);
  EXPECT_EQ(node().device(1)->holders.size(), 0U);
}

/// A leader that starts after a pod was deleted by force finds its claim, and nothing else.
TEST_F(DraNodes, WhatAClaimGaveAPodThatNobodySawDrains) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  const auto pod = PodBuilder("p").on("node-d");
  const auto claim = claimed(1, pod);
  claimComes(claim);
  claimGoes(claim);
  EXPECT_EQ(node().free_devices, 1);
  passes(kAgentGone + 1s);
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(DraNodes, AndIsHeldFromThenOnIfItIsSeenToLive) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  const auto pod = PodBuilder("p").on("node-d").running();
  const auto claim = claimed(1, pod);
  claimComes(claim);
  claimGoes(claim);
  comes(pod);
  passes(kAgentGone + 1s);
  EXPECT_EQ(node().free_devices, 1);
}

/// All containers are reported terminated: nothing is waited for.
TEST_F(DraNodes, WhatAPodThatEndedHadIsFreeWithIt) {
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  auto pod = PodBuilder("p").on("node-d").running();
  comes(pod);
  const auto claim = claimed(1, pod);
  claimComes(claim);
  claimGoes(claim);
  pod.phase(model::PodPhase::Succeeded).terminated().revision(++revision);
  comes(pod);
  EXPECT_EQ(node().free_devices, 2);
}

/// It names its claims, so GPUs are what it may use.
TEST_F(DraNodes, WhatTheAgentSeesAPodOfClaimsUseIsIts) {
  comes(PodBuilder("p").on("node-d").resourceClaim("c").running());
  auto status = saysDra("t1");
  status.devices[1].in_use_by = {model::Uid{"uid-p"}};
  statusComes(status);
  sliceComes(slice("node-d", {gpu(0), gpu(1)}));
  EXPECT_EQ(node().free_devices, 1);
}

}  // namespace
}  // namespace gs::engine
