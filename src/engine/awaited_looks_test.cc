#include "engine/awaited_looks.h"

#include <gtest/gtest.h>

#include "engine/engine_hand_test.h"
#include "sched/ledger/test_nodes.h"

namespace gs::engine {
namespace {

class Looks : public ::testing::Test {
 protected:
  Looks() { sched::testNode("a").gpus(4).addTo(ledger); }
  void pass(Duration time) {
    now += time;
    looks.tick(now);
  }
  void comes(const char* pod) { looks.came(a, model::Uid{pod}, false, now); }
  void runs(const char* pod) { looks.came(a, model::Uid{pod}, true, now); }
  bool isAwaited() { return sched::stateOf(ledger, "a").awaits_look; }

  const model::NodeName a{"a"};
  sched::Ledger ledger;
  AwaitedLooks looks{ledger};
  Mono now{1h};
};

TEST_F(Looks, AreAwaitedUntilAllGpusOfWhoCameAreNamed) {
  comes("p");
  comes("q");
  EXPECT_TRUE(isAwaited());
  looks.named(a, model::Uid{"p"}, false);
  looks.named(a, model::Uid{"q"}, true);
  EXPECT_TRUE(isAwaited()) << "one of p's has no name";
  const auto version = sched::stateOf(ledger, "a").version;
  looks.named(a, model::Uid{"p"}, true);
  EXPECT_FALSE(isAwaited());
  EXPECT_GT(sched::stateOf(ledger, "a").version, version) << "who waits for it is to look";
  EXPECT_EQ(looks.nextDue(), std::nullopt);
  EXPECT_EQ(looks.remembered(), 0U);
}

TEST_F(Looks, OfWhoIsGoneNothingIsAwaited) {
  comes("p");
  looks.over(a, model::Uid{"q"});
  EXPECT_TRUE(isAwaited());
  looks.over(a, model::Uid{"p"});
  EXPECT_FALSE(isAwaited());
  comes("p");
  looks.forget(a);
  EXPECT_FALSE(isAwaited());
  EXPECT_EQ(looks.remembered(), 0U);
  EXPECT_EQ(looks.nextDue(), std::nullopt);
}

TEST_F(Looks, AreAwaitedForSomeTimeAndThenNobodyIsForSomeTime) {
  comes("p");
  pass(kLookWait - 1s);
  EXPECT_TRUE(isAwaited());
  pass(1s);
  EXPECT_FALSE(isAwaited());
  comes("q");
  EXPECT_FALSE(isAwaited()) << "others have their turn";
  pass(kOpen);
  EXPECT_EQ(looks.remembered(), 0U);
  comes("r");
  EXPECT_TRUE(isAwaited());
}

TEST_F(Looks, WhoeverComesOnAndOnTheyAreNotAwaitedForLonger) {
  const Mono first = now;
  while (true) {
    comes(("p" + std::to_string(now.time_since_epoch().count())).c_str());
    if (!isAwaited()) { break; }
    pass(2s);
    ASSERT_LE(now - first, kMostWait + 2s);
  }
  EXPECT_GE(now - first, kMostWait);
}

/// A pause of a second is too short for who is placed by kube-scheduler.
TEST_F(Looks, WhoeverComesAndGoesTheNodeIsOpenInTime) {
  bool was_open = false;
  for (const Mono first = now; !was_open && now - first < 5min;) {
    comes("p");
    was_open = !isAwaited();
    pass(7s);
    pass(7s);
    looks.over(a, model::Uid{"p"});
    pass(1s);
  }
  EXPECT_TRUE(was_open);
  pass(kOpen);
  EXPECT_EQ(looks.remembered(), 0U);
}

TEST_F(Looks, WhereTheAgentNamesEachSoonEachIsAwaited) {
  for (int i = 0; i < 100; ++i) {
    comes("p");
    ASSERT_TRUE(isAwaited()) << i;
    pass(2s);
    looks.named(a, model::Uid{"p"}, true);
    ASSERT_FALSE(isAwaited());
    pass(1s);
    looks.over(a, model::Uid{"p"});
    pass(1s);
  }
  EXPECT_EQ(looks.remembered(), 0U);
  EXPECT_EQ(looks.nextDue(), std::nullopt);
}

TEST_F(Looks, AnAgentThatNamesNoneIsNotAwaitedUntilItNamesSome) {
  runs("p");
  pass(kLookWait);
  EXPECT_FALSE(isAwaited());
  pass(kOpen);
  runs("q");
  EXPECT_FALSE(isAwaited()) << "it let p run without a word";
  looks.named(a, model::Uid{"p"}, false);
  runs("r");
  EXPECT_TRUE(isAwaited());
}

TEST_F(Looks, ThatAPodHasNotBegunToRunSaysNothingOfTheAgent) {
  comes("p");
  pass(10s);
  runs("p");
  pass(10s);
  EXPECT_TRUE(isAwaited()) << "it runs for 10 s";
  comes("q");
  pass(5s);
  looks.named(a, model::Uid{"p"}, false);
  pass(kLookWait);
  pass(kOpen);
  runs("r");
  EXPECT_TRUE(isAwaited()) << "some of p's were named";
}

// ---- in the engine

class EngineLooks : public EngineTest {
 protected:
  EngineLooks() { agentLooks(); }
  /// The agent's next look: GPU `id` is used by that pod.
  void looks(int id, const PodBuilder& pod) {
    auto status = testing::makeStatus("node-a", 4);
    status.revision = ++revision;
    status.observed_time = "t" + std::to_string(revision);
    status.devices[static_cast<std::size_t>(id)].in_use_by = {pod.value().uid};
    statusComes(status);
  }
  [[nodiscard]] bool awaits() const { return node().awaits_look; }
  PodBuilder foreign = PodBuilder("f").scheduler("other").on("node-a").gpus(1);
  model::Revision revision = 10;
};

TEST_F(EngineLooks, AreAwaitedForAPodThatHasJustCome) {
  comes(foreign);
  EXPECT_TRUE(awaits());
  looks(1, foreign);
  EXPECT_FALSE(awaits());
  comes(foreign.running().revision(2));
  EXPECT_FALSE(awaits()) << "they are named";
}

TEST_F(EngineLooks, AreAwaitedAgainWhenItBeginsToRun) {
  comes(foreign);
  now += kLookWait;
  engine.tick(now);
  EXPECT_FALSE(awaits());
  EXPECT_TRUE(engine.nextDue());
  now += kOpen;
  engine.tick(now);
  comes(foreign.running().revision(2));
  EXPECT_TRUE(awaits());
  comes(foreign.phase(model::PodPhase::Succeeded).terminated().revision(3));
  EXPECT_FALSE(awaits());
}

TEST_F(EngineLooks, WhoseGpusHaveNamesAreNotWaitedFor) {
  comes(PodBuilder("claimed").on("node-a").allocated("node-a:0"));
  comes(PodBuilder("plain").on("node-a").allocated("node-a:1").gpus(1));
  comes(PodBuilder("ordinary").on("node-a"));
  EXPECT_FALSE(awaits());
}

TEST_F(EngineLooks, AreAwaitedForAPodThatWasDecidedToCome) {
  engine.expectsCounted(model::NodeName{"node-a"}, model::Uid{"p"}, now);
  EXPECT_FALSE(awaits()) << "it asks for none";
  sched::PodRequest request;
  request.resources.extended[model::kNvidiaGpu] = 1;
  engine.ledger().usePod(model::NodeName{"node-a"}, model::Uid{"p"}, sched::Source::Reservation,
                         request.resources, 1);
  engine.expectsCounted(model::NodeName{"node-a"}, model::Uid{"p"}, now);
  EXPECT_TRUE(awaits());
}

TEST_F(EngineLooks, WithoutAnAgentNobodyIsWaitedFor) {
  comes(foreign);
  EXPECT_TRUE(awaits());
  engine.apply({kapi::kPod, {"kube-system", "agent"}, model::Uid{"uid-agent"}, {}, 50}, now);
  EXPECT_FALSE(awaits());
  comes(PodBuilder("g").scheduler("other").on("node-a").gpus(1));
  EXPECT_FALSE(awaits());
}

TEST(EngineLooksAtFirst, OnlyThoseAreWaitedForThatChangedSinceTheirNodesStatus) {
  for (const model::Revision changed : {model::Revision{5}, model::Revision{15}}) {
    Engine engine;
    const Mono now{1h};
    const auto apply = [&](kapi::Kind kind, const char* name, model::Object object, model::Revision at) {
      engine.apply({kind, {"", name}, {}, std::move(object), at}, now);
    };
    auto status = testing::makeStatus("node-a", 4);
    status.revision = 10;
    status.observed_time = "t";
    apply(kapi::kPod, "agent", PodBuilder("agent").on("node-a").agent(true).make(), 1);
    apply(kapi::kPod, "f", PodBuilder("f").on("node-a").gpus(1).running().revision(changed).make(), changed);
    apply(kapi::kNode, "node-a", std::make_shared<const model::Node>(testing::makeNode("node-a")), 1);
    apply(kapi::kGpuNodeStatus, "node-a", std::make_shared<const model::GpuNodeStatus>(status), 10);
    EXPECT_FALSE(engine.ledger().find(model::NodeName{"node-a"})->awaits_look);
    engine.synced(now);
    EXPECT_EQ(engine.ledger().find(model::NodeName{"node-a"})->awaits_look, changed > 10);
  }
}

}  // namespace
}  // namespace gs::engine
