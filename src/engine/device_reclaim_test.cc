#include "engine/device_reclaim.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/deadline_test.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;

/// node-a with two GPUs, watched by an agent that reported once.
class DeviceReclaimTest : public ::testing::Test {
 protected:
  DeviceReclaimTest() {
    ledger.upsertNode(testing::makeNode("node-a"));
    look("t0", {});
    reclaim.agentChanged(node, model::Uid{"agent"}, true, true, now);
  }
  /// The agent looks: `uids` have containers on GPU 0.
  void look(const char* time, std::vector<model::Uid> uids) {
    model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
    s.revision = ++revision;
    s.observed_time = time;
    s.devices[0].in_use_by = std::move(uids);
    ledger.upsertStatus(s);
    reclaim.statusChanged(s, now);
  }
  void end(bool clean) {
    reclaim.ended(pod, node, {0}, clean, now);
    if (const auto number = reclaim.wantsFloor()) { reclaim.setFloor(*number, revision); }
  }
  [[nodiscard]] sched::DeviceUse use() const { return ledger.find(node)->devices.at(0).use(); }
  void pass(Duration by) {
    now += by;
    reclaim.tick(now);
  }

  const model::NodeName node{"node-a"};
  const model::Uid pod{"pod-1"};
  Mono now{1h};
  model::Revision revision = 10;
  sched::Ledger ledger;
  DeviceReclaim reclaim{ledger};
};

TEST_F(DeviceReclaimTest, ACleanEndFreesAtOnce) {
  end(true);
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
  EXPECT_EQ(reclaim.takeFreed(), std::vector{pod});
}

/// A status may name a pod that nobody knows on each of very many devices.
TEST_F(DeviceReclaimTest, ADeviceMoreIsHeldWithoutHoldingAllOthersAgain) {
  constexpr int kDevices = 500;
  look("t1", {pod});
  const std::uint64_t before = reclaim.held();
  for (int id = 0; id < kDevices; ++id) { reclaim.seenUsing(pod, node, id, now); }
  EXPECT_EQ(reclaim.held() - before, std::uint64_t{kDevices});
  for (int id = 0; id < kDevices; ++id) { reclaim.seenUsing(pod, node, id, now); }
  EXPECT_EQ(reclaim.held() - before, std::uint64_t{kDevices}) << "they are held already";
}

TEST_F(DeviceReclaimTest, WhileTheContainerHoldsItTheDeviceDrains) {
  look("t1", {pod});
  end(true);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {pod});
  EXPECT_FALSE(reclaim.reclaimed(pod));
  look("t3", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, OnlyANewLookTakesUsersAway) {
  look("t1", {pod});
  end(true);
  look("t1", {});
  EXPECT_FALSE(reclaim.reclaimed(pod)) << "nobody looked at the containers in between";
  look("t2", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, AForceDeletedPodNeedsTheSecondNewLook) {
  end(false);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t0", {});  // the same look again is not a new one
  look("t1", {});
  EXPECT_FALSE(reclaim.reclaimed(pod));
  look("t2", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

// The watch of statuses may be late: what it brings may have been written before the end.
TEST_F(DeviceReclaimTest, LooksFromBeforeTheEndSayNothing) {
  reclaim.ended(pod, node, {0}, false, now);
  look("t1", {});
  look("t2", {});
  EXPECT_FALSE(reclaim.reclaimed(pod)) << "nobody knows yet when they were written";
  const auto number = reclaim.wantsFloor();
  ASSERT_TRUE(number.has_value());
  reclaim.setFloor(*number, revision + 2);
  EXPECT_EQ(reclaim.wantsFloor(), std::nullopt);
  look("t3", {});
  look("t4", {});
  EXPECT_FALSE(reclaim.reclaimed(pod)) << "these were late";
  look("t5", {});
  look("t6", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, AFloorThatWasAskedForBeforeAnEndIsNotItsOwn) {
  end(false);
  const std::uint64_t earlier = 1;
  const model::Uid other{"pod-2"};
  reclaim.ended(other, node, {1}, false, now);
  reclaim.setFloor(earlier, revision);
  look("t1", {});
  look("t2", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_FALSE(reclaim.reclaimed(other));
  EXPECT_EQ(reclaim.wantsFloor(), 2U);
}

TEST_F(DeviceReclaimTest, ALookThatStillShowsItKeepsItDraining) {
  end(false);
  look("t1", {pod});
  look("t2", {pod});
  look("t3", {pod});
  EXPECT_FALSE(reclaim.reclaimed(pod));
  look("t4", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, TheFirstLookThatWeHearOfMayBeOlderThanTheEnd) {
  sched::Ledger fresh_ledger;
  DeviceReclaim fresh{fresh_ledger};
  fresh_ledger.upsertNode(testing::makeNode("node-a"));
  fresh.agentChanged(node, model::Uid{"agent"}, true, true, now);
  model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
  const auto hears = [&](const char* time) {
    s.revision = ++revision;
    s.observed_time = time;
    fresh_ledger.upsertStatus(s);
    fresh.statusChanged(s, now);
  };
  fresh.setComplete(false, now);
  fresh.ended(pod, node, {0}, false, now);  // pods are listed before statuses
  fresh.setFloor(fresh.wantsFloor().value(), revision);
  hears("t0");
  fresh.setComplete(true, now);
  hears("t1");
  EXPECT_FALSE(fresh.reclaimed(pod));
  hears("t2");
  EXPECT_TRUE(fresh.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, ALateReportOfTerminatedContainersLiftsTheWait) {
  end(false);
  end(true);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, WithoutAnAgentForFiveMinutesItIsFree) {
  end(false);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min + 59s);
  EXPECT_FALSE(reclaim.reclaimed(pod));
  ASSERT_EQ(reclaim.nextDue(), now + 1s);
  pass(1s);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

// Its pod ended, and is deleted later: two events of one agent.
TEST_F(DeviceReclaimTest, AnAgentThatIsSaidToBeAwayAgainIsAwaySinceTheFirstTime) {
  look("t1", {pod});
  end(true);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(1min);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, ADeletedNodeFreesIt) {
  end(false);
  ledger.removeNode(node);
  reclaim.nodeChanged(node, now);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, ADeletedNodeThatComesBackDrainsOn) {
  end(false);
  ledger.removeNode(node);
  reclaim.nodeChanged(node, now);
  pass(4min);
  ledger.upsertNode(testing::makeNode("node-a"));
  reclaim.nodeChanged(node, now);
  EXPECT_FALSE(reclaim.reclaimed(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t1", {});
  look("t2", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, OneThatComesBackLaterIsAnotherMachine) {
  end(false);
  ledger.removeNode(node);
  reclaim.nodeChanged(node, now);
  pass(5min);
  ledger.upsertNode(testing::makeNode("node-a"));
  reclaim.nodeChanged(node, now);
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, AStatusThatComesBackDrainsOn) {
  end(false);
  ledger.removeStatus(node);
  reclaim.statusGone(node, now);
  look("t1", {});
  EXPECT_FALSE(reclaim.reclaimed(pod));
  look("t2", {});
  look("t3", {});
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, OneThatEndsAtANewAgentBringsBackWhoDrainedThere) {
  look("t1", {pod});
  end(false);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min);
  reclaim.statusGone(node, now);
  pass(2min);
  look("t2", {pod});
  EXPECT_TRUE(reclaim.reclaimed(pod)) << "without an agent for so long what it says counts for nothing";
  reclaim.agentChanged(node, model::Uid{"agent"}, true, true, now);
  reclaim.ended(model::Uid{"other"}, node, {1}, true, now);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
}

TEST_F(DeviceReclaimTest, WhoLivesAfterAllDoesNotDrainWhenItsNodeComesBack) {
  end(false);
  ledger.removeNode(node);
  reclaim.nodeChanged(node, now);
  reclaim.lives(pod, node);
  ledger.upsertNode(testing::makeNode("node-a"));
  reclaim.nodeChanged(node, now);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, AHandMadeStatusFreesAtOnce) {
  look("", {});
  end(false);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

/// A node that only a DRA driver speaks of.
class ReclaimByDriver : public DeviceReclaimTest {
 protected:
  ReclaimByDriver() {
    reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
    publishes("");
  }
  void publishes(const char* time) {
    model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
    s.observed_time = time;
    s.enforcement = model::Enforcement::Dra;
    s.dra_resource = model::kNvidiaGpu;
    s.revision = ++revision;
    ledger.upsertStatus(s);
    reclaim.statusChanged(s, now);
  }
};

TEST_F(ReclaimByDriver, AfterAnEndThatIsNotCleanItDrainsForFiveMinutes) {
  pass(1h);
  end(false);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  EXPECT_EQ(reclaim.nextDue(), std::optional{now + kAgentGone});
  pass(kAgentGone - 1s);
  publishes("");
  EXPECT_EQ(use(), sched::DeviceUse::Draining) << "the driver says nothing of containers";
  pass(1s);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
  EXPECT_EQ(reclaim.nextDue(), std::nullopt);
}

// A driver that is being upgraded takes its slices away.
/// Agents know by our annotations who has what: of a pod of another scheduler that has a ResourceClaim they
/// see nothing, so that they do not name it says nothing.
TEST_F(DeviceReclaimTest, WhomAgentsDoNotSeeDrainsForFiveMinutes) {
  for (const bool is_named : {false, true}) {
    model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
    s.dra_resource = model::kNvidiaGpu;
    s.observed_time = is_named ? "n1" : "m1";
    s.revision = ++revision;
    if (is_named) { s.devices[0].in_use_by = {pod}; }
    const auto looks = [&](const char* time) {
      s.observed_time = time;
      s.revision = ++revision;
      ledger.upsertStatus(s);
      reclaim.statusChanged(s, now);
    };
    looks(is_named ? "n2" : "m2");
    reclaim.ended(pod, node, {0}, false, now, 0, false);
    if (const auto number = reclaim.wantsFloor()) { reclaim.setFloor(*number, revision); }
    s.devices[0].in_use_by.clear();
    for (const char* time : {"a", "b", "c"}) { looks(time); }
    EXPECT_EQ(use(), is_named ? sched::DeviceUse::Free : sched::DeviceUse::Draining);
    pass(kAgentGone - 1s);
    EXPECT_EQ(use(), is_named ? sched::DeviceUse::Free : sched::DeviceUse::Draining);
    pass(1s);
    EXPECT_EQ(use(), sched::DeviceUse::Free);
  }
}

TEST_F(ReclaimByDriver, ItDrainsOnThoughTheSlicesVanish) {
  end(false);
  ledger.removeStatus(node);
  reclaim.statusGone(node, now);
  pass(1min);
  publishes("");
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  pass(kAgentGone - 1min);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

// The end was seen first: a new leader lists kinds in whatever order.
TEST_F(ReclaimByDriver, ItDrainsThoughTheDriverIsKnownLater) {
  ledger.removeStatus(node);
  reclaim.statusGone(node, now);
  reclaim.setComplete(false, now);
  end(false);
  publishes("");
  reclaim.setComplete(true, now);
  pass(kAgentGone - 1s);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  pass(1s);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(ReclaimByDriver, AfterACleanEndItIsFree) {
  end(true);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(ReclaimByDriver, ALateReportOfTerminatedContainersFreesIt) {
  end(false);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  end(true);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(ReclaimByDriver, EachWaitsForItself) {
  end(false);
  pass(1min);
  reclaim.ended(model::Uid{"pod-2"}, node, {1}, false, now);
  pass(kAgentGone - 1min);
  EXPECT_TRUE(reclaim.reclaimed(pod));
  EXPECT_FALSE(reclaim.reclaimed(model::Uid{"pod-2"}));
  pass(1min);
  EXPECT_TRUE(reclaim.reclaimed(model::Uid{"pod-2"}));
}

TEST_F(ReclaimByDriver, BesideAnAgentItsLooksCount) {
  reclaim.agentChanged(node, model::Uid{"agent-2"}, true, true, now);
  publishes("t1");
  end(false);
  pass(1min);
  publishes("t2");
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  publishes("t3");
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, ADeletedStatusFreesIt) {
  end(false);
  ledger.removeStatus(node);
  reclaim.statusGone(node, now);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(DeviceReclaimTest, AnAgentNotReadyForAMinuteMakesDevicesUnknown) {
  reclaim.agentChanged(node, model::Uid{"agent"}, true, false, now);
  pass(59s);
  EXPECT_FALSE(ledger.find(node)->agent_stale);
  pass(1s);
  EXPECT_TRUE(ledger.find(node)->agent_stale);
  reclaim.agentChanged(node, model::Uid{"agent"}, true, true, now);
  EXPECT_FALSE(ledger.find(node)->agent_stale);
}

TEST_F(DeviceReclaimTest, AnotherEnforcerLabelEndsNoContainer) {
  look("t1", {pod});
  end(false);
  model::Node labelled = testing::makeNode("node-a");
  labelled.labels["gpu.scheduling/enforcer"] = "kubelet";
  ledger.upsertNode(labelled);
  reclaim.nodeChanged(node, now);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {});
  look("t3", {});
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

class ReclaimAnonymous : public DeviceReclaimTest {
 protected:
  void endOfTwo(bool clean) {
    reclaim.ended(pod, node, {}, clean, now, 2);
    if (const auto number = reclaim.wantsFloor()) { reclaim.setFloor(*number, revision); }
  }
  [[nodiscard]] std::int64_t anonymous() const { return ledger.find(node)->anonymous; }
};

TEST_F(ReclaimAnonymous, DrainsAsACountUntilTheSecondNewLook) {
  endOfTwo(false);
  EXPECT_EQ(anonymous(), 2);
  look("t1", {});
  EXPECT_EQ(anonymous(), 2);
  look("t2", {});
  EXPECT_EQ(anonymous(), 0);
  EXPECT_TRUE(reclaim.reclaimed(pod));
}

TEST_F(ReclaimAnonymous, ACleanEndFreesAtOnce) {
  endOfTwo(true);
  EXPECT_EQ(anonymous(), 0);
}

TEST_F(ReclaimAnonymous, WhatTheAgentSeesIsOneLessOfThem) {
  endOfTwo(false);
  look("t1", {pod});
  reclaim.ended(pod, node, {0}, true, now);  // as the engine does for users that it does not know
  EXPECT_EQ(anonymous(), 1);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {});
  EXPECT_EQ(anonymous(), 0);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DeviceReclaimTest, ADeviceThatIsRenumberedDrainsUnderItsNewId) {
  reclaim.ended(pod, node, {0}, false, now);
  model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
  std::swap(s.devices[0].uuid, s.devices[1].uuid);
  s.revision = ++revision;
  s.observed_time = "t0";
  ledger.upsertStatus(s);
  reclaim.statusChanged(s, now);
  EXPECT_EQ(ledger.find(node)->devices.at(0).use(), sched::DeviceUse::Draining);
  EXPECT_EQ(ledger.find(node)->devices.at(1).use(), sched::DeviceUse::Draining);
  pass(1h);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(kAgentGone);
  EXPECT_EQ(ledger.find(node)->devices.at(1).use(), sched::DeviceUse::Free);
}

/// Nodes come and go all day, their agent's pod last.
TEST_F(DeviceReclaimTest, NothingIsKeptOfANodeThatWent) {
  const auto before = reclaim.remembered();
  for (int i = 0; i < 100; ++i) {
    const model::NodeName name{"node-" + std::to_string(i)};
    const model::Uid agent{"agent-" + std::to_string(i)};
    ledger.upsertNode(testing::makeNode(name.text.c_str()));
    reclaim.nodeChanged(name, now);
    reclaim.agentChanged(name, agent, true, true, now);
    model::GpuNodeStatus s = testing::makeStatus(name.text.c_str(), 2);
    ledger.upsertStatus(s);
    reclaim.statusChanged(s, now);
    ledger.removeNode(name);
    reclaim.nodeChanged(name, now);
    ledger.removeStatus(name);
    reclaim.statusGone(name, now);
    reclaim.agentChanged(name, agent, false, false, now);
    pass(kAgentGone);
  }
  EXPECT_LE(reclaim.remembered(), before + 1);
}

/// Some kind can't be listed for five minutes (403, say), a pod ended meanwhile, and no agent is there:
/// tick() goes over what it cannot free.
TEST_F(DeviceReclaimTest, TickEndsThoughNothingMayBeFreedYet) {
  reclaim.setComplete(false, now);
  reclaim.agentChanged(node, model::Uid{"agent"}, false, false, now);
  end(true);
  EXPECT_EXIT(
      {
        const Deadline deadline{"the tick ends"};
        pass(6min);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

/// Looks from before the end, that the watch brings late: one names the pod, the next does not (its container
/// was between two runs).
TEST_F(DeviceReclaimTest, ALateLookThatNamesThePodMakesItsEndNotClean) {
  look("t1", {pod});
  revision += 2;  // t2 and t3 are written, and their events are late
  end(false);
  revision -= 2;
  look("t2", {pod});
  reclaim.seenUsing(pod, node, 0, now);
  look("t3", {});
  EXPECT_FALSE(reclaim.reclaimed(pod)) << "no look was written after the end";
}

/// Where GpuNodeStatus is not served nothing drains, and its list need not be asked for.
TEST_F(DeviceReclaimTest, NobodyAsksForTheRevisionOfAnEndThatWaitsForNothing) {
  const model::NodeName other{"node-b"};
  ledger.upsertNode(testing::makeNode("node-b"));
  reclaim.ended(pod, other, {0}, false, now);
  ASSERT_TRUE(reclaim.reclaimed(pod));
  EXPECT_EQ(reclaim.wantsFloor(), std::nullopt);
}

}  // namespace
}  // namespace gs::engine
