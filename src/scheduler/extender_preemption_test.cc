// Whom kube-scheduler is told to evict; the rules are tried in engine/preemption_test.cc.
#include "scheduler/extender_preemption.h"

#include <gtest/gtest.h>

#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

/// Node a has four GPUs, of which a pod of priority 0 has three.
class ExtenderPreemptionTest : public ::testing::Test {
 protected:
  ExtenderPreemptionTest() {
    t.claim("one", 1);
    t.claim("three", 3);
    t.claim("one", 1, "bad");
    t.node("a", 4);
    runs("low", "three", "a:0,1,2");
    t.learn(testing::PodBuilder{"high"}.scheduler("kube").claim("one").priority(100));
  }
  void runs(const char* name, const char* of_claim, const char* allocated) {
    t.learn(
        testing::PodBuilder{name}.scheduler("kube").claim(of_claim).on("a").allocated(allocated).running());
  }
  bool holds(const char* name, const char* node = "a") {
    const model::Pod& pod = t.pod(name, "one", "bad");
    return t.holds.begin(pod, t.requestOf(pod), model::NodeName{node});
  }
  using Kept = engine::Preemption::Kept;
  std::vector<Kept> preempt() {
    ExtenderPreemption::Request request;
    request.id = 1;
    request.pod = t.known("high");
    request.nodes = {t.c.engine.ledger().indexOf(model::NodeName{"a"})};
    preemption.ask(std::move(request));
    const auto answers = preemption.takeAnswers();
    EXPECT_EQ(answers.size(), 1U);
    return answers.at(0).kept;
  }
  TestParts t;
  ExtenderPreemption preemption{t.c, t.pending, t.holds};
};

TEST_F(ExtenderPreemptionTest, NobodyIsEvictedForWhatIsHeldByCourtesy) {
  ASSERT_TRUE(holds("never-bound"));
  ASSERT_EQ(t.freeOn("a"), 0);
  EXPECT_EQ(preempt(), (std::vector<Kept>{{0, {}}})) << "it is free within 3 s";
  t.pass(Holds::kHeld);
  ASSERT_EQ(t.freeOn("a"), 1);
  EXPECT_EQ(preempt(), (std::vector<Kept>{{0, {}}})) << "it fits";
}

TEST_F(ExtenderPreemptionTest, WhoIsToBeBoundAndWaitsForASlotCameFirst) {
  const model::Pod& pod = t.pod("first");
  ASSERT_TRUE(t.holds.inLine(pod, t.requestOf(pod), model::NodeName{"a"}));
  EXPECT_EQ(preempt(), (std::vector<Kept>{{0, {t.uid("low")}}}));
}

TEST_F(ExtenderPreemptionTest, WhatIsHeldElsewhereMakesNoRoom) {
  runs("last", "one", "a:3");
  t.node("b", 4);
  ASSERT_TRUE(holds("never-bound", "b"));
  EXPECT_EQ(preempt().at(0).victims.size(), 1U);
}

}  // namespace
}  // namespace gs::scheduler
