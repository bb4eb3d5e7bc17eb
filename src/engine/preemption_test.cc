#include "engine/preemption.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "engine/engine_hand_test.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"

namespace gs::engine {
namespace {

using Kept = Preemption::Kept;
using How = Preemption::Answer::Kind;

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

  Preemption preemption{engine, sched::fitsOn};
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

/// A lease may name a pod of which the watch of pods has not told yet, or will never.
TEST_F(PreemptionTest, AHolderThatNobodyKnowsStays) {
  runs("a", 5, {0, 1});
  const PodBuilder unknown{"unknown"};
  for (const int id : {2, 3}) { comes(leaseOf(unknown, id)); }
  ASSERT_EQ(use(2), DeviceUse::Held);
  EXPECT_EQ(answer(question(2, {"node-a"}, {{}})), (std::vector<Kept>{{0, {uid("a")}}}));
  EXPECT_TRUE(answer(question(3, {"node-a"}, {{}})).empty());
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

/// Some pods only have leases, others only say what they have; some run elsewhere, are as important, or are
/// gone. Who is named is known, runs there and is less important, and none is named twice.
TEST_F(PreemptionTest, WhoeverHoldsWhatOnlyThoseThatAreKnownThereAreNamed) {
  agentLooks();
  std::size_t named = 0;
  std::size_t holders_nobody_knows = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng{seed};
    const std::string node = fmt::format("drawn-{}", seed);
    another(node.c_str(), 8);
    std::set<model::Uid> may_go;
    for (int id = 0; id < 8; ++id) {
      PodBuilder pod{fmt::format("p{}-{}", seed, id)};
      const std::string ids = fmt::format("{}:{}", node, id);
      const int priority = rng.chance(70) ? 5 : 100;
      const bool is_elsewhere = rng.chance(15);
      pod.claim("c").on(is_elsewhere ? "node-a" : node.c_str()).priority(priority).running();
      if (rng.chance(80)) { pod.allocated(ids).annotate(model::kReservationKey, "r1"); }
      const bool is_known = rng.chance(70);
      if (is_known) { comes(pod); }
      if (rng.chance(80)) { comes(testing::makeLease(node, id, pod.value(), "r1", ids)); }
      if (is_known && rng.chance(10)) { goesAs(pod); }
      if (is_known && !is_elsewhere && priority < 100) { may_go.insert(pod.value().uid); }
      holders_nobody_knows += is_known ? 0 : 1;
    }
    for (const Kept& kept : answer(question(static_cast<std::int64_t>(1 + rng.below(8)), {node}, {{}}))) {
      named += kept.victims.size();
      const std::set<model::Uid> once{kept.victims.begin(), kept.victims.end()};
      EXPECT_EQ(once.size(), kept.victims.size()) << "seed " << seed;
      for (const auto& victim : once) { EXPECT_TRUE(may_go.contains(victim)) << "seed " << seed; }
    }
  }
  EXPECT_GT(named, 100U);
  EXPECT_GT(holders_nobody_knows, 500U);
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

/// What looks have taken, in steps, and how many there were.
struct Spent {
  std::uint64_t steps = 0;
  std::uint64_t longest = 0;
  int many = 0;
};
Spent& spent() {
  static Spent all;
  return all;
}

bool fitsAndCounts(const sched::NodeState& node, const sched::PodRequest& request, const model::Uid& self,
                   sched::Meter* meter) {
  sched::Meter own;
  const bool fits = sched::fitsOn(node, request, self, &own);
  sched::addSteps(meter, own.steps);
  spent().steps += own.steps;
  spent().longest = std::max(spent().longest, own.steps);
  ++spent().many;
  return fits;
}

/// Four islands of 64. Of each, 40 GPUs are free, with links of 601 GB/s between some, and pods of two have
/// the others, with such links between all. Who wants 16 with 601 GB/s between all has to have eight of those
/// pods go, and each look at the node searches among the free ones first.
class WidePreemption : public PreemptionTest {
 protected:
  static constexpr int kIsland = 64;
  static constexpr int kFree = 40;
  static constexpr int kWide = 4 * kIsland;
  WidePreemption() {
    nodeComes("wide");
    auto status = testing::makeStatus("wide", kWide, kIsland);
    Rng rng{1};
    for (auto& d : status.devices) {
      const int island = d.id / kIsland * kIsland;
      for (int to = island; to < island + kIsland; ++to) {
        const int taken = (d.id - island >= kFree ? 1 : 0) + (to - island >= kFree ? 1 : 0);
        const bool is_fast = taken == 2 || (taken == 0 && rng.chance(50));
        if (to != d.id) { d.links.push_back({to, is_fast ? 601 : 600}); }
      }
    }
    statusComes(status);
    for (int id = 0; id < kWide; id += 2) {
      if (id % kIsland >= kFree) { runs("p" + std::to_string(id), id * 37 % 101, {id, id + 1}, "wide"); }
    }
    spent() = {};
  }
  Preemption::Question fast() {
    Preemption::Question q = question(16, {"wide"}, {{}});
    q.pod = PodBuilder("high").priority(1'000).make();
    q.request.devices->topology = model::TopologyMode::Required;
    q.request.devices->min_bandwidth_gbps = 601;
    return q;
  }
  Preemption wide{engine, fitsAndCounts};
};

TEST_F(WidePreemption, ATurnEndsByWhatItsLooksCost) {
  wide.ask(fast());
  std::uint64_t most = 0;
  int turns = 0;
  for (; wide.next() != nullptr && turns < 10'000; ++turns) {
    const std::uint64_t before = spent().steps;
    wide.work(now);
    most = std::max(most, spent().steps - before);
  }
  EXPECT_LE(most, spent().longest + 20'000 * sched::kStepsPerDevice);
  EXPECT_GT(spent().steps, 10 * most) << "there is much to do";
  EXPECT_GT(spent().many, 30);
  const auto answers = wide.takeAnswers();
  ASSERT_EQ(answers.at(0).kept.size(), 1U);
  EXPECT_EQ(answers.at(0).kept[0].victims.size(), 16 / 2U);
}

/// Its pods end, its GPUs go, in the middle of it.
TEST_F(WidePreemption, WhatComesMeanwhileIsOfTheNextRequest) {
  wide.ask(fast());
  while (wide.next() != nullptr) { wide.work(now); }
  const auto expected = wide.takeAnswers().at(0).kept;
  wide.ask(fast());
  wide.work(now);
  ASSERT_NE(wide.next(), nullptr);
  for (auto& [name, pod] : pods) { goes(pod); }
  statusComes([] {
    auto status = testing::makeStatus("wide", 1);
    status.revision = 9;
    return status;
  }());
  while (wide.next() != nullptr) { wide.work(now); }
  EXPECT_EQ(wide.takeAnswers().at(0).kept, expected);
  wide.ask(fast());
  while (wide.next() != nullptr) { wide.work(now); }
  EXPECT_TRUE(wide.takeAnswers().at(0).kept.empty());
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
