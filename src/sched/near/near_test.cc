// How much room rules about other pods have, and what they cost others.
#include "sched/near/near.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

using Op = model::LabelRequirement::Op;
using Holders = std::vector<std::shared_ptr<const NearStanding>>;

class NearTest : public ::testing::Test {
 protected:
  static model::PodTerm termOf(const std::string& ns, int number, Op op = Op::In) {
    return {"host", {ns}, std::nullopt, model::LabelSelector{{{"app", op, {std::to_string(number)}}}}};
  }
  /// So many terms, that no other number has.
  static NearRules rulesOf(const std::string& ns, int number, int terms = 1, Op op = Op::In) {
    NearRules rules;
    rules.ns = ns;
    for (int t = 0; t < terms; ++t) { rules.apart.push_back(termOf(ns, number * terms + t, op)); }
    return rules;
  }
  static NearRules wishesOf(const std::string& ns, int number) {
    NearRules rules;
    rules.ns = ns;
    rules.preferred = {{1, termOf(ns, number)}};
    return rules;
  }
  std::shared_ptr<const NearStanding> ask(NearRules rules) {
    return near.standingOf(std::make_shared<const NearRules>(std::move(rules)));
  }
  /// How many of them it gets, of so many.
  int fill(const std::string& ns, int rules, int terms, Holders& holders) {
    int got = 0;
    for (int i = 0; i < rules; ++i) {
      holders.push_back(ask(rulesOf(ns, i, terms)));
      got += holders.back() == nullptr ? 0 : 1;
    }
    return got;
  }
  /// What the first pod of a group costs.
  std::uint64_t costOf(const std::string& ns, const std::string& app) {
    const std::uint64_t before = near.looks();
    near.put({ns, {{"app", app}}, model::NodeName{"a"}, false});
    return near.looks() - before;
  }

  Ledger l;
  Near near{l};
};

TEST_F(NearTest, ANamespaceHasSoMuchRoom) {
  constexpr int kMost = Near::kMostOfOneNamespace;
  Holders holders;
  EXPECT_EQ(fill("a", kMost + 1, 1, holders), kMost);
  EXPECT_NE(ask(rulesOf("b", 0)), nullptr) << "another one has its own";
  EXPECT_NE(ask(rulesOf("a", 7)), nullptr) << "who asks for the same needs none";
  holders.erase(holders.begin());
  EXPECT_NE(ask(rulesOf("a", kMost)), nullptr) << "somebody let go";
}

/// Each term is a rule that every pod may have to be compared with.
TEST_F(NearTest, TermsTakeRoomToo) {
  constexpr int kTerms = 16;
  constexpr int kMost = Near::kMostOfOneNamespace * Near::kMatchers / kTerms;
  Holders holders;
  EXPECT_EQ(fill("a", kMost + 1, kTerms, holders), kMost);
  EXPECT_NE(ask(rulesOf("b", 0, kTerms)), nullptr);
  holders.erase(holders.begin());
  EXPECT_NE(ask(rulesOf("a", kMost, kTerms)), nullptr);
}

TEST_F(NearTest, WhoOnlyWishesGoesWithoutWhereHalfIsTaken) {
  constexpr int kHalf = Near::kMostOfOneNamespace / 2;
  Holders holders;
  EXPECT_EQ(fill("a", kHalf, 1, holders), kHalf);
  NearAsked wishes{std::make_shared<const NearRules>(wishesOf("a", 1)), nullptr};
  EXPECT_TRUE(near.bind(wishes));
  EXPECT_FALSE(wishes) << "it asks nothing from now on";
  NearAsked required{std::make_shared<const NearRules>(rulesOf("a", kHalf)), nullptr};
  EXPECT_TRUE(near.bind(required));
  EXPECT_NE(required.standing, nullptr);
  holders.pop_back();
  required = {};
  wishes.rules = std::make_shared<const NearRules>(wishesOf("a", 1));
  EXPECT_TRUE(near.bind(wishes));
  EXPECT_NE(wishes.standing, nullptr);
}

TEST_F(NearTest, IsCrowdedLongBeforeItIsFull) {
  constexpr int kQuarter = Near::kMostOfOneNamespace / 4;
  Holders holders;
  fill("a", kQuarter - 1, 1, holders);
  EXPECT_FALSE(near.isCrowded());
  holders.push_back(ask(rulesOf("a", kQuarter)));
  EXPECT_TRUE(near.isCrowded());
  holders.clear();
  EXPECT_FALSE(near.isCrowded());
  EXPECT_EQ(near.standings(), 0U);
}

TEST_F(NearTest, RulesThatMeanOthersCostAPodNothing) {
  Holders holders;
  for (int i = 0; i < 50; ++i) { holders.push_back(ask(rulesOf("a", i, 1, Op::NotIn))); }
  EXPECT_EQ(costOf("b", "x"), 0U) << "of another namespace";
  EXPECT_EQ(costOf("a", "x"), 50U) << "whoever only says which label it must not have";
  for (int i = 0; i < 50; ++i) { holders.push_back(ask(rulesOf("a", i))); }
  EXPECT_EQ(costOf("a", "7"), 51U) << "and the one that its label leads to";
  NearRules everywhere = rulesOf("a", 7);
  everywhere.apart.front().namespaces.clear();
  everywhere.apart.front().namespace_selector = model::LabelSelector{};
  holders.push_back(ask(everywhere));
  EXPECT_EQ(costOf("b", "7"), 1U);
  holders.clear();
  EXPECT_EQ(costOf("a", "8"), 0U) << "who is gone is compared with nobody";
  EXPECT_EQ(costOf("b", "8"), 0U);
}

/// Whoever lets many ask in one turn goes by that (Engine::looks).
TEST_F(NearTest, WhoAsksIsCounted) {
  constexpr int kNodes = 20;
  for (int i = 0; i < kNodes; ++i) {
    testNode("n" + std::to_string(i)).label("host", std::to_string(i)).addTo(l);
    near.nodeChanged(model::NodeName{"n" + std::to_string(i)});
  }
  NearRules rules;
  rules.ns = "a";
  rules.spread.emplace_back().topology_key = "host";
  const std::uint64_t before = near.looks();
  const auto standing = ask(rules);
  EXPECT_GE(near.looks() - before, std::uint64_t{kNodes}) << "it looks at the nodes";
  NearRules large = rulesOf("a", 0);
  large.apart.front().namespaces.resize(3'000);
  const auto held = ask(large);
  const std::uint64_t known = near.looks();
  EXPECT_EQ(ask(large), held);
  EXPECT_GE(near.looks() - known, 3'000U) << "they are compared with those that are known";
}

}  // namespace
}  // namespace gs::sched
