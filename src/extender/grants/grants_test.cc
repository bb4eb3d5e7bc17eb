#include "extender/grants/grants.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "extender/grants/config.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"
#include "sched/ledger/shares.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

/// Of one container: a share of that device, or the whole of it.
sched::SharePicks pickOf(int device, std::int64_t milli) {
  sched::SharePick pick;
  pick.asked = milli == sched::kWholeMilli ? sched::ContainerShare{1, 0, 0}
                                           : sched::ContainerShare{0, milli, model::kMibPerVcudaMemory};
  pick.ids = {device};
  return {pick};
}

/// Nodes a and b with two GPUs each.
class GrantsTest : public ::testing::Test {
 protected:
  GrantsTest() {
    for (const char* name : {"a", "b"}) {
      const model::Node node = gpuNode(name, 2);
      engine.apply(
          {kapi::kNode, {"", node.name.text}, {}, std::make_shared<const model::Node>(node), ++revision},
          now);
    }
  }
  /// A pod that asks for half of a GPU.
  static model::Pod half(const std::string& name) { return vcudaPod(name, {{50, 1}}); }
  /// What it was given: half of that device. Nothing is held for it yet.
  Grant& given(const model::Pod& pod, const std::string& node, int device) {
    Grant& g = grants.of(pod.uid, pod.key);
    g.picks = pickOf(device, 500);
    g.note = {model::NodeName{node}, extender::idsOf(g.picks), 1, false};
    return g;
  }
  [[nodiscard]] const sched::NodeState& nodeOf(const std::string& name) const {
    return *engine.ledger().find(model::NodeName{name});
  }
  /// What is free of each of its devices.
  [[nodiscard]] std::vector<std::int64_t> freeOn(const std::string& node) const {
    std::vector<std::int64_t> out;
    for (const auto& device : sched::freeShares(nodeOf(node))) { out.push_back(device.milli); }
    return out;
  }
  [[nodiscard]] std::int64_t used() const { return engine.ledger().gpuUse("default", ""); }

  using Free = std::vector<std::int64_t>;
  engine::Engine engine;
  Grants grants{engine, false};
  Mono now{1h};
  model::Revision revision = 0;
};

// ---- What it holds

TEST_F(GrantsTest, WhatItHoldsIsFreeWhenItEnds) {
  const model::Pod pod = half("p");
  Grant& g = given(pod, "a", 1);
  grants.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{1000, 500}));
  EXPECT_EQ(used(), 500);
  grants.plan(pod.uid);
  grants.end(g.uid);  // a part of the grant itself
  EXPECT_EQ(grants.find(pod.uid), nullptr);
  EXPECT_EQ(freeOn("a"), (Free{1000, 1000}));
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(grants.timers(), 0U);
}

TEST_F(GrantsTest, ReservedAgainItHoldsWhatItHasNowOnce) {
  const model::Pod pod = half("p");
  Grant& g = given(pod, "a", 0);
  grants.reserve(g, pod);
  grants.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{500, 1000}));
  EXPECT_EQ(used(), 500);
  given(pod, "b", 1);
  grants.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{1000, 1000})) << "nobody said that it had that before";
  EXPECT_EQ(freeOn("b"), (Free{1000, 500}));
}

/// A Binding to there may land still. It counts against the quota once, where it is now.
TEST_F(GrantsTest, AsItMovesItHoldsWhatItHadTooAndCountsOnce) {
  const model::Pod pod = half("p");
  Grant& g = given(pod, "a", 0);
  Grants::moves(g);
  given(pod, "a", 1);
  Grants::moves(g);
  given(pod, "b", 1);
  grants.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{500, 500}));
  EXPECT_EQ(freeOn("b"), (Free{1000, 500}));
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(nodeOf("a").in_flight.size(), 1U);
  g.before.clear();
  grants.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{1000, 1000}));
  EXPECT_EQ(used(), 500);
}

/// Two devices that it is moved between: each is counted once, however often.
TEST_F(GrantsTest, MovedToAndFroItHoldsEachDeviceOnce) {
  const model::Pod pod = half("p");
  Grant& g = given(pod, "a", 0);
  for (int i = 1; i <= 6; ++i) {
    Grants::moves(g);
    given(pod, "a", i % 2);
    grants.reserve(g, pod);
    EXPECT_EQ(freeOn("a"), (Free{500, 500})) << i;
  }
  EXPECT_EQ(g.before.at(model::NodeName{"a"}).size(), 2U);
}

TEST_F(GrantsTest, WhoWasGivenNothingHoldsNothingAndHadNothing) {
  const model::Pod pod = half("p");
  Grant& g = grants.of(pod.uid, pod.key);
  g.picks = pickOf(0, 500);  // of a decision that was let go
  Grants::moves(g);
  EXPECT_TRUE(g.before.empty());
  grants.reserve(g, pod);
  EXPECT_TRUE(g.holds.empty());
  EXPECT_EQ(freeOn("a"), (Free{1000, 1000}));
}

/// gpu-scheduler reserved it there in the same ledger, which CHECKs that nobody does so twice.
TEST_F(GrantsTest, WhatIsReservedByAnotherIsLeftToThat) {
  const model::Pod pod = half("p");
  const auto others = engine.ledger().reserveShares(model::NodeName{"a"}, pod.uid, pickOf(1, 500), {});
  Grant& g = given(pod, "a", 0);
  grants.reserve(g, pod);
  EXPECT_TRUE(g.holds.empty());
  grants.end(pod.uid);
  EXPECT_EQ(freeOn("a"), (Free{1000, 500}));
}

TEST_F(GrantsTest, ItIsOnItsWayWithItsGangByNamespaceAndName) {
  model::Pod pod = half("p");
  pod.gang = "g";
  grants.reserve(given(pod, "a", 0), pod);
  ASSERT_EQ(nodeOf("a").in_flight.size(), 1U);
  EXPECT_EQ(nodeOf("a").in_flight[0].gang, "default/g");
  pod.gang = "";
  grants.reserve(*grants.find(pod.uid), pod);
  EXPECT_EQ(nodeOf("a").in_flight.at(0).gang, "");
}

TEST_F(GrantsTest, WhereBoundPodsAloneCountItHoldsDevicesAndNoQuota) {
  Grants strict{engine, true};
  const model::Pod pod = half("p");
  Grant& g = strict.of(pod.uid, pod.key);
  g.picks = pickOf(0, 500);
  g.note.node = model::NodeName{"a"};
  strict.reserve(g, pod);
  EXPECT_EQ(freeOn("a"), (Free{500, 1000}));
  EXPECT_EQ(used(), 0);
}

TEST_F(GrantsTest, SetAsideItsDevicesAndQuotaAreFreeForAMoment) {
  const model::Pod pod = half("p");
  const model::Pod other = half("other");
  grants.reserve(given(pod, "a", 0), pod);
  grants.reserve(given(other, "a", 1), other);
  for (int i = 0; i < 2; ++i) {
    {
      const Grants::Aside aside = grants.setAside(pod);
      EXPECT_EQ(freeOn("a"), (Free{1000, 500})) << "the other one's stays";
      EXPECT_EQ(used(), 500);
    }
    EXPECT_EQ(freeOn("a"), (Free{500, 500}));
    EXPECT_EQ(used(), 1000);
  }
  const model::Pod without = half("has-none");
  const Grants::Aside nothing = grants.setAside(without);
  EXPECT_EQ(freeOn("a"), (Free{500, 500}));
}

// ---- Which there are

TEST_F(GrantsTest, APodHasOneAndItStaysWhereItIsWhileOthersComeAndGo) {
  const model::Pod pod = half("p");
  Grant& g = given(pod, "a", 0);
  for (int i = 0; i < 300; ++i) { (void)grants.of(model::Uid{"q-" + std::to_string(i)}, {}); }
  for (int i = 0; i < 300; i += 2) { grants.end(model::Uid{"q-" + std::to_string(i)}); }
  EXPECT_EQ(&grants.of(pod.uid, {"default", "renamed"}), &g);
  EXPECT_EQ(g.pod.name, "renamed") << "as it is called now";
  EXPECT_EQ(g.note.node.text, "a") << "and no new one";
  EXPECT_EQ(grants.all().size(), 151U);
}

TEST_F(GrantsTest, AllOfThemGoAtOnce) {
  for (const char* name : {"p", "q"}) {
    const model::Pod pod = half(name);
    grants.reserve(given(pod, name == std::string{"p"} ? "a" : "b", 0), pod);
    grants.plan(pod.uid);
  }
  grants.clear();
  EXPECT_TRUE(grants.all().empty());
  EXPECT_EQ(freeOn("a"), (Free{1000, 1000}));
  EXPECT_EQ(grants.timers(), 0U);
  EXPECT_EQ(grants.nextDue(), Mono::max());
}

// ---- When each is to be looked at

/// A grant that is written, of which nothing else is to be said.
class GrantTimes : public GrantsTest {
 protected:
  Grant& written(const std::string& name) {
    const model::Pod pod = half(name);
    Grant& g = given(pod, "a", 0);
    g.write.written();
    g.asked = now;
    return g;
  }
};

TEST_F(GrantTimes, WhateverIsToBeDoneFirst) {
  const auto waitsUntil = [](Mono until) {
    Caller caller;
    caller.until = until;
    return caller;
  };
  const Mono now_then = now;
  struct Row {
    const char* name;
    std::function<void(Grant&)> is;
    Mono due;
  };
  const std::vector<Row> rows{
      {"forgotten", [](Grant&) {}, now + kForgottenAfter},
      {"given up", [&](Grant& g) { g.given_up = now_then; }, now + kGivenUpAfter},
      {"disputed", [&](Grant& g) { g.contested = now_then + 3s; }, now + 3s},
      {"somebody waits", [&](Grant& g) { g.callers.awaitDecision(waitsUntil(now_then + 4s)); }, now + 4s},
      {"somebody waits, so it is not forgotten",
       [&](Grant& g) { g.callers.awaitDecision(waitsUntil(now_then + kForgottenAfter + 1s)); },
       now + kForgottenAfter + 1s},
      {"to be written", [](Grant& g) { g.write.begin(); }, Mono{}},
      {"to be written again",
       [&](Grant& g) {
         g.write.begin();
         g.write.failed(now_then, 0, {});
       },
       now + 200ms},
      {"given up long ago, and to be written again first",
       [&](Grant& g) {
         g.given_up = now_then - 1min;
         g.write.begin();
         g.write.failed(now_then, 0, {});
       },
       now + 200ms},
      {"being written",
       [&](Grant& g) {
         g.write.begin();
         g.write.sent(7);
         g.given_up = now_then;
       },
       Mono::max()},
      {"being written, and somebody waits",
       [&](Grant& g) {
         g.write.begin();
         g.write.sent(7);
         g.callers.awaitWrite(waitsUntil(now_then + 4s));
       },
       now + 4s},
      {"waits for a slot to be taken off",
       [](Grant& g) {
         g.write.removeIdly();
         g.write.queued(true);
       },
       Mono::max()},
      {"taken off after a pause", [&](Grant& g) { g.write.removeOrphan(now_then + 10s, 0); }, now + 10s},
  };
  for (const Row& row : rows) {
    Grant& g = written("p");
    row.is(g);
    grants.plan(g.uid);
    EXPECT_EQ(grants.nextDue(), row.due) << row.name;
    EXPECT_EQ(grants.timers(), 1U) << row.name;
    grants.clear();
  }
}

TEST_F(GrantTimes, EachIsTakenWhenItIsDueTheEarliestFirstAndOnceUntilItIsPlannedAgain) {
  for (const auto& [name, after] : {std::pair{"late", 3s}, {"early", 1s}, {"never", 300s}}) {
    Grant& g = written(name);
    g.contested = now + after;
    grants.plan(g.uid);
    grants.plan(g.uid);  // nothing changed
  }
  EXPECT_EQ(grants.timers(), 3U);
  EXPECT_EQ(grants.takeDue(now + 1s - 1ns), nullptr);
  Grant* early = grants.takeDue(now + 3s);
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->pod.name, "early");
  Grant* late = grants.takeDue(now + 3s);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->pod.name, "late");
  EXPECT_EQ(grants.takeDue(now + 3s), nullptr);
  EXPECT_EQ(grants.timers(), 1U);
  grants.plan(early->uid);  // nothing of it changed, and it is due all the same
  EXPECT_EQ(grants.takeDue(now + 3s), early);
}

TEST_F(GrantTimes, WhoEndedIsNotTakenAndWhoChangedAtItsNewTimeOnly) {
  Grant& ends = written("ends");
  ends.contested = now + 1s;
  grants.plan(ends.uid);
  Grant& changes = written("changes");
  changes.contested = now + 1s;
  grants.plan(changes.uid);
  changes.contested = now + 5s;
  grants.plan(changes.uid);
  grants.end(ends.uid);
  EXPECT_EQ(grants.timers(), 1U);
  EXPECT_EQ(grants.takeDue(now + 4s), nullptr);
  EXPECT_EQ(grants.takeDue(now + 5s), &changes);
  grants.plan(model::Uid{"of nobody"});
  EXPECT_EQ(grants.timers(), 0U);
}

}  // namespace
}  // namespace gs::extender
