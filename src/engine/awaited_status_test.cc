#include "engine/awaited_status.h"

#include <gtest/gtest.h>

#include "sched/ledger/test_nodes.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;

class Awaited : public ::testing::Test {
 protected:
  void nodeComes(Wall created = {}) {
    sched::TestNode node = sched::testNode("a").withoutStatus();
    node.node.created = created;
    node.addTo(ledger);
    awaited.nodeChanged(a, now);
  }
  void nodeGoes() {
    ledger.removeNode(a);
    awaited.nodeChanged(a, now);
  }
  void statusComes() {
    ledger.upsertStatus(sched::testNode("a").gpus(1).status);
    awaited.statusChanged(a, true);
  }
  void statusGoes() {
    ledger.removeStatus(a);
    awaited.statusChanged(a, false);
  }
  void pass(Duration time) {
    now += time;
    awaited.tick(now);
  }
  bool isAwaited() { return sched::stateOf(ledger, "a").awaits_status; }

  static constexpr Wall noon{12h};
  const model::NodeName a{"a"};
  sched::Ledger ledger;
  AwaitedStatus awaited{ledger};
  Mono now{};
};

TEST_F(Awaited, OfANewNodeForAMoment) {
  nodeComes();
  EXPECT_TRUE(isAwaited());
  const auto version = sched::stateOf(ledger, "a").version;
  pass(59s);
  nodeComes();
  EXPECT_TRUE(isAwaited());
  EXPECT_EQ(awaited.nextDue(), Mono{60s}) << "that it changes makes it no newer";
  pass(1s);
  EXPECT_FALSE(isAwaited());
  EXPECT_GT(sched::stateOf(ledger, "a").version, version) << "who waits for it is to look";
  EXPECT_EQ(awaited.nextDue(), std::nullopt);
}

TEST_F(Awaited, OfANodeThatIsOlderThanAnotherObjectItIsNot) {
  nodeComes(noon);
  awaited.stamped(noon + 60s);
  EXPECT_TRUE(isAwaited()) << "of times what is less than a second is cut off";
  const auto version = sched::stateOf(ledger, "a").version;
  awaited.stamped(noon + 61s);
  EXPECT_FALSE(isAwaited());
  EXPECT_GT(sched::stateOf(ledger, "a").version, version) << "who waits for it is to look";
  EXPECT_EQ(awaited.nextDue(), std::nullopt);
}

TEST_F(Awaited, WhicheverOfTheTwoIsListedFirst) {
  awaited.stamped(noon + 61s);
  awaited.stamped(noon);
  nodeComes(noon);
  EXPECT_FALSE(isAwaited());
  awaited.allListed();
  nodeComes(noon);
  EXPECT_FALSE(isAwaited()) << "it is the same one";
}

TEST_F(Awaited, ANodeThatSaysNoTimeIsNew) {
  awaited.stamped(noon);
  nodeComes();
  EXPECT_TRUE(isAwaited());
}

TEST_F(Awaited, ANodeThatIsSeenToComeIsNewWhateverClocksSay) {
  awaited.allListed();
  awaited.stamped(noon + 1h);
  nodeComes(noon);
  EXPECT_TRUE(isAwaited());
  awaited.stamped(noon + 2h);
  EXPECT_TRUE(isAwaited());
  pass(60s);
  EXPECT_FALSE(isAwaited());
}

TEST_F(Awaited, AnAgentIsAwaitedOnAnOldNodeToo) {
  nodeComes(noon);
  awaited.agentChanged(a, true);
  awaited.stamped(noon + 1h);
  EXPECT_TRUE(isAwaited());
}

TEST_F(Awaited, WhereOneWas) {
  nodeComes();
  statusComes();
  EXPECT_EQ(awaited.nextDue(), std::nullopt);
  statusGoes();
  pass(1h);
  EXPECT_TRUE(isAwaited());
}

TEST_F(Awaited, WhereOneWasListedBeforeItsNode) {
  statusComes();
  nodeComes();
  EXPECT_EQ(awaited.nextDue(), std::nullopt);
  statusGoes();
  pass(1h);
  EXPECT_TRUE(isAwaited());
}

TEST_F(Awaited, WhereAnAgentIs) {
  awaited.agentChanged(a, true);
  nodeComes();
  pass(1h);
  EXPECT_TRUE(isAwaited());
  awaited.agentChanged(a, false);
  EXPECT_FALSE(isAwaited());
  awaited.agentChanged(a, true);
  EXPECT_TRUE(isAwaited());
}

TEST_F(Awaited, ANodeThatComesBackIsANewOne) {
  nodeComes();
  pass(60s);
  nodeGoes();
  nodeComes();
  EXPECT_TRUE(isAwaited());
  pass(60s);
  EXPECT_FALSE(isAwaited());
  statusComes();
  nodeGoes();
  nodeComes();
  EXPECT_TRUE(isAwaited()) << "its status is the same as before";
  nodeGoes();
  statusGoes();
  nodeComes();
  pass(60s);
  EXPECT_FALSE(isAwaited());
}

TEST_F(Awaited, RemembersNoNodeThatIsGone) {
  nodeComes();
  statusComes();
  awaited.agentChanged(a, true);
  nodeGoes();
  EXPECT_EQ(awaited.remembered(), 1U);
  statusGoes();
  awaited.agentChanged(a, false);
  EXPECT_EQ(awaited.remembered(), 0U);
  nodeComes(noon);
  nodeGoes();
  EXPECT_EQ(awaited.remembered(), 0U);
  EXPECT_EQ(awaited.nextDue(), std::nullopt);
  awaited.stamped(noon + 1h);
  EXPECT_EQ(awaited.remembered(), 0U);
}

}  // namespace
}  // namespace gs::engine
