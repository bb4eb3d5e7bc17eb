// Classes of pods whose namespace has a quota by GPU model.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sched/ledger/quota.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/decider.h"

namespace gs::sched {
namespace {

TEST(DeciderQuota, ClassesFollowWhatIsUsedOfTheirQuota) {
  Ledger l;
  l.setModelLabel("model");
  testNode("a").gpus(4).label("model", "V100").addTo(l);
  testNode("b").gpus(4).label("model", "P40").addTo(l);
  const model::Quotas quotas{{"ml", {{{"V100", 2}}, {}}}};
  const auto bound = [&](const std::string& ns, std::int64_t milli) {
    return quotaBound(quotas, {"model", "pool"}, l, ns, milli);
  };
  const auto room = [&](const std::string& ns) { return quotaRoom(quotas, {"model", "pool"}, l, ns); };
  Decider d{l};
  PodRequest one = testClaim(1);
  one.quota = bound("ml", gpuMilli(one));
  const EquivalenceClass id = d.classOf(one);
  const auto place = [&](const char* uid) {
    const auto placed = d.decide(id);
    return placed ? l.reserve(placed->node, model::Uid{uid}, one, placed->ids, {"ml", gpuMilli(one)})
                  : Reservation{};
  };
  EXPECT_TRUE(d.followQuotas(room, false).empty()) << "nothing is used";
  Reservation first = place("p1");
  EXPECT_TRUE(d.followQuotas(room, false).empty()) << "one more may be used";
  const Reservation second = place("p2");
  EXPECT_EQ(l.gpuUse("ml", "V100"), 2000);
  EXPECT_EQ(d.followQuotas(room, false), std::vector{id});
  EXPECT_FALSE(d.decide(id)) << "node b is of a model that the quota does not name";
  EXPECT_EQ(d.rejection(id).text, "0/2 nodes are available: 2 ExceedsGPUQuota.");
  one.quota = bound("ml", gpuMilli(one));
  EXPECT_EQ(d.classOf(one), id) << "what is used makes no other class";
  PodRequest free = testClaim(1);
  EXPECT_TRUE(d.decide(d.classOf(free))) << "another namespace has no quota";
  first.release();
  EXPECT_EQ(d.followQuotas(room, false), std::vector{id});
  EXPECT_EQ(d.decide(id)->node.text, "a");
}

/// 40 nodes of one GPU: every second one a V100, the others P40, and all but the first two held by others.
struct TwoModels {
  static constexpr int kNodes = 40;
  TwoModels() {
    ledger.setModelLabel("model");
    for (int i = 0; i < kNodes; ++i) {
      testNode(name(i).text).gpus(1).label("model", i % 2 == 0 ? "V100" : "P40").addTo(ledger);
      if (i > 1) { ledger.hold(name(i), 0, model::Uid{"p"}, Source::Lease, {}); }
    }
  }
  static model::NodeName name(int i) { return model::NodeName{"node-" + std::to_string(100 + i)}; }
  EquivalenceClass classIn(const std::string& ns) {
    PodRequest r = testClaim(1);
    r.quota = QuotaBound{ns, 1000, termsOf(*quotaRoom(quotas, {"model", "pool"}, ledger, ns), 1000)};
    return decider.classOf(r);
  }
  void use(const std::string& ns, int node) {
    ledger.usePod(name(node), model::Uid{"in-" + ns}, Source::BoundPod, {}, 0, {ns, 1000});
  }
  bool follow() {
    const auto changed = decider.followQuotas(
        [&](const std::string& ns) {
          ++rooms;
          return quotaRoom(quotas, {"model", "pool"}, ledger, ns);
        },
        false);
    return !changed.empty();
  }

  Ledger ledger;
  model::Quotas quotas;
  Decider decider{ledger};
  int rooms = 0;
};

TEST(DeciderQuota, AChangeOfUseConcernsItsNamespaceOnly) {
  TwoModels cluster;
  std::vector<EquivalenceClass> classes;
  for (int i = 0; i < 100; ++i) {
    const std::string ns = "ns-" + std::to_string(i);
    cluster.quotas[ns].gpus = {{"V100", 1}, {"P40", 1}};
    classes.push_back(cluster.classIn(ns));
  }
  (void)cluster.follow();
  for (const EquivalenceClass c : classes) { EXPECT_EQ(cluster.decider.decide(c)->node, TwoModels::name(0)); }
  cluster.rooms = 0;
  cluster.use("ns-7", 0);
  EXPECT_TRUE(cluster.follow());
  EXPECT_EQ(cluster.rooms, 1);
  EXPECT_FALSE(cluster.follow());
  EXPECT_EQ(cluster.rooms, 1) << "nothing changed since";
  const std::uint64_t before = cluster.decider.looks();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(cluster.decider.decide(classes[i])->node, TwoModels::name(i == 7 ? 1 : 0));
  }
  // Everybody at the node that is used now; the class of ns-7 at the nodes of the model that it may not use.
  EXPECT_LE(cluster.decider.looks() - before, classes.size() + TwoModels::kNodes / 2 + 3);
}

TEST(DeciderQuota, WhatFittedNowhereIsNotLookedAtAgainWhenTheQuotaOpensAgain) {
  TwoModels cluster;
  for (const int i : {0, 1}) {
    cluster.ledger.hold(TwoModels::name(i), 0, model::Uid{"p"}, Source::Lease, {});
  }
  cluster.quotas["ml"].gpus = {{"V100", 1}};
  const EquivalenceClass c = cluster.classIn("ml");
  (void)cluster.follow();
  EXPECT_EQ(cluster.decider.look(c, 1'000), Decider::Standing::Nowhere);
  const std::uint64_t before = cluster.decider.looks();
  cluster.use("ml", 0);
  EXPECT_TRUE(cluster.follow());
  EXPECT_FALSE(cluster.decider.fits(c));
  EXPECT_EQ(cluster.decider.looks(), before) << "no model is left to it";
  cluster.ledger.unusePod(TwoModels::name(0), model::Uid{"in-ml"}, Source::BoundPod);
  EXPECT_TRUE(cluster.follow());
  EXPECT_FALSE(cluster.decider.fits(c));
  EXPECT_LE(cluster.decider.looks(), before + 1) << "one node changed";
  cluster.ledger.release(TwoModels::name(4), 0, model::Uid{"p"}, Source::Lease);
  EXPECT_TRUE(cluster.decider.fits(c));
}

}  // namespace
}  // namespace gs::sched
