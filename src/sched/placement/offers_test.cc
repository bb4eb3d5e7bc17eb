#include "sched/placement/offers.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/annotations.h"
#include "sched/doors/door.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"
#include "sched/placement/what_if.h"

namespace gs::sched {
namespace {

const model::Uid kSelf{"p"};

class OffersTest : public ::testing::Test {
 protected:
  void hold(const char* node, int id, const char* uid, Source source = Source::Lease) {
    l.hold(model::NodeName{node}, id, model::Uid{uid}, source, {});
  }
  [[nodiscard]] OfferedNodes nodes(const std::vector<std::string>& names) const {
    OfferedNodes out;
    for (const auto& name : names) { out.push_back(l.find(model::NodeName{name})); }
    return out;
  }
  static std::string text(const Offers& offers, std::size_t i) {
    const auto* refusal = offers.rejectionOf(i);
    return refusal == nullptr ? "fits" : (refusal->never ? "never: " : "") + refusal->text;
  }
  Ledger l;
};

TEST_F(OffersTest, SaysTheSameOfAllNodesThatSayTheSameWithTheLargestNumbers) {
  testNode("a").gpus(4, "x").addTo(l);
  testNode("b").gpus(4, "x").addTo(l);
  testNode("c").gpus(2, "x").addTo(l);
  testNode("d").gpus(4, "x").addTo(l);
  for (const int id : {0, 1, 2}) { hold("a", id, "q"); }
  for (const int id : {0, 1}) { hold("b", id, "r"); }
  const Offers offers = offersFor(nodes({"a", "b", "c", "d", "e"}), testClaim(3), kSelf);
  EXPECT_EQ(text(offers, 0), "node(s) had too few free GPUs: need 3 and most free is 2");
  EXPECT_EQ(text(offers, 1), text(offers, 0)) << "as kube-scheduler counts equal texts";
  EXPECT_EQ(text(offers, 2), "never: node(s) had too few GPUs: need 3 and the largest has 2");
  EXPECT_EQ(text(offers, 3), "fits");
  EXPECT_EQ(text(offers, 4), "node(s) were not known to gpu-scheduler yet");
  EXPECT_EQ(offers.rejections.size(), 3U);
}

TEST_F(OffersTest, WhatThePodHoldsItselfDoesNotStandInItsWay) {
  testNode("a").gpus(1, "x").addTo(l);
  hold("a", 0, "p");
  EXPECT_EQ(text(offersFor(nodes({"a"}), testClaim(1), kSelf), 0), "fits");
  EXPECT_NE(text(offersFor(nodes({"a"}), testClaim(1), model::Uid{"q"}), 0), "fits");
}

TEST_F(OffersTest, ScoresTheBestSetFirstThenTheFullerNode) {
  testNode("slow").gpus(4, "x", 100).addTo(l);
  testNode("fast").gpus(4, "x", 600).addTo(l);
  testNode("fuller").gpus(4, "x", 600).addTo(l);
  testNode("full").gpus(1, "x", 600).addTo(l);
  hold("fuller", 0, "q");
  hold("full", 0, "r");
  const auto scores = scoresFor(nodes({"slow", "fast", "fuller", "full", "none"}), testClaim(2), kSelf);
  EXPECT_EQ(scores, (std::vector<int>{8, 9, 10, 0, 0}));
}

TEST_F(OffersTest, ScoresNeverGoBelowNothing) {
  std::vector<std::string> names;
  for (int i = 0; i < 14; ++i) {
    names.push_back("n" + std::to_string(i));
    testNode(names.back().c_str()).gpus(i + 1, "x").addTo(l);
  }
  const auto scores = scoresFor(nodes(names), testClaim(1), kSelf);
  EXPECT_EQ(scores.front(), 10) << "the fullest";
  EXPECT_EQ(scores[9], 1);
  EXPECT_EQ(scores[10], 0);
  EXPECT_EQ(scores.back(), 0);
}

TEST_F(OffersTest, WithoutItsPodsANodeHasTheirResourcesToo) {
  testNode("a").gpus(2, "x").cpu(1'000).pods(1).addTo(l);
  model::Pod victim;
  victim.uid = model::Uid{"v"};
  victim.node = model::NodeName{"a"};
  victim.requests.cpu_milli = 800;
  l.usePod(victim.node, victim.uid, Source::BoundPod, victim.requests, 0);
  hold("a", 0, "v");
  PodRequest request = testClaim(2);
  request.resources.cpu_milli = 900;
  EXPECT_NE(text(offersFor(nodes({"a"}), request, kSelf), 0), "fits");
  NodeWithout without{*l.find(model::NodeName{"a"})};
  without.take(victim);
  EXPECT_EQ(text(offersFor({&without.state()}, request, kSelf), 0), "fits");
}

/// Many nodes are of one make, and what was found on one of them is not looked for again.
TEST(OffersProperty, ManyNodesAreToldWhatEachOfThemIsToldAlone) {
  int fit = 0;
  int none = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng{seed};
    Ledger l;
    OfferedNodes all;
    for (int i = 0; i < 40; ++i) {
      const std::string name = "n" + std::to_string(i);
      TestNode node = testNode(name).gpus(4, "x").gpus(4, rng.chance(50) ? "x" : "y", 300);
      if (rng.chance(10)) { node.notReady(); }
      if (rng.chance(20)) { node.cpu(100); }
      if (rng.chance(20)) { node.health(static_cast<int>(rng.below(8)), model::Health::Unhealthy); }
      if (rng.chance(20)) { node.health(static_cast<int>(rng.below(8)), model::Health::Unknown); }
      node.addTo(l);
      const model::NodeName at{name};
      for (int id = 0; id < 8; ++id) {
        if (rng.chance(rng.chance(50) ? 10 : 60)) { l.hold(at, id, model::Uid{"q"}, Source::Lease, {}); }
      }
      if (rng.chance(10)) { l.hold(at, 1, kSelf, Source::Lease, {}); }
      if (rng.chance(20)) { l.usePod(at, model::Uid{"counts"}, Source::BoundPod, {}, 1); }
      l.setAwaitsLook(at, rng.chance(15));
    }
    for (Ledger::NodeIndex i = 0; i < l.size(); ++i) { all.push_back(&l.at(i)); }
    PodRequest request = testClaim(static_cast<std::int64_t>(1 + rng.below(6)));
    request.devices->shared = rng.chance(15);
    request.resources.cpu_milli = 200;
    const Offers offers = offersFor(all, request, kSelf);
    const auto scores = scoresFor(all, request, kSelf);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto alone = fitOn(*all[i], request, kSelf);
      ASSERT_EQ(offers.rejectionOf(i) == nullptr, alone.has_value()) << "seed " << seed << " node " << i;
      ASSERT_TRUE(alone || scores[i] == 0);
      for (std::size_t k = 0; alone && k < i; ++k) {
        const auto other = fitOn(*all[k], request, kSelf);
        if (!other) { continue; }
        const auto rank = [](const NodeState& n, const Placement& p) {
          return std::pair{-p.score, n.free_devices};
        };
        const bool before = rank(*all[i], *alone) < rank(*all[k], *other);
        ASSERT_GE(scores[before ? i : k], scores[before ? k : i]) << "seed " << seed;
      }
      ++(alone ? fit : none);
    }
  }
  EXPECT_GT(fit, 1'000);
  EXPECT_GT(none, 1'000);
}

/// What kube-scheduler has looked at is not looked at again.
TEST_F(OffersTest, TheRestOfThePodIsTheOtherSchedulers) {
  testNode("a").gpus(1, "x").taint("team", "research", "NoSchedule").unschedulable().addTo(l);
  model::Pod pod;
  pod.unsupported = {"spec.affinity.podAffinity"};
  pod.node_selector = {{"zone", "east"}};
  pod.node_affinity.change().is_required = true;
  pod.host_ports = {{80, "TCP", "0.0.0.0"}};
  l.usePod(model::NodeName{"a"}, model::Uid{"web"}, Source::BoundPod, {}, 0, {}, pod.host_ports);
  pod.requests.extended[model::kNvidiaGpu] = 1;
  ASSERT_TRUE(std::holds_alternative<Blocked>(readPod(pod, {})));
  const auto door = readPod(pod, {}, kDoors, Filters::Theirs);
  const auto& request = std::get<PodRequest>(door);
  EXPECT_EQ(refuseFacts(*l.find(model::NodeName{"a"}), request), std::nullopt);
  EXPECT_EQ(refuseUse(*l.find(model::NodeName{"a"}), request), std::nullopt);
}

TEST_F(OffersTest, OneReasonForAll) {
  const Offers offers = refusedBy(3, "no such claim", true);
  for (std::size_t i = 0; i < 3; ++i) { EXPECT_EQ(text(offers, i), "never: no such claim"); }
}

TEST(AsksAtOwnDoor, AClaimOrALimitDoes) {
  model::Pod pod;
  EXPECT_FALSE(asksAtOwnDoor(pod));
  pod.share_limits = {{50, 1}};
  EXPECT_FALSE(asksAtOwnDoor(pod)) << "gpu-manager's";
  pod = {};
  pod.requests.extended[model::kNvidiaGpu] = 1;
  EXPECT_TRUE(asksAtOwnDoor(pod));
  pod = {};
  pod.annotations[model::kClaimKey] = "c";
  EXPECT_TRUE(asksAtOwnDoor(pod));
}

}  // namespace
}  // namespace gs::sched
