// What kube-scheduler is answered; a whole cluster with one is in test/world/kube_*_test.cc.
#include "scheduler/extender_pods.h"

#include <gtest/gtest.h>

#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

/// Nodes a and b with four and eight GPUs.
class ExtenderPodsTest : public ::testing::Test {
 protected:
  ExtenderPodsTest() {
    t.claim("one", 1);
    t.claim("four", 4);
    t.claim("eight", 8);
    t.node("a", 4);
    t.node("b", 8);
  }
  std::uint64_t ask(const model::PodPtr& pod, const std::vector<std::string>& nodes = {"a", "b"}) {
    t.pods.filter({++last_, pod, t.nodes(nodes)});
    return last_;
  }
  const FilterAnswer* answerTo(std::uint64_t id) {
    for (auto& answer : t.pods.takeFilterAnswers()) { answers_[answer.id] = std::move(answer); }
    const auto it = answers_.find(id);
    return it == answers_.end() ? nullptr : &it->second;
  }
  /// "fits", or why not, of each.
  std::vector<std::string> filter(const std::string& name,
                                  const std::vector<std::string>& nodes = {"a", "b"}) {
    const FilterAnswer* answer = answerTo(ask(t.known(name), nodes));
    std::vector<std::string> out;
    if (answer == nullptr || !answer->decided) { return {"not answered"}; }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto* no = answer->offers.rejectionOf(i);
      out.push_back(no == nullptr ? "fits" : (no->never ? "never: " : "") + no->text);
    }
    return out;
  }
  std::vector<int> rank(const std::string& name, const std::vector<std::string>& nodes = {"a", "b"}) {
    return t.pods.prioritize(*t.known(name), t.nodes(nodes));
  }
  void bind(const std::string& name, const std::string& node) {
    t.binds.bind({++last_, {}, t.uid(name), model::NodeName{node}, t.c.now.mono + 4s, {}});
  }
  bool isToBeWoken(const std::string& name) { return t.nominator.isToBeWoken(t.uid(name)); }
  using Words = std::vector<std::string>;
  TestParts t;
  const std::string none_free = "node(s) had too few free GPUs: need 1 and most free is 0";

 private:
  std::map<std::uint64_t, FilterAnswer> answers_;
  std::uint64_t last_ = 0;
};

TEST_F(ExtenderPodsTest, FilterSaysWhichNodesHaveTheGpusAndWhyNot) {
  t.pod("p");
  t.pod("e", "eight");
  EXPECT_EQ(filter("p"), (Words{"fits", "fits"}));
  EXPECT_EQ(filter("e")[0], "never: node(s) had too few GPUs: need 8 and the largest has 4");
  EXPECT_EQ(filter("p", {"a", "x"})[1], "node(s) were not known to gpu-scheduler yet");
  EXPECT_EQ(t.freeOn("a") + t.freeOn("b"), 12) << "nothing is held";
  EXPECT_FALSE(isToBeWoken("p"));
  EXPECT_FALSE(isToBeWoken("e")) << "one node takes it";
}

TEST_F(ExtenderPodsTest, ANodeWhoseObjectIsGoneIsNotKnown) {
  t.pod("p");
  t.c.engine.apply({kapi::kNode, {"", "a"}, {}, {}, 1'000}, t.c.now.mono);
  EXPECT_EQ(filter("p")[0], "node(s) were not known to gpu-scheduler yet");
}

TEST_F(ExtenderPodsTest, WhoseClaimIsMissingFitsNowhereForGood) {
  t.pod("p", "none");
  EXPECT_EQ(filter("p"), (Words(2, "never: gpuclaim \"none\" not found in namespace default; create it")));
  EXPECT_TRUE(isToBeWoken("p"));
}

TEST_F(ExtenderPodsTest, WhoFitsNowhereIsToBeWokenUntilItDoes) {
  t.pod("p");
  t.pod("f", "four");
  bind("f", "a");
  EXPECT_EQ(filter("p", {"a"}), Words{none_free});
  EXPECT_TRUE(isToBeWoken("p"));
  EXPECT_EQ(filter("p"), (Words{none_free, "fits"}));
  EXPECT_FALSE(isToBeWoken("p"));
}

TEST_F(ExtenderPodsTest, NobodyIsToBeWokenWhoIsNotKnownOrBoundOrOnItsWay) {
  const auto stranger = testing::PodBuilder{"stranger"}.scheduler("kube").claim("one").make();
  const auto* answer = answerTo(ask(stranger, {"x"}));
  ASSERT_NE(answer, nullptr);
  EXPECT_FALSE(answer->offers.anyFits());
  EXPECT_FALSE(isToBeWoken("stranger"));
  t.pod("p");
  bind("p", "a");
  (void)filter("p", {"x"});
  EXPECT_FALSE(isToBeWoken("p"));
  t.learn(testing::PodBuilder{"q"}.scheduler("kube").claim("one").on("b"));
  (void)filter("q", {"x"});
  EXPECT_FALSE(isToBeWoken("q"));
}

/// What kube-scheduler has of it may be older than what is known here.
TEST_F(ExtenderPodsTest, ThePodIsTheOneThatIsKnownHere) {
  const auto old = testing::PodBuilder{"p"}.scheduler("kube").claim("eight").make();
  EXPECT_NE(answerTo(ask(old))->offers.rejectionOf(0), nullptr);
  t.pod("p", "one");
  EXPECT_EQ(answerTo(ask(old))->offers.rejectionOf(0), nullptr);
}

TEST_F(ExtenderPodsTest, PrioritizeHoldsGpusOnTheBestNodeForAMoment) {
  t.pod("p");
  t.pod("e", "eight");
  t.pod("f", "four");
  EXPECT_EQ(rank("p"), (std::vector<int>{10, 9})) << "the fuller node";
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(filter("f")[0], "node(s) had too few free GPUs: need 4 and most free is 3");
  EXPECT_EQ(filter("p"), (Words{"fits", "fits"})) << "what is held for it is free for it";
  EXPECT_EQ(t.freeOn("a"), 3) << "it holds on";
  t.pass(Holds::kHeld - 1ns);
  EXPECT_EQ(t.freeOn("a"), 3);
  t.pass(1ns);
  EXPECT_EQ(t.freeOn("a"), 4) << "whatever was asked meanwhile";
  EXPECT_EQ(rank("p"), (std::vector<int>{10, 9}));
  EXPECT_EQ(t.freeOn("a"), 4) << "it came to nothing";
}

TEST_F(ExtenderPodsTest, OfEqualNodesOneHasABetterScore) {
  t.node("c", 4);
  t.pod("p");
  EXPECT_EQ(rank("p", {"c", "a", "b"}), (std::vector<int>{10, 9, 9}));
  EXPECT_EQ(t.freeOn("c"), 3);
  t.pod("q");
  t.pod("e", "eight");
  EXPECT_EQ(rank("e", {"c", "b"}), (std::vector<int>{0, 10}));
}

TEST_F(ExtenderPodsTest, WhoIsRankedAgainMovesWhatItHolds) {
  t.pod("p");
  (void)rank("p", {"b"});
  EXPECT_EQ(t.freeOn("b"), 7);
  t.pass(1s);
  EXPECT_EQ(rank("p"), (std::vector<int>{10, 9}));
  EXPECT_EQ(t.freeOn("a"), 3);
  EXPECT_EQ(t.freeOn("b"), 8);
  t.pass(2s);
  EXPECT_EQ(t.freeOn("a"), 4) << "until the same time";
}

TEST_F(ExtenderPodsTest, AHoldEndsWhereItsNodeIsNotAskedAboutAnyMore) {
  t.pod("p");
  t.pod("q");
  (void)rank("p");
  EXPECT_EQ(filter("p", {"b"}), Words{"fits"});
  EXPECT_EQ(t.freeOn("a"), 4);
  (void)rank("q");
  EXPECT_EQ(t.freeOn("a"), 4) << "it came to nothing there";
}

TEST_F(ExtenderPodsTest, AHoldEndsWithTheClaim) {
  t.pod("p");
  (void)rank("p");
  t.c.engine.apply({kapi::kGpuClaim, {"default", "one"}, {}, {}, 1'000}, t.c.now.mono);
  EXPECT_EQ(filter("p")[0], "never: gpuclaim \"one\" not found in namespace default; create it");
  EXPECT_EQ(t.freeOn("a"), 4);
  t.pod("q", "four");
  (void)rank("q", {"a"});
  EXPECT_EQ(t.freeOn("a"), 4) << "it came to nothing there";
}

TEST_F(ExtenderPodsTest, NothingIsHeldForWhoFitsNowhereOrIsNotKnownOrOnItsWay) {
  EXPECT_EQ(t.pods.prioritize(*testing::PodBuilder{"stranger"}.scheduler("kube").claim("one").make(),
                              t.nodes({"a", "b"})),
            (std::vector<int>{10, 9}));
  EXPECT_EQ(t.freeOn("a"), 4);
  t.pod("typo", "none");
  EXPECT_EQ(rank("typo"), (std::vector<int>{0, 0}));
  t.pod("e", "eight");
  EXPECT_EQ(rank("e", {"a"}), std::vector<int>{0});
  EXPECT_EQ(rank("e", {}), std::vector<int>{});
  t.pod("p");
  bind("p", "a");
  EXPECT_EQ(t.freeOn("a"), 3);
  (void)rank("p");
  EXPECT_EQ(t.freeOn("a") + t.freeOn("b"), 11);
  t.learn(testing::PodBuilder{"q"}.scheduler("kube").claim("one").on("b"));
  (void)rank("q");
  EXPECT_EQ(t.freeOn("a") + t.freeOn("b"), 11);
}

TEST_F(ExtenderPodsTest, WhatWasHeldEndsWhereItFitsNowhereAnyMore) {
  t.pod("p");
  (void)rank("p", {"b"});
  EXPECT_EQ(t.freeOn("b"), 7);
  EXPECT_EQ(rank("p", {"x"}), std::vector<int>{0});
  EXPECT_EQ(t.freeOn("b"), 8);
  t.pod("q");
  (void)rank("q", {"b"});
  EXPECT_EQ(t.freeOn("b"), 8) << "it came to nothing there";
}

// ---- nodes that refused it

TEST_F(ExtenderPodsTest, ANodeThatRefusedItIsNotOfferedWhileAnotherMayDo) {
  const std::string no = "never: node(s) did not take this pod a moment ago";
  t.pod("p");
  BindingCycle cycle;
  cycle.uid = t.uid("p");
  cycle.node = model::NodeName{"a"};
  cycle.refused = true;
  t.pending.triedInVain(cycle);
  EXPECT_EQ(filter("p"), (Words{no, "fits"}));
  EXPECT_EQ(rank("p"), (std::vector<int>{0, 10}));
  t.pass(1min);
  EXPECT_EQ(filter("p"), (Words{no, "fits"})) << "another may do";
  EXPECT_EQ(filter("p", {"a"}), Words{"fits"}) << "its time is over, and there is no other";
  t.pending.triedInVain(cycle);
  EXPECT_EQ(filter("p", {"a"}), Words{no}) << "not at once";
  EXPECT_TRUE(isToBeWoken("p"));
  t.pass(4s);
  EXPECT_EQ(filter("p", {"a"}), Words{"fits"});
}

// ---- filter waits for a moment

class Paced : public ExtenderPodsTest {
 protected:
  Paced() {
    for (const char* name : {"s0", "s1", "s2", "s3", "s4", "s5"}) {
      t.pod(name);
      bind(name, "b");
    }
    EXPECT_TRUE(t.binds.isCrowded("default"));
  }
};

TEST_F(Paced, WhileManyAreBeingBound) {
  t.pod("p");
  const auto id = ask(t.known("p"));
  EXPECT_EQ(answerTo(id), nullptr);
  EXPECT_EQ(t.pods.nextDue(), t.c.now.mono + AskedBinds::kPaced);
  t.applyAll();
  EXPECT_NE(answerTo(id), nullptr);
  EXPECT_EQ(t.pods.nextDue(), std::nullopt) << "nor does a bind wait";
}

TEST_F(Paced, ForAMomentAtMost) {
  t.pod("p");
  t.pod("q");
  const auto first = ask(t.known("p"));
  t.c.now.mono += 100ms;
  const auto second = ask(t.known("q"));
  t.c.now.mono += AskedBinds::kPaced - 100ms - 1ns;
  t.pods.tick(t.c.now, t.c.out);
  EXPECT_EQ(answerTo(first), nullptr);
  t.c.now.mono += 1ns;
  t.pods.tick(t.c.now, t.c.out);
  EXPECT_NE(answerTo(first), nullptr);
  EXPECT_EQ(answerTo(second), nullptr);
  t.pods.settle();
  EXPECT_NE(answerTo(second), nullptr) << "its writes take long by now: nobody waits for them";
}

TEST_F(Paced, NotWhenManyWaitAlready) {
  t.pod("p");
  for (int i = 0; i < 4; ++i) { EXPECT_EQ(answerTo(ask(t.known("p"))), nullptr) << i; }
  EXPECT_NE(answerTo(ask(t.known("p"))), nullptr);
}

TEST(PacedOfFew, OneMayWaitHoweverFewBindsMay) {
  Config config = TestParts::kubes();
  config.max_waiting_binds = 3;
  TestParts t{config};
  t.claim("one", 1);
  t.node("a", 4);
  for (const char* name : {"s0", "s1"}) {
    t.pod(name);
    t.binds.bind({1, {}, t.uid(name), model::NodeName{"a"}, t.c.now.mono + 4s, {}});
  }
  ASSERT_TRUE(t.binds.isCrowded("default"));
  t.pod("p");
  t.pods.filter({2, t.known("p"), t.nodes({"a"})});
  EXPECT_EQ(t.pods.takeFilterAnswers().size(), 0U);
  t.pods.filter({3, t.known("p"), t.nodes({"a"})});
  EXPECT_EQ(t.pods.takeFilterAnswers().size(), 1U);
}

TEST_F(Paced, NotOfANamespaceThatIsNotCrowded) {
  t.claim("one", 1, "other");
  t.pod("p", "one", "other");
  EXPECT_NE(answerTo(ask(t.known("p"))), nullptr);
}

TEST_F(Paced, WhenTheTermEndsItIsNotDecided) {
  t.pod("p");
  const auto id = ask(t.known("p"));
  t.pods.reset();
  const auto* answer = answerTo(id);
  ASSERT_NE(answer, nullptr);
  EXPECT_FALSE(answer->decided);
  EXPECT_EQ(t.pods.nextDue(), std::nullopt);
}

}  // namespace
}  // namespace gs::scheduler
