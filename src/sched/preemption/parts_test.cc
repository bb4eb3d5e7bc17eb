// Budgets, candidates, residents, nominated pods and the bound, each by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"
#include "sched/preemption/bound.h"
#include "sched/preemption/budgets.h"
#include "sched/preemption/candidate.h"
#include "sched/preemption/kept_residents_test.h"
#include "sched/preemption/nominations.h"

namespace gs::sched {
namespace {

model::Pod somePod(const std::string& name, std::int32_t priority = 0, int started = 0) {
  model::Pod pod;
  pod.uid = model::Uid{name};
  pod.key = {"ns", name};
  pod.priority = priority;
  if (started > 0) { pod.started = Wall{std::chrono::seconds{started}}; }
  pod.labels = {{"app", name.substr(0, name.find('-'))}};
  return pod;
}

model::Ptr<model::DisruptionBudget> budgetFor(const std::string& app, std::int64_t allowed,
                                              const std::string& name = "b",
                                              std::vector<std::string> gone = {}) {
  model::DisruptionBudget budget;
  budget.key = {"ns", name};
  budget.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {app}}}};
  budget.allowed = allowed;
  budget.disrupted = std::move(gone);
  return std::make_shared<const model::DisruptionBudget>(std::move(budget));
}

using Flags = std::vector<bool>;

TEST(Budgets, EachPodTakesOneOffUntilNoneIsLeft) {
  Budgets budgets;
  const model::Pod a = somePod("web-0");
  const model::Pod b = somePod("web-1");
  const model::Pod c = somePod("db-0");
  const std::vector<const model::Pod*> pods{&a, &b, &c};
  EXPECT_EQ(budgets.broken(pods), (Flags{false, false, false}));
  budgets.put(budgetFor("web", 1));
  EXPECT_EQ(budgets.broken(pods), (Flags{false, true, false}));
  EXPECT_EQ(budgets.broken(pods), (Flags{false, true, false})) << "nothing is used up by asking";
  budgets.put(budgetFor("web", 0));
  EXPECT_EQ(budgets.broken(pods), (Flags{true, true, false}));
  budgets.put(budgetFor("web", 0, "b", {"web-0"}));
  EXPECT_EQ(budgets.broken(pods), (Flags{false, true, false})) << "it is counted as gone already";
  budgets.put(budgetFor("db", 0));
  EXPECT_EQ(budgets.broken(pods), (Flags{false, false, true})) << "another selector";
  budgets.remove({"ns", "b"});
  EXPECT_EQ(budgets.broken(pods), (Flags{false, false, false}));
  EXPECT_EQ(budgets.size(), 0U);
}

TEST(Budgets, APodOfSeveralTakesOneOffEach) {
  Budgets budgets;
  budgets.put(budgetFor("web", 0, "none"));
  budgets.put(budgetFor("web", 1, "one"));
  const model::Pod a = somePod("web-0");
  const model::Pod b = somePod("web-1");
  EXPECT_EQ(budgets.broken({&a, &b}), (Flags{true, true}));
  budgets.remove({"ns", "none"});
  EXPECT_EQ(budgets.broken({&a, &b}), (Flags{false, true}));
}

TEST(Budgets, OfAnotherNamespaceNothingIsTaken) {
  Budgets budgets;
  budgets.put(budgetFor("web", 0));
  model::Pod other = somePod("web-0");
  other.key.ns = "other";
  EXPECT_EQ(budgets.broken({&other}), Flags{false});
}

TEST(Budgets, WhoIsProtectedIsReadOnce) {
  Budgets budgets;
  for (int i = 0; i < 10; ++i) { budgets.put(budgetFor("web", i, "b" + std::to_string(i))); }
  model::Pod pod = somePod("web-0");
  (void)budgets.broken({&pod});
  EXPECT_EQ(budgets.takeCost(), 10U);
  budgets.put(budgetFor("web", 7, "b3"));
  (void)budgets.broken({&pod});
  EXPECT_EQ(budgets.takeCost(), 0U) << "only how many may go changed";
  pod.labels = {{"app", "db"}};
  pod.revision = 2;
  EXPECT_EQ(budgets.broken({&pod}), Flags{false});
  EXPECT_EQ(budgets.takeCost(), 10U);
}

TEST(Budgets, VeryManyAreNotRememberedWithoutEnd) {
  constexpr std::size_t kBudgets = 1'000;
  Budgets budgets;
  for (std::size_t i = 0; i < kBudgets; ++i) { budgets.put(budgetFor("web", 1, "b" + std::to_string(i))); }
  const model::Pod first = somePod("web-first");
  (void)budgets.broken({&first});
  EXPECT_EQ(budgets.remembered(), 1 + kBudgets);
  (void)budgets.takeCost();
  (void)budgets.broken({&first});
  EXPECT_EQ(budgets.takeCost(), kBudgets / 16) << "to go through them costs, too";
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    const model::Pod pod = somePod("web-" + std::to_string(i));
    EXPECT_EQ(budgets.broken({&pod, &first}), (Flags{false, true}));
    most = std::max(most, budgets.remembered());
  }
  EXPECT_LT(most, Budgets::kMostRemembered + 2 * (1 + kBudgets));
}

Candidate candidateOf(const std::vector<model::Pod>& victims, std::int64_t broken = 0) {
  Candidate out{0, {}, broken};
  for (const auto& pod : victims) { out.victims.push_back(std::make_shared<const model::Pod>(pod)); }
  return out;
}

TEST(PreemptionCost, ComparesInKubeSchedulersOrder) {
  const auto better = [](const Candidate& a, const Candidate& b) { return costOf(a) < costOf(b); };
  EXPECT_TRUE(better(candidateOf({}), candidateOf({somePod("a", -100)}))) << "nobody goes";
  EXPECT_TRUE(better(candidateOf({somePod("a", 9)}), candidateOf({somePod("a", 1)}, 1)));
  EXPECT_TRUE(better(candidateOf({somePod("a", 1), somePod("b", 1)}), candidateOf({somePod("a", 2)})));
  EXPECT_TRUE(better(candidateOf({somePod("a", 2), somePod("b", 0)}),
                     candidateOf({somePod("a", 2), somePod("b", 1)})));
  EXPECT_TRUE(better(candidateOf({somePod("a", -5)}), candidateOf({somePod("a", -5), somePod("b", -5)})))
      << "fewer of negative priority are better too";
  EXPECT_TRUE(better(candidateOf({somePod("a", 2, 20)}), candidateOf({somePod("a", 2, 10)})));
  EXPECT_TRUE(better(candidateOf({somePod("a", 2)}), candidateOf({somePod("a", 2, 10)})))
      << "who has not started starts now";
  EXPECT_TRUE(better(candidateOf({somePod("a", 2, 20), somePod("b", 1, 1)}),
                     candidateOf({somePod("a", 2, 10), somePod("b", 1, 30)})))
      << "only those of the highest priority count";
  EXPECT_TRUE(better(candidateOf({somePod("a", 2, 20), somePod("b", 2, 20)}),
                     candidateOf({somePod("a", 2, 10), somePod("b", 2, 90)})))
      << "of these the first";
}

TEST(PreemptionCost, WhoStaysRather) {
  EXPECT_TRUE(staysRather(somePod("b", 2), somePod("a", 1)));
  EXPECT_TRUE(staysRather(somePod("b", 1, 10), somePod("a", 1, 20)));
  EXPECT_TRUE(staysRather(somePod("b", 1, 10), somePod("a", 1))) << "which has not started";
  EXPECT_TRUE(staysRather(somePod("a", 1, 10), somePod("b", 1, 10)));
}

model::PodPtr podThatIsOn(model::Pod pod, const std::string& node) {
  pod.node = model::NodeName{node};
  return std::make_shared<const model::Pod>(std::move(pod));
}

TEST(Residents, KnowWhetherAnybodyIsLessImportant) {
  KeptResidents residents;
  EXPECT_FALSE(residents.anyBelow(100));
  residents.put(podThatIsOn(somePod("p", 7), "a"));
  residents.put(podThatIsOn(somePod("q", 9), "a"));
  EXPECT_TRUE(residents.anyBelow(8));
  EXPECT_FALSE(residents.anyBelow(7));
  residents.put(podThatIsOn(somePod("p", 8), "b"));
  EXPECT_FALSE(residents.anyBelow(8));
  residents.remove(model::Uid{"p"});
  EXPECT_FALSE(residents.anyBelow(9));
  EXPECT_TRUE(residents.anyBelow(10));
}

TEST(Residents, AreBoundAndNotFinished) {
  KeptResidents residents;
  const model::NodeName a{"a"};
  residents.put(podThatIsOn(somePod("p"), ""));
  EXPECT_EQ(residents.size(), 0U);
  residents.put(podThatIsOn(somePod("p"), "a"));
  EXPECT_EQ(residents.on(a).size(), 1U);
  residents.put(podThatIsOn(somePod("p", 7), "a"));
  ASSERT_TRUE(residents.on(a).contains(model::Uid{"p"}));
  EXPECT_EQ((*residents.on(a).begin())->priority, 7) << "the version that came last";
  model::Pod finished = somePod("p");
  finished.phase = model::PodPhase::Succeeded;
  residents.put(podThatIsOn(finished, "a"));
  EXPECT_TRUE(residents.on(a).empty());
  const auto changes = residents.changes().end();
  residents.remove(model::Uid{"p"});
  EXPECT_EQ(residents.changes().end(), changes) << "it was gone";
  EXPECT_EQ(changes, 3U);
}

// ---- Nominated pods

TEST(Nominations, CountForThoseWhoAreNotMoreImportant) {
  Nominations nominations;
  const model::NodeName a{"a"};
  for (const auto& [name, priority] : {std::pair{"low", 1}, {"mid", 5}, {"top", 9}, {"mid-2", 5}}) {
    nominations.put({model::Uid{name}, a, priority, {}, 0});
  }
  const auto names = [&](const char* self, std::int32_t priority) {
    std::string out;
    for (const auto* one : nominations.before(a, model::Uid{self}, priority)) { out += one->uid.text + " "; }
    return out;
  };
  EXPECT_EQ(names("self", 0), "top mid mid-2 low ");
  EXPECT_EQ(names("self", 5), "top mid mid-2 ");
  EXPECT_EQ(names("mid", 5), "top ") << "mid-2 was nominated after it";
  EXPECT_EQ(names("mid-2", 5), "top mid ");
  nominations.put({model::Uid{"mid"}, a, 5, {}, 0});
  EXPECT_EQ(names("mid", 5), "top ") << "again is not later";
  EXPECT_EQ(names("self", 10), "");
  EXPECT_EQ(nominations.below(a, 5), std::vector<model::Uid>{model::Uid{"low"}});
  nominations.put({model::Uid{"top"}, model::NodeName{"b"}, 9, {}, 0});
  EXPECT_EQ(names("self", 5), "mid mid-2 ") << "it is nominated elsewhere now";
  nominations.remove(model::Uid{"mid"});
  EXPECT_EQ(nominations.of(model::Uid{"mid"}), nullptr);
  EXPECT_EQ(nominations.of(model::Uid{"top"})->node, model::NodeName{"b"});
  EXPECT_EQ(nominations.size(), 3U);
}

TEST(Nominations, AreListedByNodeFromANameOn) {
  Nominations nominations;
  const auto name = [](const char* text) { return model::NodeName{text}; };
  for (const auto& [uid, node, priority] :
       {std::tuple{"p", "a", 1}, {"q", "a", 9}, {"r", "c", 5}, {"s", "e", 5}, {"t", "a", 3}}) {
    nominations.put({model::Uid{uid}, name(node), priority, {}, 0});
  }
  using Nodes = std::vector<model::NodeName>;
  EXPECT_EQ(nominations.nodesFrom(name("b"), 9), (Nodes{name("c"), name("e"), name("a")})) << "each once";
  EXPECT_EQ(nominations.nodesFrom(name("c"), 2), (Nodes{name("c"), name("e")}));
  EXPECT_EQ(nominations.nodesFrom(name("x"), 1), Nodes{name("a")});
  using Uids = std::vector<model::Uid>;
  EXPECT_EQ(nominations.below(name("a"), 9), (Uids{model::Uid{"p"}, model::Uid{"t"}}));
  EXPECT_TRUE(nominations.anyBefore(name("a"), model::Uid{"self"}, 9));
  EXPECT_FALSE(nominations.anyBefore(name("a"), model::Uid{"self"}, 10));
  EXPECT_FALSE(nominations.anyBefore(name("a"), model::Uid{"q"}, 9)) << "but itself";
  EXPECT_FALSE(nominations.anyBefore(name("b"), model::Uid{"self"}, 0));
}

TEST(Nominations, TakeWhatTheyAskFor) {
  Ledger l;
  testNode("a").gpus(4).cpu(2'000).addTo(l);
  Nomination one{model::Uid{"one"}, model::NodeName{"a"}, 9, testClaim(3), 0};
  one.request.resources.cpu_milli = 1'500;
  const NodeState with = withNominated(stateOf(l, "a"), {&one});
  EXPECT_EQ(with.free_devices, 1);
  EXPECT_TRUE(fitsOn(with, testClaim(1)));
  EXPECT_FALSE(fitsOn(with, testClaim(2)));
  PodRequest cpu = testClaim(1);
  cpu.resources.cpu_milli = 600;
  EXPECT_FALSE(fitsOn(with, cpu));
  EXPECT_TRUE(fitsOn(stateOf(l, "a"), testClaim(4))) << "the node itself is as it was";
}

TEST(Nominations, OneThatFindsNoSetCountsByItsNumber) {
  Ledger l;
  testNode("a").gpus(2, "x").gpus(2, "y").addTo(l);
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease, {});
  DeviceRequest choosy = testDevices(3);
  choosy.topology = model::TopologyMode::Required;
  const Nomination one{model::Uid{"one"}, model::NodeName{"a"}, 9, testClaim(choosy), 0};
  const NodeState with = withNominated(stateOf(l, "a"), {&one});
  EXPECT_EQ(with.anonymous, 3);
  EXPECT_EQ(with.free_devices, 0);
}

// ---- The bound

class BoundTest : public ::testing::Test {
 protected:
  void runs(const std::string& name, std::int32_t priority, const std::vector<int>& ids, int started = 1) {
    const auto pod = podThatIsOn(somePod(name, priority, started), "a");
    residents.put(pod);
    l.usePod(pod->node, pod->uid, Source::BoundPod, pod->requests, 0);
    for (const int id : ids) { l.hold(pod->node, id, pod->uid, Source::Lease, {}); }
  }
  std::optional<PreemptionCost> least(std::int64_t gpus, std::int32_t priority = 100) {
    const auto profile = profileOf(l, *l.indexOf(model::NodeName{"a"}), residents.on(model::NodeName{"a"}));
    return leastCost(profile, needsOf(testClaim(gpus)), priority);
  }
  Ledger l;
  KeptResidents residents;
};

TEST_F(BoundTest, IsExactWherePodsAreAlike) {
  testNode("a").gpus(4).addTo(l);
  for (int i = 0; i < 4; ++i) { runs("p-" + std::to_string(i), 5, {i}, 10 + i); }
  const auto two = least(2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->highest, 5);
  EXPECT_EQ(two->victims, 2);
  EXPECT_EQ(two->sum, 2 * (5 + PreemptionCost::kRaise));
  EXPECT_EQ(two->age, ageOf(Wall{std::chrono::seconds{12}})) << "of the two that started last the first";
  EXPECT_FALSE(least(5));
  EXPECT_FALSE(least(1, 5)) << "nobody of its own priority";
}

TEST_F(BoundTest, GoesUpToThePriorityThatSuffices) {
  testNode("a").gpus(4).addTo(l);
  runs("low", 1, {0});
  runs("mid", 2, {1, 2});
  runs("high", 3, {3});
  EXPECT_EQ(least(1)->highest, 1);
  EXPECT_EQ(least(2)->highest, 2);
  EXPECT_EQ(least(2)->victims, 1);
  EXPECT_EQ(least(3)->highest, 2);
  EXPECT_EQ(least(3)->victims, 2);
  EXPECT_EQ(least(4)->highest, 3);
}

TEST_F(BoundTest, WhereSomebodyLeavesItMayCostNobody) {
  testNode("a").gpus(2).addTo(l);
  runs("low", 1, {0});
  l.hold(model::NodeName{"a"}, 1, model::Uid{"ended"}, Source::Draining, {});
  EXPECT_EQ(least(1), PreemptionCost{});
  EXPECT_EQ(least(2)->highest, 1);
}

TEST_F(BoundTest, WhereNothingThatIsCountedLacksTheLeastImportantMayDo) {
  testNode("a").gpus(4).addTo(l);
  runs("low", 1, {0});
  runs("high", 9, {1});
  EXPECT_EQ(least(2)->highest, 1) << "topology perhaps";
}

}  // namespace
}  // namespace gs::sched
