#include "engine/preemption.h"

#include <fmt/format.h>

#include "engine/engine_hand_test.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"

namespace gs::engine {
namespace {

using Kept = Preemption::Kept;
using How = Preemption::Answer::Kind;

bool fits(const sched::NodeState& node, const sched::PodRequest& request, const model::Uid& self) {
  return !sched::misfitOn(node, request, self);
}

/// node-a has four GPUs; pods of claims hold some.
class PreemptionTest : public EngineTest {
 protected:
  PodBuilder& runs(const std::string& name, std::int32_t priority, const std::vector<int>& gpus,
                   const char* node = "node-a") {
    std::string ids;
    for (const int id : gpus) { ids += (ids.empty() ? "" : ",") + std::to_string(id); }
    PodBuilder pod{name};
    pod.claim("c").on(node).priority(priority).allocated(fmt::format("{}:{}", node, ids));
    pod.annotate(model::kReservationKey, "r1").running();
    comes(pod);
    for (const int id : gpus) {
      comes(testing::makeLease(node, id, pod.value(), "r1", fmt::format("{}:{}", node, ids)));
    }
    return pods.emplace(name, pod).first->second;
  }
  void another(const char* name, int gpus) {
    nodeComes(name);
    statusComes(testing::makeStatus(name, gpus));
  }
  Preemption::Question question(std::int64_t gpus, const std::vector<std::string>& nodes,
                                std::vector<Preemption::Uids> given = {}) {
    Preemption::Question q;
    q.id = ++last;
    q.pod = PodBuilder("high").priority(100).make();
    q.request = sched::testClaim(gpus);
    for (const auto& name : nodes) { q.nodes.push_back(engine.ledger().indexOf(model::NodeName{name})); }
    q.given = std::make_shared<const std::vector<Preemption::Uids>>(std::move(given));
    return q;
  }
  std::vector<Kept> answer(Preemption::Question q) {
    preemption.ask(std::move(q));
    for (turns = 0; preemption.next() != nullptr && turns < 10'000; ++turns) { preemption.work(now); }
    const auto answers = preemption.takeAnswers();
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.at(0).kind, How::Found);
    return answers.at(0).kept;
  }
  static model::Uid uid(const char* name) { return model::Uid{std::string{"uid-"} + name}; }

  Preemption preemption{engine, fits};
  std::map<std::string, PodBuilder> pods;
  std::uint64_t last = 0;
  int turns = 0;
};

TEST_F(PreemptionTest, NamesVictimsWhereNoneWereGiven) {
  runs("a", 5, {0, 1});
  runs("b", 3, {2, 3});
  another("node-b", 2);
  runs("c", 100, {0, 1}, "node-b");
  const auto kept = answer(question(2, {"node-a", "node-b", "nobody"}, {{}, {}, {}}));
  EXPECT_EQ(kept, (std::vector<Kept>{{0, {uid("b")}}})) << "those on node-b are as important";
}

TEST_F(PreemptionTest, NamesMoreWhereTheGivenOnesDoNotSuffice) {
  runs("a", 5, {0, 1});
  runs("b", 3, {2, 3});
  EXPECT_EQ(answer(question(2, {"node-a"}, {{uid("a")}})), (std::vector<Kept>{{0, {}}})) << "as given";
  EXPECT_EQ(answer(question(4, {"node-a"}, {{uid("b"), uid("unknown")}})),
            (std::vector<Kept>{{0, {uid("unknown"), uid("a"), uid("b")}}}))
      << "the most important first, whom nobody knows before them";
}

TEST_F(PreemptionTest, ANodeThatDoesNotSufficeIsNone) {
  runs("a", 5, {0, 1});
  EXPECT_TRUE(answer(question(5, {"node-a"}, {{}})).empty());
}

TEST_F(PreemptionTest, WhoseOwnPolicyForbidsItDisplacesNobody) {
  runs("a", 5, {0, 1, 2, 3});
  Preemption::Question q = question(1, {"node-a"}, {{}});
  model::Pod pod = *q.pod;
  pod.preempts = false;
  q.pod = std::make_shared<const model::Pod>(pod);
  EXPECT_TRUE(answer(std::move(q)).empty());
}

TEST_F(PreemptionTest, WhereItFitsNobodyIsNamedThereNorElsewhereForAWhile) {
  runs("a", 5, {0, 1});
  another("node-b", 2);
  runs("b", 3, {0, 1}, "node-b");
  EXPECT_EQ(answer(question(2, {"node-b", "node-a"}, {{}, {}})), (std::vector<Kept>{{1, {}}}));
}

/// What a victim had is free some moments after kube-scheduler knows that it is gone.
TEST_F(PreemptionTest, NobodyIsEvictedWhileWhatLeavesIsEnough) {
  agentLooks();
  PodBuilder& a = runs("a", 5, {0, 1, 2, 3});
  another("node-b", 4);
  runs("b", 3, {0, 1, 2, 3}, "node-b");
  const auto both = [&] { return answer(question(4, {"node-a", "node-b"}, {{}, {}})); };
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {uid("a")}}, {1, {uid("b")}}}));
  model::Pod deleting = a.value();
  deleting.deleting = true;
  deleting.revision = 7;
  engine.apply({kapi::kPod, deleting.key, {}, shared(deleting), 7}, now);
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {}}})) << "it is on its way";
  now += 20s;
  engine.apply({kapi::kPod, deleting.key, deleting.uid, {}, 8, shared(deleting)}, now);
  ASSERT_NE(use(0), DeviceUse::Free);
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {}}})) << "its containers may run";
}

TEST_F(PreemptionTest, WhoNeverGoesIsWaitedForFortySeconds) {
  PodBuilder& a = runs("a", 5, {0, 1, 2, 3});
  another("node-b", 4);
  runs("b", 3, {0, 1, 2, 3}, "node-b");
  model::Pod deleting = a.value();
  deleting.deleting = true;
  deleting.revision = 7;
  engine.apply({kapi::kPod, deleting.key, {}, shared(deleting), 7}, now);
  const auto both = [&] { return answer(question(4, {"node-a", "node-b"}, {{}, {}})); };
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {}}}));
  now += 39s;
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {}}}));
  now += 1s;
  EXPECT_EQ(both(), (std::vector<Kept>{{1, {uid("b")}}})) << "it counts as staying";
  now += 2min;
  EXPECT_EQ(both(), (std::vector<Kept>{{0, {}}})) << "that was long ago";
}

TEST_F(PreemptionTest, VictimsOfItsNamespaceGiveBackQuota) {
  model::QuotaConfig config;
  config.map = {"kube-system", "gpuquota"};
  config.labels = {"model", "pool"};
  engine.configureQuota(config);
  model::Node node = testing::makeNode("node-a");
  node.labels["model"] = "V100";
  node.revision = 2;
  engine.apply({kapi::kNode, {"", "node-a"}, {}, shared(node), 2}, now);
  const auto limit = [&](std::int64_t gpus) {
    const model::Quotas of{{"default", {{{"V100", gpus}}, {}}}};
    engine.apply(
        {kapi::kQuotaMap, config.map, {}, shared(model::QuotaMap{config.map, {}, ++last, of, {}}), last},
        now);
  };
  limit(2);
  runs("mine", 5, {0});
  PodBuilder other{"other", "elsewhere"};
  other.on("node-a").priority(1).allocated("node-a:1").annotate(model::kReservationKey, "r1").running();
  comes(other);
  Preemption::Question q = question(2, {"node-a"}, {{}});
  q.milli = 2'000;
  EXPECT_EQ(answer(std::move(q)), (std::vector<Kept>{{0, {uid("mine")}}}))
      << "two are free, and one of the quota is used";
  limit(1);
  Preemption::Question too_many = question(2, {"node-a"}, {{}});
  too_many.milli = 2'000;
  EXPECT_TRUE(answer(std::move(too_many)).empty());
}

// ---- What it costs

TEST_F(PreemptionTest, ANodeThatIsNamedOftenIsLookedAtOnce) {
  runs("a", 5, {0, 1, 2, 3});
  const auto cost = [&](std::size_t times) {
    const std::uint64_t before = preemption.cost();
    EXPECT_EQ(answer(question(1, std::vector<std::string>(times, "node-a"))),
              (std::vector<Kept>{{0, {uid("a")}}}));
    return preemption.cost() - before;
  };
  const std::uint64_t once = cost(1);
  EXPECT_EQ(cost(1'000), once + 999) << "a glance at each name";
}

TEST_F(PreemptionTest, ManyNodesAreSpreadOverTurns) {
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) {
    names.push_back(fmt::format("n{:04}", i));
    another(names.back().c_str(), 4);
    runs(fmt::format("p{:04}", i), 5, {0, 1, 2, 3}, names.back().c_str());
  }
  const std::uint64_t before = preemption.cost();
  preemption.ask(question(2, names));
  preemption.work(now);
  const std::uint64_t first = preemption.cost() - before;
  EXPECT_TRUE(preemption.takeAnswers().empty());
  int turns = 1;
  for (; preemption.next() != nullptr; ++turns) {
    const std::uint64_t until = preemption.cost();
    preemption.work(now);
    EXPECT_LE(preemption.cost() - until, first + 200);
  }
  EXPECT_GE(turns, 4);
  EXPECT_EQ(preemption.takeAnswers().at(0).kept.size(), 1'000U);
}

TEST_F(PreemptionTest, ManyGivenPodsCostOneLookEach) {
  runs("a", 5, {0, 1, 2, 3});
  const auto cost = [&](std::size_t victims) {
    const std::uint64_t before = preemption.cost();
    (void)answer(question(1, {"node-a"}, {Preemption::Uids(victims, model::Uid{"nobody"})}));
    return preemption.cost() - before;
  };
  const std::uint64_t none = cost(0);
  EXPECT_EQ(cost(10'000), none + 10'000);
}

TEST_F(PreemptionTest, OfANodeThatVeryManySayTheyAreOnNobodyGoes) {
  for (std::size_t i = 0; i <= Preemption::kMostHolders; ++i) {
    engine.ledger().hold(model::NodeName{"node-a"}, static_cast<int>(i % 4),
                         model::Uid{fmt::format("forged-{}", i)}, sched::Source::BoundPod, {});
  }
  runs("a", 5, {0, 1, 2, 3});
  EXPECT_TRUE(answer(question(1, {"node-a"}, {{}})).empty());
  EXPECT_LT(preemption.cost(), 1'000U);
}

TEST_F(PreemptionTest, NodesThatComeMeanwhileOrWaitingTooLongEndIt) {
  preemption.ask(question(1, {"node-a"}));
  another("node-b", 1);
  preemption.work(now);
  EXPECT_EQ(preemption.takeAnswers().at(0).kind, How::NodesChanged) << "an index may mean another node";
  Preemption::Question q = question(1, {"node-a"});
  q.until = now;
  preemption.ask(std::move(q));
  preemption.work(now);
  EXPECT_EQ(preemption.takeAnswers().at(0).kind, How::TooLate);
  preemption.ask(question(1, {"node-a"}));
  EXPECT_EQ(preemption.drop(), (std::vector<std::uint64_t>{last}));
  EXPECT_EQ(preemption.size(), 0U);
}

}  // namespace
}  // namespace gs::engine
