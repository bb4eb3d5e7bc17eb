#include "scheduler/pending/unschedulable.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

class UnschedulableTest : public ::testing::Test {
 protected:
  UnschedulableTest() {
    t.claim("one", 1);
    t.node("a", 4);
  }
  [[nodiscard]] std::size_t nodesLeftOut(const std::string& pod) const {
    return t.requestOf(*t.known(pod)).not_on.size();
  }

  TestParts t;
  FetchFirst fetch_first{t.c, t.node_caches};
  Unschedulable unschedulable{t.c, t.pending, t.node_caches, fetch_first};
};

/// Also one that was held back when its class was said to fit nowhere, and comes to it later.
TEST_F(UnschedulableTest, WhoJoinsAClassThatFitsNowhereIsTriedAgainWhereItWasTriedInVain) {
  t.pod("p");
  BindingCycle cycle;
  cycle.uid = t.uid("p");
  cycle.node = model::NodeName{"a"};
  t.pending.triedInVain(cycle);
  const auto pod_class = t.c.engine.decider().classOf(t.requestOf(*t.known("p")));
  unschedulable.reject(pod_class);
  t.pass(std::chrono::minutes{1});
  ASSERT_EQ(nodesLeftOut("p"), 1U) << "another may do";
  unschedulable.joined(*t.known("p"), pod_class);
  EXPECT_EQ(nodesLeftOut("p"), 0U);
}

/// Volumes that change, and nobody is told.
class SilentVolumes final : public sched::VolumeSelection {
 public:
  explicit SilentVolumes(const bool& refuses) : refuses_{refuses} {}
  [[nodiscard]] std::optional<sched::Misfit> refuse(Filter, const model::Node&) const override {
    return refuses_ ? std::optional{sched::Misfit{sched::Reason::VolumeElsewhere, "", 0, 0}} : std::nullopt;
  }
  [[nodiscard]] std::uint64_t moment() const override { return 1; }

 private:
  const bool& refuses_;
};

TEST_F(UnschedulableTest, EveryClassIsLookedAtAgainInTheEndThoughNothingIsKnownToHaveChanged) {
  constexpr std::size_t kClasses = 20;
  bool refuses = true;
  t.pod("p");
  auto& decider = t.c.engine.decider();
  auto& queue = t.c.engine.queue();
  for (std::size_t i = 0; i < kClasses; ++i) {
    sched::PodRequest request = t.requestOf(*t.known("p"));
    request.resources.cpu_milli = static_cast<std::int64_t>(i);
    request.volumes = std::make_shared<const SilentVolumes>(refuses);
    const auto id = decider.classOf(request);
    queue.add({model::Uid{std::to_string(i)}, 0, 0, id});
    unschedulable.reject(id);
  }
  unschedulable.activateFitting();
  refuses = false;
  unschedulable.activateFitting();
  ASSERT_EQ(queue.unschedulableClasses().size(), kClasses) << "nobody was told";
  unschedulable.lookAgainAtSome();
  unschedulable.activateFitting();
  EXPECT_EQ(queue.unschedulableClasses().size(), 17U) << "an eighth of them at a time";
  for (std::size_t i = 1; i < Unschedulable::kSweepsForAll; ++i) {
    unschedulable.lookAgainAtSome();
    unschedulable.activateFitting();
  }
  EXPECT_LE(queue.unschedulableClasses().size(), 5U) << "fewer each time, as fewer are left";
  for (std::size_t i = 0; i < kClasses && !queue.unschedulableClasses().empty(); ++i) {
    unschedulable.lookAgainAtSome();
    unschedulable.activateFitting();
  }
  EXPECT_EQ(queue.sizes().ready, kClasses);
  unschedulable.lookAgainAtSome();
  EXPECT_FALSE(unschedulable.mayFit()) << "nobody waits";
}

/// Jobs that each say a rule of their own come one after the other: there is room for the next.
TEST_F(UnschedulableTest, ClassesWithRulesThatNobodyWaitsWithAreRetired) {
  sched::Decider& decider = t.c.engine.decider();
  const auto ask = [&](int i) {
    model::Pod pod = testing::PodBuilder{"job-" + std::to_string(i)}.value();
    const model::LabelSelector its_own{{{"job", model::LabelRequirement::Op::In, {std::to_string(i)}}}};
    pod.affinity.change().apart = {{"host", {"default"}, std::nullopt, its_own}};
    auto request = std::get<sched::PodRequest>(sched::readPod(pod, {}, t.c.engine.doors()));
    EXPECT_FALSE(t.c.engine.askNear(pod, request));
    (void)decider.classOf(request);
  };
  int asked = 0;
  while (!t.c.engine.hasManyRules() && asked < 5'000) { ask(asked++); }
  EXPECT_LT(asked, 5'000);
  EXPECT_EQ(decider.classes(), static_cast<std::size_t>(asked));
  unschedulable.retireClasses();
  EXPECT_EQ(decider.classes(), 0U);
  EXPECT_FALSE(t.c.engine.hasManyRules());
  ask(0);
  unschedulable.retireClasses();
  EXPECT_EQ(decider.classes(), 1U) << "few are kept: they may come again";
}

}  // namespace
}  // namespace gs::scheduler
