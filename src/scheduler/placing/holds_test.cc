#include "scheduler/placing/holds.h"

#include <gtest/gtest.h>

#include "sched/placement/fit.h"
#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

class HoldsTest : public ::testing::Test {
 protected:
  HoldsTest() { t.threeNodes(); }
  bool begin(const std::string& name, const std::string& node, const char* ns = "default",
             const char* claim = "one") {
    const model::Pod& pod = t.pod(name, claim, ns);
    return t.holds.begin(pod, t.requestOf(pod), model::NodeName{node});
  }
  bool inLine(const std::string& name, const std::string& node, const char* claim = "one") {
    const model::Pod& pod = t.pod(name, claim);
    return t.holds.inLine(pod, t.requestOf(pod), model::NodeName{node});
  }
  void resume(const std::string& name, const Holds::Suspended& hold, const std::string& node) {
    const model::Pod& pod = t.pod(name);
    t.holds.resume(pod, t.requestOf(pod), hold, model::NodeName{node});
  }
  bool has(const std::string& name) { return t.holds.has(t.uid(name)); }
  /// As many as it takes until so many are free there.
  bool yield(const std::string& node, int free) {
    return t.holds.yield(model::NodeName{node}, [&] { return t.freeOn(node) >= free; });
  }
  TestParts t;
};

TEST_F(HoldsTest, TakeGpusFromEverybodyForAMoment) {
  EXPECT_TRUE(begin("p", "a"));
  EXPECT_EQ(t.freeOn("a"), 3);
  t.pass(Holds::kHeld - 1ns);
  EXPECT_TRUE(has("p"));
  t.pass(1ns);
  EXPECT_FALSE(has("p"));
  EXPECT_EQ(t.freeOn("a"), 4);
}

TEST_F(HoldsTest, NeedANodeThatIsThereWithRoom) {
  EXPECT_FALSE(begin("p", "nowhere"));
  EXPECT_TRUE(begin("f", "a", "default", "four"));
  EXPECT_FALSE(begin("p", "a"));
  EXPECT_TRUE(begin("p", "b")) << "what was not given counts for nothing";
  t.c.engine.apply({kapi::kNode, {"", "b"}, {}, {}, 1'000}, t.c.now.mono);
  EXPECT_FALSE(begin("q", "b"));
}

TEST_F(HoldsTest, AreNotForWhoHasAReservationThere) {
  const model::Pod& pod = t.pod("p");
  const auto request = t.requestOf(pod);
  const auto other = t.c.engine.ledger().reserve(model::NodeName{"a"}, pod.uid, request, {0});
  EXPECT_FALSE(t.holds.begin(pod, request, model::NodeName{"a"}));
  EXPECT_TRUE(t.holds.begin(pod, request, model::NodeName{"b"}));
}

TEST_F(HoldsTest, AreOnePerPod) {
  EXPECT_TRUE(begin("p", "a"));
  EXPECT_TRUE(inLine("p", "b"));
  EXPECT_EQ(t.freeOn("a"), 4);
  EXPECT_EQ(t.freeOn("b"), 7);
  t.holds.release(t.uid("p"));
  EXPECT_EQ(t.freeOn("b"), 8);
  EXPECT_FALSE(t.holds.suspend(t.uid("p")));
}

TEST_F(HoldsTest, OnANodeWhereOneCameToNothingNoneBeginsForAWhile) {
  EXPECT_TRUE(begin("p", "a"));
  t.pass(1s);
  EXPECT_TRUE(begin("q", "a"));
  t.pass(2s);
  EXPECT_FALSE(has("p"));
  EXPECT_TRUE(has("q")) << "its time is not over";
  EXPECT_FALSE(begin("r", "a"));
  EXPECT_FALSE(inLine("s", "a"));
  EXPECT_TRUE(begin("r", "b"));
  t.pass(1s);
  t.pass(Holds::kRests - 1ns);
  EXPECT_FALSE(begin("t", "a")) << "from the last one on";
  t.pass(1ns);
  EXPECT_TRUE(begin("t", "a"));
}

/// Each on a node of its own, they count for the quota of one namespace.
TEST_F(HoldsTest, OfAQuotaAreNoMoreForAWhileOnceOneCameToNothing) {
  model::QuotaConfig config;
  config.map = {"kube-system", "gpuquota"};
  config.labels = {"model", "pool"};
  t.c.engine.configureQuota(config);
  const model::Quotas of{{"default", {{{"V100", 4}}, {}}}};
  auto map = std::make_shared<const model::QuotaMap>(model::QuotaMap{config.map, {}, 1, of, {}});
  t.c.engine.apply({kapi::kQuotaMap, config.map, {}, map, 1}, t.c.now.mono);
  const auto named = [](int i) { return i == 0 ? std::string{"large"} : "n" + std::to_string(i); };
  for (int i = 0; i < 30; ++i) {
    if (i > 0) { t.node(named(i), 4); }
    model::Node node = testing::makeNode(named(i));
    node.labels["model"] = "V100";
    node.revision = 1'000;
    auto labelled = std::make_shared<const model::Node>(node);
    t.c.engine.apply({kapi::kNode, {"", named(i)}, {}, labelled, 1'000}, t.c.now.mono);
  }
  const model::Pod& all = t.pod("all", "four");
  const auto fits = [&] {
    return !sched::misfitOn(*t.c.engine.ledger().find(model::NodeName{"large"}), t.requestOf(all));
  };
  ASSERT_TRUE(fits());
  int held = 0;
  Duration waited{};
  for (int i = 1; i < 30 && (i == 1 || !fits()); ++i, waited += 1s) {
    held += begin("p" + std::to_string(i), named(i)) ? 1 : 0;
    t.pass(1s);
  }
  EXPECT_LE(waited, 2 * Holds::kHeld);
  EXPECT_GE(held, 3);
  EXPECT_FALSE(begin("q", "n29"));
  EXPECT_TRUE(begin("q", "n29", "other")) << "no quota binds it";
  t.pass(1s);
  EXPECT_FALSE(begin("q2", "n28"));
  t.pass(Holds::kRests);
  EXPECT_TRUE(begin("r", "n28"));
}

TEST_F(HoldsTest, OfOnePodComeLaterEachTime) {
  EXPECT_TRUE(begin("p", "a"));
  t.holds.release(t.uid("p"));
  EXPECT_EQ(t.freeOn("a"), 4);
  t.pass(5s - 1ns);
  EXPECT_FALSE(begin("p", "a"));
  t.pass(1ns);
  EXPECT_TRUE(begin("p", "a")) << "it was released: that is no reason to let the node rest";
  t.holds.release(t.uid("p"));
  t.pass(10s - 1ns);
  EXPECT_FALSE(begin("p", "a"));
  t.pass(1ns);
  EXPECT_TRUE(begin("p", "a"));
  t.holds.release(t.uid("p"));
  t.holds.forget(t.uid("p"));
  EXPECT_TRUE(begin("p", "a")) << "it was bound, or another one has its name";
}

TEST_F(HoldsTest, AreForgottenWithTime) {
  EXPECT_TRUE(begin("p", "a"));
  t.pass(10min);
  t.pass(10min);
  EXPECT_EQ(t.holds.size(), 0U);
  EXPECT_EQ(t.holds.nextDue(), std::nullopt);
}

TEST_F(HoldsTest, OfOneNamespaceAreHalfOfWhatItLeaves) {
  int of_default = 0;
  for (int i = 0; i < 20; ++i) { of_default += begin("p" + std::to_string(i), "large") ? 1 : 0; }
  EXPECT_EQ(of_default, 8);
  EXPECT_FALSE(inLine("line", "large")) << "those count, too";
  t.holds.release(t.uid("p0"));
  EXPECT_TRUE(inLine("line", "large"));
  int of_other = 0;
  for (int i = 0; i < 20; ++i) { of_other += begin("q" + std::to_string(i), "large", "other") ? 1 : 0; }
  EXPECT_EQ(of_other, 4);
  t.holds.reset();
  EXPECT_EQ(t.freeOn("large"), 64);
  EXPECT_TRUE(begin("p0", "large")) << "nothing is remembered";
}

TEST_F(HoldsTest, WhoIsLookedAtHoldsOnUntilTheSameTime) {
  EXPECT_TRUE(begin("p", "a"));
  t.pass(2s);
  auto was = t.holds.suspend(t.uid("p"));
  ASSERT_TRUE(was);
  EXPECT_EQ(was->node.text, "a");
  EXPECT_EQ(t.freeOn("a"), 4);
  EXPECT_FALSE(t.holds.suspend(t.uid("p")));
  resume("p", *was, "b");
  EXPECT_EQ(t.freeOn("b"), 7);
  EXPECT_EQ(t.freeOn("a"), 4);
  t.pass(1s - 1ns);
  EXPECT_TRUE(has("p"));
  t.pass(1ns);
  EXPECT_FALSE(has("p"));
  EXPECT_FALSE(begin("q", "b")) << "it came to nothing there";
  EXPECT_TRUE(begin("q", "a"));
}

TEST_F(HoldsTest, WhoCannotHoldOnHasHeldForNothing) {
  EXPECT_TRUE(begin("p", "b"));
  auto was = t.holds.suspend(t.uid("p"));
  EXPECT_TRUE(begin("f", "a", "default", "four"));
  resume("p", *was, "a");
  EXPECT_FALSE(has("p"));
  EXPECT_FALSE(begin("q", "b")) << "its node rests";
}

TEST_F(HoldsTest, NobodyMovesItsHoldToANodeThatRests) {
  EXPECT_TRUE(begin("f", "a"));
  auto was = t.holds.suspend(t.uid("f"));
  t.holds.end(*was);
  EXPECT_TRUE(begin("p", "b"));
  was = t.holds.suspend(t.uid("p"));
  resume("p", *was, "a");
  EXPECT_FALSE(has("p"));
  t.pass(Holds::kRests);
  EXPECT_TRUE(begin("q", "a"));
  EXPECT_FALSE(begin("q2", "a", "other", "four"));
  was = t.holds.suspend(t.uid("q"));
  t.holds.end({model::NodeName{"a"}, {}, true});
  resume("q", *was, "a");
  EXPECT_TRUE(has("q")) << "where it is it may go on";
}

TEST_F(HoldsTest, WhoGoesHasHeldForNothing) {
  EXPECT_TRUE(begin("p", "a"));
  t.holds.forget(t.uid("p"));
  EXPECT_EQ(t.freeOn("a"), 4);
  EXPECT_FALSE(begin("q", "a"));
}

TEST_F(HoldsTest, InLineAreShorter) {
  EXPECT_TRUE(inLine("p", "a", "four"));
  EXPECT_EQ(t.freeOn("a"), 0);
  EXPECT_EQ(t.holds.nextDue(), t.c.now.mono + Holds::kHeldInLine);
  t.pass(Holds::kHeldInLine);
  EXPECT_EQ(t.freeOn("a"), 4);
  EXPECT_EQ(t.holds.nextDue(), t.c.now.mono + Holds::kRests);
  t.pass(Holds::kRests);
  EXPECT_TRUE(inLine("p", "a")) << "however often it came";
}

TEST_F(HoldsTest, TheOldestYieldToWhoIsToBeBound) {
  EXPECT_TRUE(begin("new", "b"));
  t.holds.release(t.uid("new"));
  EXPECT_TRUE(begin("z-old", "a"));
  t.pass(1s);
  EXPECT_TRUE(begin("middle", "a"));
  EXPECT_TRUE(begin("elsewhere", "b"));
  t.pass(1s);
  EXPECT_TRUE(begin("newest", "a"));
  EXPECT_EQ(t.freeOn("a"), 1);
  EXPECT_TRUE(yield("a", 3));
  EXPECT_FALSE(has("z-old"));
  EXPECT_FALSE(has("middle"));
  EXPECT_TRUE(has("newest"));
  EXPECT_TRUE(has("elsewhere"));
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_TRUE(begin("another", "a")) << "they came to something";
}

TEST_F(HoldsTest, NoneYieldsToWhoDoesNotFitAllTheSame) {
  EXPECT_TRUE(begin("p", "a"));
  EXPECT_TRUE(begin("q", "a"));
  EXPECT_TRUE(inLine("line", "a"));
  EXPECT_FALSE(yield("a", 4)) << "who is in line came first";
  EXPECT_TRUE(has("p"));
  EXPECT_TRUE(has("q"));
  EXPECT_EQ(t.freeOn("a"), 1);
  t.pass(Holds::kHeld);
  EXPECT_EQ(t.freeOn("a"), 4);
}

/// What is on the node may be more than it has by then.
TEST_F(HoldsTest, WhoDoesNotYieldHoldsOnThoughOthersHaveTheSameByNow) {
  EXPECT_TRUE(begin("f", "a", "default", "four"));
  t.learn(testing::PodBuilder{"foreign"}.scheduler("x").on("a").allocated("a:0").running());
  EXPECT_FALSE(yield("a", 4));
  EXPECT_TRUE(has("f"));
  EXPECT_EQ(t.freeOn("a"), 0);
}

}  // namespace
}  // namespace gs::scheduler
