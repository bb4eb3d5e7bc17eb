// What a node is better for that has nothing to do with GPUs (BonusOf): where it counts among nodes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/ledger/test_facts.h"
#include "sched/placement/decider.h"
#include "sched/placement/offers.h"

namespace gs::sched {
namespace {

const std::vector<model::ObjectKey> kWish{{"ml", "vectors"}};

PodRequest wishing(std::int64_t gpus) {
  PodRequest out = testClaim(gpus);
  out.better_with = kWish;
  return out;
}

struct Bonuses {
  std::map<std::string, std::int32_t> of{};
  [[nodiscard]] BonusOf function() const {
    return [this](const auto& wishes, const model::NodeName& node) {
      const auto it = of.find(node.text);
      return it == of.end() || wishes.empty() ? 0 : it->second;
    };
  }
};

struct BonusCase {
  const char* name;
  std::int64_t asked;  // GPUs
  std::map<std::string, std::int32_t> bonus;
  const char* best;
};

class BonusOrder : public ::testing::TestWithParam<BonusCase> {
 protected:
  BonusOrder() {
    testNode("empty").gpus(8).addTo(l);
    testNode("full").gpus(4).addTo(l);
    testNode("fast").gpus(8, "x", 900).addTo(l);
    testNode("sick").gpus(1).health(0, model::Health::Unknown).addTo(l);
  }
  Ledger l;
};

TEST_P(BonusOrder, GpuFitThenBonusThenFullness) {
  const auto& c = GetParam();
  const Bonuses bonuses{c.bonus};
  Decider d{l};
  d.setBonus(bonuses.function());
  EXPECT_EQ(d.decide(d.classOf(wishing(c.asked)))->node.text, c.best);

  const std::vector<std::string> names{"empty", "full", "fast", "sick"};
  OfferedNodes nodes;
  for (const auto& name : names) { nodes.push_back(l.find(model::NodeName{name})); }
  const auto scores = scoresFor(nodes, wishing(c.asked), {}, bonuses.function());
  const auto best = std::max_element(scores.begin(), scores.end());
  EXPECT_EQ(names.at(static_cast<std::size_t>(best - scores.begin())), c.best) << "as kube-scheduler is told";
}
INSTANTIATE_TEST_SUITE_P(
    Table, BonusOrder,
    ::testing::Values(
        //         name                         GPUs  bonus                          best
        BonusCase{"NobodyHasAny", 1, {}, "full"}, BonusCase{"BeatsFullness", 1, {{"empty", 1000}}, "empty"},
        BonusCase{"MoreBeatsLess", 1, {{"empty", 500}, {"fast", 1000}}, "fast"},
        BonusCase{"EqualOnesGoByFullness", 1, {{"empty", 9}, {"full", 9}}, "full"},
        BonusCase{"ThenByName", 1, {{"empty", 9}, {"fast", 9}}, "empty"},
        BonusCase{"BetterLinksBeatIt", 2, {{"empty", 1000}}, "fast"},
        BonusCase{"HealthyGpusBeatIt", 1, {{"sick", 1000}}, "full"},
        BonusCase{"WorthLessThanTheDifference", 1, {{"empty", 3}}, "full"},
        BonusCase{"EqualToItThenTheName", 1, {{"empty", 4}}, "empty"}),  // the name decides
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Bonus, WhoWishesForNothingGoesWhereHeAlwaysWent) {
  Ledger l;
  testNode("empty").gpus(8).addTo(l);
  testNode("full").gpus(4).addTo(l);
  Decider d{l};
  d.setBonus([](const auto&, const auto&) {
    ADD_FAILURE() << "nobody has to be asked";
    return 1000;
  });
  EXPECT_EQ(d.decide(d.classOf(testClaim(1)))->node.text, "full");
}

TEST(Bonus, OtherWishesAreAnotherClass) {
  Ledger l;
  Decider d{l};
  PodRequest other = wishing(1);
  other.better_with.push_back({"", "vectors"});
  EXPECT_NE(d.classOf(wishing(1)), d.classOf(testClaim(1)));
  EXPECT_NE(d.classOf(wishing(1)), d.classOf(other));
  EXPECT_EQ(d.classOf(wishing(1)), d.classOf(wishing(1)));
}

TEST(Bonus, ThatGrowsIsSeenOnceTheDeciderIsTold) {
  Ledger l;
  testNode("empty").gpus(8).addTo(l);
  testNode("full").gpus(4).addTo(l);
  Bonuses bonuses;
  Decider d{l};
  d.setBonus(bonuses.function());
  const auto c = d.classOf(wishing(1));
  EXPECT_EQ(d.decide(c)->node.text, "full");
  bonuses.of["empty"] = 1000;
  d.bonusChanged(model::NodeName{"empty"});
  EXPECT_EQ(d.decide(c)->node.text, "empty");
  d.bonusChanged(model::NodeName{"of which nobody knows"});
  EXPECT_EQ(l.find(model::NodeName{"of which nobody knows"}), nullptr);
}

TEST(Bonus, ThatGrowsHasNobodyLookedAtWhoWaits) {
  Ledger l;
  for (int i = 0; i < 100; ++i) { testNode("node-" + std::to_string(i)).gpus(1).addTo(l); }
  Bonuses bonuses;
  Decider d{l};
  d.setBonus(bonuses.function());
  const auto c = d.classOf(wishing(2));  // more than any node has
  EXPECT_EQ(d.look(c, 1000), Decider::Standing::Nowhere);
  const std::uint64_t before = d.looks();
  for (int i = 0; i < 100; ++i) {
    const std::string node = "node-" + std::to_string(i);
    bonuses.of[node] = 1000;
    d.bonusChanged(model::NodeName{node});
  }
  EXPECT_EQ(d.look(c, 1000), Decider::Standing::Nowhere);
  EXPECT_EQ(d.looks(), before);
}

/// The rule, node by node.
std::optional<Placed> withBonusByTheRule(const Ledger& ledger, const PodRequest& request,
                                         const BonusOf& bonus_of) {
  std::optional<Placed> best;
  std::tuple<std::int64_t, std::int64_t, std::string> place;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    const NodeState& n = ledger.at(i);
    const auto fit = fitOn(n, request);
    if (!n.exists || !fit) { continue; }
    const std::tuple here{-fit->score, n.free_devices - bonus_of(request.better_with, n.node.name),
                          n.node.name.text};
    if (!best || here < place) {
      best = Placed{n.node.name, fit->ids, fit->score};
      place = here;
    }
  }
  return best;
}

RC_GTEST_PROP(BonusProperty, TheChoiceIsTheRulesAfterAnyChanges, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  Rng& rng = facts.rng();
  Bonuses bonuses;
  Decider d{l};
  d.setBonus(bonuses.function());
  std::vector<EquivalenceClass> classes;
  for (int i = 0; i < 4; ++i) {
    classes.push_back(
        d.classOf(rng.chance(80) ? wishing(static_cast<std::int64_t>(1 + rng.below(3))) : testClaim(1)));
  }
  facts.fill();
  int swayed = 0;
  for (int i = 0; i < 60; ++i) {
    for (std::uint64_t n = rng.below(3); n > 0; --n) { facts.step(); }
    if (rng.chance(50)) {
      const std::string node = "node-" + std::to_string(rng.below(8));
      bonuses.of[node] = static_cast<std::int32_t>(rng.below(2) * (1 + rng.below(1000)));
      d.bonusChanged(model::NodeName{node});
    }
    const EquivalenceClass c = classes[rng.below(classes.size())];
    const auto answer = d.decide(c);
    RC_ASSERT(answer == withBonusByTheRule(l, d.request(c), bonuses.function()));
    PodRequest plain = d.request(c);
    plain.better_with.clear();
    const auto without = withBonusByTheRule(l, plain, bonuses.function());
    RC_ASSERT(answer.has_value() == without.has_value());
    if (!answer) { continue; }
    RC_ASSERT(answer->score == without->score);  // GPUs that fit as well
    swayed += answer->node != without->node ? 1 : 0;
  }
  RC_CLASSIFY(swayed > 5, "often elsewhere");
}

}  // namespace
}  // namespace gs::sched
