// A decision, and the reasons where there is none, in parts that cost a bounded number of looks each,
// whatever the nodes look like.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/ledger/test_facts.h"
#include "sched/placement/decider.h"
#include "sched/placement/test_looks.h"

namespace gs::sched {
namespace {

/// 1,024 GPUs, each its own island.
TestNode wide(int i) {
  TestNode t = testNode("wide-" + std::to_string(100 + i));
  for (int gpu = 0; gpu < 1'024; ++gpu) { t.gpus(1, "island-" + std::to_string(gpu)); }
  return t;
}

PodRequest impossible(int i) {
  PodRequest r = testClaim(2);
  r.devices->topology = model::TopologyMode::Required;
  r.devices->min_bandwidth_gbps = 100 + i;
  return r;
}

class WideNodes : public ::testing::Test {
 protected:
  static constexpr int kNodes = 40;
  /// Each of its devices is walked over twice.
  static constexpr std::uint64_t kLooksOfOne = 2 * 1'024 * kStepsPerDevice / kStepsPerLook;

  WideNodes() {
    for (int i = 0; i < kNodes; ++i) { wide(i).addTo(ledger); }
  }

  Ledger ledger;
  Decider decider{ledger};
};

TEST_F(WideNodes, ALookCountsWhatItCosts) {
  const EquivalenceClass c = decider.classOf(impossible(0));
  EXPECT_GE(looksOf(decider, [&] { EXPECT_FALSE(decider.decide(c)); }), kNodes * kLooksOfOne / 2);
  wide(3).label("any", "other").addTo(ledger);
  const auto again = looksOf(decider, [&] { EXPECT_FALSE(decider.decide(c)); });
  EXPECT_GE(again, kLooksOfOne / 2) << "one node changed";
  EXPECT_LE(again, 3 * kLooksOfOne);
  EXPECT_EQ(looksOf(decider, [&] { EXPECT_FALSE(decider.decide(c)); }), 0U) << "none did";
}

TEST_F(WideNodes, ADecisionIsPreparedInParts) {
  for (const auto& request : {impossible(0), testClaim(2)}) {
    const EquivalenceClass c = decider.classOf(request);
    int parts = 1;
    for (bool done = false; !done; ++parts) {
      const auto cost = looksOf(decider, [&] { done = decider.prepare(c, 2 * kLooksOfOne); });
      EXPECT_LE(cost, 4 * kLooksOfOne);
      ASSERT_LE(parts, kNodes);
    }
    EXPECT_GE(parts, kNodes / 4);
    EXPECT_LE(looksOf(decider, [&] { (void)decider.decide(c); }), 3 * kLooksOfOne) << "little was left";
  }
}

TEST_F(WideNodes, AnotherClassMayComeInBetween) {
  const EquivalenceClass a = decider.classOf(testClaim(2));
  const EquivalenceClass b = decider.classOf(testClaim(3));
  EXPECT_FALSE(decider.prepare(a, 2 * kLooksOfOne));
  EXPECT_FALSE(decider.prepare(b, 2 * kLooksOfOne));
  decider.retire(b);
  EXPECT_EQ(decider.decide(a)->node.text, "wide-100");
  EXPECT_TRUE(decider.prepare(a, 0));
}

/// It fitted nowhere, so only what changed since is looked at, which is few nodes, and no order is made.
TEST_F(WideNodes, TheBestOfAFewChangedNodesIsFoundInParts) {
  PodRequest busy = testClaim(1'000);
  busy.devices->count = 4;
  busy.resources.cpu_milli = 64'000;
  for (int i = 0; i < kNodes; ++i) {
    ledger.usePod(stateOf(ledger, "wide-" + std::to_string(100 + i)).node.name, model::Uid{"p"},
                  Source::BoundPod, {1'000, 0, 0, {}}, 0);
  }
  const EquivalenceClass c = decider.classOf(busy);
  ASSERT_EQ(decider.look(c, 100'000), Decider::Standing::Nowhere);
  for (const int i : {7, 5, 9, 3}) {
    ledger.unusePod(stateOf(ledger, "wide-" + std::to_string(100 + i)).node.name, model::Uid{"p"},
                    Source::BoundPod);
  }
  int parts = 1;
  for (; !decider.prepare(c, kLooksOfOne / 2); ++parts) {
    if (parts == 2) {  // the best so far is taken meanwhile
      ledger.usePod(stateOf(ledger, "wide-105").node.name, model::Uid{"p"}, Source::BoundPod,
                    {1'000, 0, 0, {}}, 0);
    }
    ASSERT_LE(parts, 20);
  }
  EXPECT_GE(parts, 4);
  EXPECT_EQ(decider.decide(c)->node.text, "wide-103");
}

TEST_F(WideNodes, ReasonsAreFoundInParts) {
  const EquivalenceClass c = decider.classOf(impossible(0));
  RejectionBoard so_far;
  std::optional<Rejection> said;
  int parts = 0;
  for (; !said; ++parts) {
    const auto cost = looksOf(decider, [&] { said = decider.rejection(c, 4 * kLooksOfOne, so_far); });
    EXPECT_LE(cost, 10 * kLooksOfOne);
    ASSERT_LE(parts, kNodes);
  }
  EXPECT_GE(parts, 4);
  EXPECT_EQ(*said, explainRejection(ledger, impossible(0)));
}

/// Whatever changes between the parts: once it is prepared, the decision is the one of who starts anew.
RC_GTEST_PROP(DeciderPartsProperty, EqualOneThatStartsAnew, (std::uint64_t seed)) {
  Ledger ledger;
  TestFacts facts{ledger, seed};
  facts.fill();
  Rng& rng = facts.rng();
  Decider decider{ledger, 2};  // so few orders that most are made again and again
  std::vector<EquivalenceClass> classes;
  for (int i = 0; i < 4; ++i) { classes.push_back(decider.classOf(drawRequest(rng))); }
  RejectionBoard so_far;
  EquivalenceClass asked = classes[0];
  for (int step = 0; step < 60; ++step) {
    for (std::uint64_t n = rng.below(3); n > 0; --n) { facts.step(); }
    const EquivalenceClass c = classes[rng.below(classes.size())];
    switch (rng.below(3)) {
      case 0: {
        if (!decider.prepare(c, rng.below(4))) { break; }
        Decider fresh{ledger};
        const auto expected = fresh.decide(fresh.classOf(decider.request(c)));
        const std::uint64_t before = decider.looks();
        RC_ASSERT(decider.decide(c) == expected);
        Meter again;  // the devices of its node are chosen again, which may be a search
        if (expected && decider.request(c).devices) {
          (void)tryPlace(stateOf(ledger, expected->node.text), *decider.request(c).devices, {}, &again);
        }
        RC_ASSERT(decider.looks() - before <= 2U + again.steps / kStepsPerLook);  // as prepare() says
        break;
      }
      case 1: {
        const auto standing = decider.look(c, rng.below(4));
        Decider fresh{ledger};
        const bool fits = fresh.fits(fresh.classOf(decider.request(c)));
        RC_ASSERT(standing != Decider::Standing::Fits || fits);
        RC_ASSERT(standing != Decider::Standing::Nowhere || !fits);
        break;
      }
      default: {
        if (asked != c) { so_far = {}; }
        asked = c;
        const auto said = decider.rejection(c, rng.below(12), so_far);
        if (!said) { break; }
        so_far = {};
        const auto& request = decider.request(c);
        RC_ASSERT(*said == (request.on_node.empty() ? explainRejection(ledger, request)
                                                    : explainNamed(ledger, request)));
      }
    }
  }
}

}  // namespace
}  // namespace gs::sched
