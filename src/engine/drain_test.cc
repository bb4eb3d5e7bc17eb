#include "engine/drain.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/deadline_test.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;

/// node-a with two GPUs, watched by an agent that reported once.
class DrainTest : public ::testing::Test {
 protected:
  DrainTest() {
    ledger.upsertNode(testing::makeNode("node-a"));
    look("t0", {});
    drain.agentChanged(node, model::Uid{"agent"}, true, true, now);
  }
  /// The agent looks: `uids` have containers on GPU 0.
  void look(const char* time, std::vector<model::Uid> uids) {
    model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
    s.revision = ++revision;
    s.observed_time = time;
    s.devices[0].in_use_by = std::move(uids);
    ledger.upsertStatus(s);
    drain.statusChanged(s, now);
  }
  void end(bool clean) {
    drain.ended(pod, node, {0}, clean, now);
    if (const auto number = drain.wantsFloor()) { drain.setFloor(*number, revision); }
  }
  [[nodiscard]] sched::DeviceUse use() const { return ledger.find(node)->devices.at(0).use(); }
  void pass(Duration by) {
    now += by;
    drain.tick(now);
  }

  const model::NodeName node{"node-a"};
  const model::Uid pod{"pod-1"};
  Mono now{1h};
  model::Revision revision = 10;
  sched::Ledger ledger;
  Drain drain{ledger};
};

TEST_F(DrainTest, ACleanEndFreesAtOnce) {
  end(true);
  EXPECT_TRUE(drain.drained(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
  EXPECT_EQ(drain.takeFreed(), std::vector{pod});
}

TEST_F(DrainTest, WhileTheContainerHoldsItTheDeviceDrains) {
  look("t1", {pod});
  end(true);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {pod});
  EXPECT_FALSE(drain.drained(pod));
  look("t3", {});
  EXPECT_TRUE(drain.drained(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DrainTest, AForceDeletedPodNeedsTheSecondNewLook) {
  end(false);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t0", {});  // the same look again is not a new one
  look("t1", {});
  EXPECT_FALSE(drain.drained(pod));
  look("t2", {});
  EXPECT_TRUE(drain.drained(pod));
}

// The watch of statuses may be late: what it brings may have been written before the end.
TEST_F(DrainTest, LooksFromBeforeTheEndSayNothing) {
  drain.ended(pod, node, {0}, false, now);
  look("t1", {});
  look("t2", {});
  EXPECT_FALSE(drain.drained(pod)) << "nobody knows yet when they were written";
  const auto number = drain.wantsFloor();
  ASSERT_TRUE(number.has_value());
  drain.setFloor(*number, revision + 2);
  EXPECT_EQ(drain.wantsFloor(), std::nullopt);
  look("t3", {});
  look("t4", {});
  EXPECT_FALSE(drain.drained(pod)) << "these were late";
  look("t5", {});
  look("t6", {});
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, AFloorThatWasAskedForBeforeAnEndIsNotItsOwn) {
  end(false);
  const std::uint64_t earlier = 1;
  const model::Uid other{"pod-2"};
  drain.ended(other, node, {1}, false, now);
  drain.setFloor(earlier, revision);
  look("t1", {});
  look("t2", {});
  EXPECT_TRUE(drain.drained(pod));
  EXPECT_FALSE(drain.drained(other));
  EXPECT_EQ(drain.wantsFloor(), 2U);
}

TEST_F(DrainTest, ALookThatStillShowsItKeepsItDraining) {
  end(false);
  look("t1", {pod});
  look("t2", {pod});
  look("t3", {pod});
  EXPECT_FALSE(drain.drained(pod));
  look("t4", {});
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, TheFirstLookThatWeHearOfMayBeOlderThanTheEnd) {
  sched::Ledger fresh_ledger;
  Drain fresh{fresh_ledger};
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
  EXPECT_FALSE(fresh.drained(pod));
  hears("t2");
  EXPECT_TRUE(fresh.drained(pod));
}

TEST_F(DrainTest, ALateReportOfTerminatedContainersLiftsTheWait) {
  end(false);
  end(true);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, WithoutAnAgentForFiveMinutesItIsFree) {
  end(false);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min + 59s);
  EXPECT_FALSE(drain.drained(pod));
  ASSERT_EQ(drain.nextDue(), now + 1s);
  pass(1s);
  EXPECT_TRUE(drain.drained(pod));
}

// Its pod ended, and is deleted later: two events of one agent.
TEST_F(DrainTest, AnAgentThatIsSaidToBeAwayAgainIsAwaySinceTheFirstTime) {
  look("t1", {pod});
  end(true);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(1min);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DrainTest, ADeletedNodeFreesIt) {
  end(false);
  ledger.removeNode(node);
  drain.nodeChanged(node, now);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, ADeletedNodeThatComesBackDrainsOn) {
  end(false);
  ledger.removeNode(node);
  drain.nodeChanged(node, now);
  pass(4min);
  ledger.upsertNode(testing::makeNode("node-a"));
  drain.nodeChanged(node, now);
  EXPECT_FALSE(drain.drained(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t1", {});
  look("t2", {});
  EXPECT_TRUE(drain.drained(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DrainTest, OneThatComesBackLaterIsAnotherMachine) {
  end(false);
  ledger.removeNode(node);
  drain.nodeChanged(node, now);
  pass(5min);
  ledger.upsertNode(testing::makeNode("node-a"));
  drain.nodeChanged(node, now);
  EXPECT_TRUE(drain.drained(pod));
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DrainTest, AStatusThatComesBackDrainsOn) {
  end(false);
  ledger.removeStatus(node);
  drain.statusGone(node, now);
  look("t1", {});
  EXPECT_FALSE(drain.drained(pod));
  look("t2", {});
  look("t3", {});
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, OneThatEndsAtANewAgentBringsBackWhoDrainedThere) {
  look("t1", {pod});
  end(false);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(4min);
  drain.statusGone(node, now);
  pass(2min);
  look("t2", {pod});
  EXPECT_TRUE(drain.drained(pod)) << "without an agent for so long what it says counts for nothing";
  drain.agentChanged(node, model::Uid{"agent"}, true, true, now);
  drain.ended(model::Uid{"other"}, node, {1}, true, now);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
}

TEST_F(DrainTest, WhoLivesAfterAllDoesNotDrainWhenItsNodeComesBack) {
  end(false);
  ledger.removeNode(node);
  drain.nodeChanged(node, now);
  drain.lives(pod, node);
  ledger.upsertNode(testing::makeNode("node-a"));
  drain.nodeChanged(node, now);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, AHandMadeStatusFreesAtOnce) {
  look("", {});
  end(false);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, ADeletedStatusFreesIt) {
  end(false);
  ledger.removeStatus(node);
  drain.statusGone(node, now);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainTest, AnAgentNotReadyForAMinuteMakesDevicesUnknown) {
  drain.agentChanged(node, model::Uid{"agent"}, true, false, now);
  pass(59s);
  EXPECT_FALSE(ledger.find(node)->agent_stale);
  pass(1s);
  EXPECT_TRUE(ledger.find(node)->agent_stale);
  drain.agentChanged(node, model::Uid{"agent"}, true, true, now);
  EXPECT_FALSE(ledger.find(node)->agent_stale);
}

TEST_F(DrainTest, AnotherEnforcerLabelEndsNoContainer) {
  look("t1", {pod});
  end(false);
  model::Node labelled = testing::makeNode("node-a");
  labelled.labels["gpu.scheduling/enforcer"] = "kubelet";
  ledger.upsertNode(labelled);
  drain.nodeChanged(node, now);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {});
  look("t3", {});
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

class DrainAnonymous : public DrainTest {
 protected:
  void endOfTwo(bool clean) {
    drain.ended(pod, node, {}, clean, now, 2);
    if (const auto number = drain.wantsFloor()) { drain.setFloor(*number, revision); }
  }
  [[nodiscard]] std::int64_t anonymous() const { return ledger.find(node)->anonymous; }
};

TEST_F(DrainAnonymous, DrainsAsACountUntilTheSecondNewLook) {
  endOfTwo(false);
  EXPECT_EQ(anonymous(), 2);
  look("t1", {});
  EXPECT_EQ(anonymous(), 2);
  look("t2", {});
  EXPECT_EQ(anonymous(), 0);
  EXPECT_TRUE(drain.drained(pod));
}

TEST_F(DrainAnonymous, ACleanEndFreesAtOnce) {
  endOfTwo(true);
  EXPECT_EQ(anonymous(), 0);
}

TEST_F(DrainAnonymous, WhatTheAgentSeesIsOneLessOfThem) {
  endOfTwo(false);
  look("t1", {pod});
  drain.ended(pod, node, {0}, true, now);  // as the engine does for users that it does not know
  EXPECT_EQ(anonymous(), 1);
  EXPECT_EQ(use(), sched::DeviceUse::Draining);
  look("t2", {});
  EXPECT_EQ(anonymous(), 0);
  EXPECT_EQ(use(), sched::DeviceUse::Free);
}

TEST_F(DrainTest, ADeviceThatIsRenumberedDrainsUnderItsNewId) {
  drain.ended(pod, node, {0}, false, now);
  model::GpuNodeStatus s = testing::makeStatus("node-a", 2);
  std::swap(s.devices[0].uuid, s.devices[1].uuid);
  s.revision = ++revision;
  s.observed_time = "t0";
  ledger.upsertStatus(s);
  drain.statusChanged(s, now);
  EXPECT_EQ(ledger.find(node)->devices.at(0).use(), sched::DeviceUse::Draining);
  EXPECT_EQ(ledger.find(node)->devices.at(1).use(), sched::DeviceUse::Draining);
  pass(1h);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  pass(kAgentGone);
  EXPECT_EQ(ledger.find(node)->devices.at(1).use(), sched::DeviceUse::Free);
}

/// Nodes come and go all day, their agent's pod last.
TEST_F(DrainTest, NothingIsKeptOfANodeThatWent) {
  const auto before = drain.remembered();
  for (int i = 0; i < 100; ++i) {
    const model::NodeName name{"node-" + std::to_string(i)};
    const model::Uid agent{"agent-" + std::to_string(i)};
    ledger.upsertNode(testing::makeNode(name.text.c_str()));
    drain.nodeChanged(name, now);
    drain.agentChanged(name, agent, true, true, now);
    model::GpuNodeStatus s = testing::makeStatus(name.text.c_str(), 2);
    ledger.upsertStatus(s);
    drain.statusChanged(s, now);
    ledger.removeNode(name);
    drain.nodeChanged(name, now);
    ledger.removeStatus(name);
    drain.statusGone(name, now);
    drain.agentChanged(name, agent, false, false, now);
    pass(kAgentGone);
  }
  EXPECT_LE(drain.remembered(), before + 1);
}

/// Some kind can't be listed for five minutes (403, say), a pod ended meanwhile, and no agent is there:
/// tick() goes over what it cannot free.
TEST_F(DrainTest, TickEndsThoughNothingMayBeFreedYet) {
  drain.setComplete(false, now);
  drain.agentChanged(node, model::Uid{"agent"}, false, false, now);
  end(true);
  EXPECT_EXIT(
      {
        const Deadline deadline{"the tick ends"};
        pass(6min);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

/// Looks from before the end, that the watch brings late: one names the pod, the next does not (its container was between two runs).
TEST_F(DrainTest, ALateLookThatNamesThePodMakesItsEndNotClean) {
  look("t1", {pod});
  revision += 2;  // t2 and t3 are written, and their events are late
  end(false);
  revision -= 2;
  look("t2", {pod});
  drain.seenUsing(pod, node, 0, now);
  look("t3", {});
  EXPECT_FALSE(drain.drained(pod)) << "no look was written after the end";
}

/// Where GpuNodeStatus is not served nothing drains, and its list need not be asked for.
TEST_F(DrainTest, NobodyAsksForTheRevisionOfAnEndThatWaitsForNothing) {
  const model::NodeName other{"node-b"};
  ledger.upsertNode(testing::makeNode("node-b"));
  drain.ended(pod, other, {0}, false, now);
  ASSERT_TRUE(drain.drained(pod));
  EXPECT_EQ(drain.wantsFloor(), std::nullopt);
}

}  // namespace
}  // namespace gs::engine
