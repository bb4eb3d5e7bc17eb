// Requests for GPUs by their ids on a node by its name, as maps make them: fit, decision, words.
#include <gtest/gtest.h>

#include <numeric>

#include "model/annotations.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/decider.h"
#include "sched/placement/offers.h"

namespace gs::sched {
namespace {

constexpr Amount kShared{true, 0, 0};

class Named : public ::testing::Test {
 protected:
  void hold(int id, const char* pod, const Amount& amount, Source source = Source::Lease) {
    ledger.hold(model::NodeName{"a"}, id, model::Uid{pod}, source, amount);
  }
  /// "0,1", or why not.
  std::string give(std::vector<int> ids, std::size_t max_sharers = model::kMaxSharers) {
    PodRequest r = testMapped("a", std::move(ids));
    r.devices->max_sharers = max_sharers;
    const auto fit = fitOn(stateOf(ledger, "a"), r);
    EXPECT_EQ(decideOnce(r).has_value(), fit.has_value());
    if (fit) {
      EXPECT_EQ(fit->ids, r.devices->exact);
      return model::printIds(fit->ids);
    }
    return wordsOf(fit.error());
  }
  std::optional<Placed> decideOnce(const PodRequest& r) {
    Decider d{ledger};
    return d.decide(d.classOf(r));
  }
  std::string why(const PodRequest& r) {
    Decider d{ledger};
    const Rejection rejection = d.rejection(d.classOf(r));
    EXPECT_EQ(rejection, explainRejection(ledger, r));
    return rejection.text;
  }

  Ledger ledger;
};

TEST_F(Named, GetsExactlyWhatItNames) {
  testNode("a").gpus(4).addTo(ledger);
  EXPECT_EQ(give({0}), "0");
  EXPECT_EQ(give({1, 3}), "1,3");
  hold(1, "p", kShared);
  EXPECT_EQ(give({1, 3}), "1,3") << "two pods may name one GPU";
}

TEST_F(Named, WaitsForWhatOthersHave) {
  testNode("a").gpus(5).addTo(ledger);
  hold(0, "p", {});
  EXPECT_EQ(give({0}), "node(s) had GPU 0 held Exclusive by another pod");
  EXPECT_EQ(give({1}), "1") << "whatever is with the others";
  hold(1, "q", {true, 500, 0});
  EXPECT_EQ(give({1, 2}), "node(s) had GPU 1 held in part by another pod");
  hold(2, "r", kShared, Source::BoundPod);
  EXPECT_EQ(give({2}), "node(s) had GPU 2 named by another pod that has no lease of it");
  hold(3, "s", kShared);
  hold(3, "t", kShared);
  EXPECT_EQ(give({3}, 2), "node(s) had GPU 3 shared by 2 pods already");
  EXPECT_EQ(give({3}, 3), "3");
  EXPECT_EQ(give({0, 1}), "node(s) had GPU 0 held Exclusive by another pod")
      << "the first reason, and whose it is";
  EXPECT_EQ(give({1, 2, 3}, 2), "node(s) had GPU 1 held in part by another pod");
  hold(4, "p", {});
  EXPECT_EQ(give({0, 3, 4}), "node(s) had GPUs 0 and 4 held Exclusive by another pod");
  hold(3, "u", {}, Source::Draining);
  EXPECT_EQ(give({3}), "node(s) had GPU 3 held Exclusive by another pod") << "its containers run on";
}

TEST_F(Named, NeedsWhatTheStatusLists) {
  testNode("a").gpus(4).health(1, model::Health::Unhealthy).partitioned(2).idMoved(3).addTo(ledger);
  hold(7, "p", kShared);
  EXPECT_EQ(give({0, 5, 7}), "node(s) had no GPUs 5 and 7");
  EXPECT_EQ(give({1, 9}), "node(s) had no GPU 9");
  EXPECT_EQ(give({1, 2}), "node(s) had no whole GPU 2: MIG cuts it up");
  EXPECT_EQ(give({0, 1}), "node(s) had unhealthy GPU 1");
  EXPECT_EQ(give({0, 3}), "node(s) had no GPU 3 by number: indices moved");
}

TEST_F(Named, UnknownOnesAreGivenAsTheyAreNamed) {
  testNode("a").gpus(2).health(1, model::Health::Unknown).addTo(ledger);
  EXPECT_EQ(give({1}), "1") << "it is no choice between two";
  ledger.setAgentStale(model::NodeName{"a"}, true);
  EXPECT_EQ(give({0}), "0");
}

TEST_F(Named, WithoutAStatusIdsAreTakenAsGiven) {
  testNode("a").withoutStatus().addTo(ledger);
  EXPECT_EQ(give({0, 900}), "0,900");
  const PodRequest r = testMapped("a", {0});
  const Reservation one = ledger.reserve(model::NodeName{"a"}, model::Uid{"p"}, r, {0});
  EXPECT_EQ(give({0, 1}), "0,1");
  const Reservation two = ledger.reserve(model::NodeName{"a"}, model::Uid{"q"}, r, {0});
  EXPECT_EQ(give({0}, 2), "node(s) had GPU 0 shared by 2 pods already");
  hold(1, "x", {});
  EXPECT_EQ(give({0, 1}), "node(s) had GPU 1 held Exclusive by another pod");
}

TEST_F(Named, WithoutAStatusItNamesNoMoreThanANodeMayHave) {
  testNode("a").withoutStatus().addTo(ledger);
  std::vector<int> ids(16);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_EQ(give(ids), model::printIds(ids));
  ids.push_back(16);
  EXPECT_EQ(give(ids), "node(s) had no GpuNodeStatus: a pod may name no more than 16 GPUs there");
  testNode("a").withoutStatus().resource(model::kNvidiaGpu, 17).addTo(ledger);
  EXPECT_EQ(give(ids), model::printIds(ids));
  testNode("a").withoutStatus().resource(model::kNvidiaGpu, 1).addTo(ledger);
  EXPECT_EQ(give({0, 7}), "node(s) had no GpuNodeStatus: a pod may name no more than 1 GPUs there");
  testNode("a").gpus(2).resource(model::kNvidiaGpu, 1).addTo(ledger);
  EXPECT_EQ(give({0, 1}), "0,1") << "its status says which there are";
}

TEST_F(Named, WhereAStatusIsAwaitedIdsMeanNothing) {
  testNode("a").withoutStatus().resource(model::kNvidiaGpu, 2).addTo(ledger);
  Decider d{ledger};
  const auto c = d.classOf(testMapped("a", {0}));
  EXPECT_TRUE(d.fits(c));
  ledger.setAwaitsStatus(model::NodeName{"a"}, true);
  EXPECT_EQ(give({0}), "node(s) had no GpuNodeStatus yet: its agent is waited for");
  EXPECT_FALSE(d.fits(c));
  EXPECT_TRUE(decideOnce(testMapped("a", {}))) << "it names none";
  EXPECT_TRUE(decideOnce(testPlain(2))) << "its kubelet counts them";
  ledger.setAwaitsStatus(model::NodeName{"a"}, false);
  EXPECT_TRUE(d.fits(c));
  ledger.setAwaitsStatus(model::NodeName{"a"}, true);
  ledger.removeNode(model::NodeName{"a"});
  testNode("a").withoutStatus().addTo(ledger);
  EXPECT_EQ(give({0}), "0") << "another node of that name";
  testNode("a").gpus(1).addTo(ledger);
  ledger.setAwaitsStatus(model::NodeName{"a"}, true);
  EXPECT_EQ(give({0}), "0") << "here it is";
}

TEST_F(Named, LeavesTheGpusThatPodsHaveByTheirNumber) {
  testNode("a").gpus(3).addTo(ledger);
  ledger.usePod(model::NodeName{"a"}, model::Uid{"n"}, Source::BoundPod, {}, 2);
  EXPECT_EQ(give({2}), "2");
  EXPECT_EQ(give({0, 2}),
            "node(s) had GPUs 0 and 2 in use perhaps: pods there have 2 GPUs by nvidia.com/gpu and nobody "
            "says which");
  hold(0, "p", kShared);
  EXPECT_EQ(give({0}), "0") << "whom a lease names has it: it is none of those";
  EXPECT_EQ(
      give({1}),
      "node(s) had GPU 1 in use perhaps: pods there have 2 GPUs by nvidia.com/gpu and nobody says which");
}

TEST_F(Named, LeavesThemWithoutAStatusToo) {
  testNode("a").withoutStatus().resource(model::kNvidiaGpu, 2).addTo(ledger);
  ledger.usePod(model::NodeName{"a"}, model::Uid{"n"}, Source::BoundPod, {}, 1);
  EXPECT_EQ(give({0}), "0");
  hold(0, "p", kShared);
  EXPECT_EQ(give({0}), "0");
  EXPECT_EQ(
      give({1}),
      "node(s) had GPU 1 in use perhaps: pods there have 1 GPUs by nvidia.com/gpu and nobody says which");
}

TEST_F(Named, WhatItHoldsItselfIsNotInItsWay) {
  testNode("a").gpus(2).addTo(ledger);
  hold(0, "p", {});
  const PodRequest r = testMapped("a", {0});
  EXPECT_TRUE(fitOn(stateOf(ledger, "a"), r, model::Uid{"p"}));
  EXPECT_FALSE(fitOn(stateOf(ledger, "a"), r, model::Uid{"q"}));
}

TEST_F(Named, AdoptsWhatItNamesAndNothingElse) {
  testNode("a").gpus(2).addTo(ledger);
  const model::Uid p{"p"};
  const std::vector<int> own{0};
  const std::vector<int> other{1};
  hold(0, "p", kShared);
  EXPECT_EQ(misfitOn(stateOf(ledger, "a"), testMapped("a", {0}), p, &own), std::nullopt);
  EXPECT_NE(misfitOn(stateOf(ledger, "a"), testMapped("a", {0}), p, &other), std::nullopt)
      << "its map has changed";
  EXPECT_NE(misfitOn(stateOf(ledger, "a"), testMapped("b", {0}), p, &own), std::nullopt);
  hold(0, "q", {});
  EXPECT_NE(misfitOn(stateOf(ledger, "a"), testMapped("a", {0}), p, &own), std::nullopt);
}

TEST_F(Named, MoreThan64DevicesAreNoMatter) {
  testNode("a").gpus(100).addTo(ledger);
  EXPECT_EQ(give({0, 99}), "0,99");
  EXPECT_EQ(give({100}), "node(s) had no GPU 100");
}

TEST_F(Named, WithoutGpusItGoesThere) {
  testNode("a").gpus(1).addTo(ledger);
  testNode("b").withoutStatus().addTo(ledger);
  hold(0, "p", {});
  const auto placed = decideOnce(testMapped("a", {}));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->ids, std::vector<int>{});
  EXPECT_EQ(decideOnce(testMapped("b", {}))->node.text, "b");
}

TEST_F(Named, TheRestOfThePodCounts) {
  testNode("a").gpus(2).cpu(1'000).taint("team", "research", "NoSchedule").addTo(ledger);
  testNode("b").gpus(2).label("gpu.scheduling/enforcer", "gpu-manager").addTo(ledger);
  PodRequest r = testMapped("a", {0});
  EXPECT_EQ(why(r),
            "0/2 nodes are available: 1 node(s) had untolerated taint {team: research}, 1 node(s) were not "
            "named a.");
  r.tolerations = {{"team", "", "", true}};
  EXPECT_TRUE(decideOnce(r));
  r.resources.cpu_milli = 2'000;
  EXPECT_EQ(why(r), "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were not named a.");
  EXPECT_EQ(why(testMapped("b", {0})),
            "0/2 nodes are available: 1 node(s) were managed by gpu-manager, 1 node(s) were not named b.");
}

TEST_F(Named, SaysThatNoNodeHasTheName) {
  EXPECT_EQ(why(testMapped("x", {0})), "no nodes available to schedule pods");
  testNode("a").gpus(1).addTo(ledger);
  testNode("b").gpus(1).addTo(ledger);
  EXPECT_EQ(
      why(testMapped("x", {0})),
      "0/2 nodes are available: no node carries the name x: set the label gpu-node-name=x on the one that is "
      "meant.");
  EXPECT_EQ(why(testMapped("x,y", {0})), "0/2 nodes are available: no node is named x;y.")
      << "no label can say that";
}

TEST_F(Named, SaysWhoHasWhatItWaitsFor) {
  testNode("a").gpus(3).addTo(ledger);
  hold(0, "p", {});
  hold(1, "q", kShared);
  hold(2, "r", {});
  Decider d{ledger};
  const auto c = d.classOf(testMapped("a", {0, 1}));
  const Rejection rejection = d.rejection(c);
  EXPECT_EQ(rejection, explainRejection(ledger, d.request(c)));
  EXPECT_EQ(rejection.kind, "GpusHeld");
  EXPECT_EQ(rejection.holders, std::vector<model::Uid>{model::Uid{"p"}}) << "whose end helps";
  EXPECT_TRUE(d.remembersRejection(c));
}

TEST_F(Named, OtherSchedulersAreToldWhatWillPass) {
  EXPECT_FALSE(isNever(Reason::GpusHeld));
  EXPECT_TRUE(isNever(Reason::NoSuchGpus));
  EXPECT_TRUE(isNever(Reason::OtherName));
  testNode("a").gpus(1).addTo(ledger);
  testNode("b").gpus(1).addTo(ledger);
  const auto offers = offersFor({&stateOf(ledger, "a"), &stateOf(ledger, "b")}, testMapped("b", {0}), {});
  ASSERT_NE(offers.rejectionOf(0), nullptr);
  EXPECT_EQ(offers.rejectionOf(0)->text, "node(s) were not named b");
  EXPECT_EQ(offers.rejectionOf(1), nullptr);
}

TEST_F(Named, ADecisionLooksAtOneNodeHoweverManyThereAre) {
  for (int i = 0; i < 2'000; ++i) { testNode("n-" + std::to_string(i)).gpus(1).addTo(ledger); }
  Decider d{ledger};
  const auto c = d.classOf(testMapped("n-700", {0}));
  EXPECT_EQ(d.decide(c)->node.text, "n-700");
  EXPECT_EQ(d.looks(), 1U);
  ledger.hold(model::NodeName{"n-700"}, 0, model::Uid{"p"}, Source::Lease, {});
  EXPECT_FALSE(d.decide(c));
  const auto before = d.looks();
  for (int i = 0; i < 100; ++i) {
    ledger.hold(model::NodeName{"n-" + std::to_string(i)}, 0, model::Uid{"p"}, Source::Lease, {});
    EXPECT_FALSE(d.fits(c));
  }
  EXPECT_EQ(d.looks(), before + 100) << "others changed: that takes one look to see";
  ledger.release(model::NodeName{"n-700"}, 0, model::Uid{"p"}, Source::Lease);
  EXPECT_TRUE(d.fits(c));
  (void)d.rejection(c);
  EXPECT_EQ(d.looks(), before + 100 + 1 + 4) << "to say why takes longer than to look";
}

TEST_F(Named, FollowsTheNameToAnotherNode) {
  testNode("a").gpus(1).addTo(ledger);
  testNode("b").gpus(1).addTo(ledger);
  hold(0, "p", {});
  Decider d{ledger};
  const auto c = d.classOf(testMapped("a", {0}));
  EXPECT_FALSE(d.fits(c));
  testNode("b").gpus(1).label(model::kNodeNameLabel, "a").addTo(ledger);
  EXPECT_EQ(d.decide(c)->node.text, "b");
  testNode("b").gpus(1).addTo(ledger);
  EXPECT_FALSE(d.fits(c));
}

TEST_F(Named, GoesByItsQuota) {
  ledger.setModelLabel("model");
  testNode("a").gpus(2).label("model", "V100").addTo(ledger);
  model::Quotas quotas;
  quotas["ml"].gpus = {{"V100", 1}};
  const auto room = [&](const std::string& ns) { return quotaRoom(quotas, {"model", "pool"}, ledger, ns); };
  PodRequest r = testMapped("a", {0});
  EXPECT_EQ(gpuMilli(r), 1'000);
  r.quota = QuotaBound{"ml", 1'000, termsOf(*room("ml"), 1'000)};
  Decider d{ledger};
  const auto c = d.classOf(r);
  EXPECT_TRUE(d.fits(c));
  hold(0, "p", {});
  EXPECT_FALSE(d.fits(c));
  quotas["ml"].gpus = {{"P40", 1}};
  (void)d.followQuotas(room, true);
  ledger.release(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease);
  EXPECT_FALSE(d.fits(c));
  EXPECT_EQ(d.rejection(c).kind, "ExceedsQuota");
  quotas["ml"].gpus = {{"V100", 1}};
  (void)d.followQuotas(room, true);
  EXPECT_TRUE(d.fits(c)) << "its node is the same, what it may use is not";
}

}  // namespace
}  // namespace gs::sched
