#include "sched/ledger/anti_affinity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/random.h"
#include "testing/builders.h"

namespace gs::sched {
namespace {

const model::AntiAffinityTerm kByZone{"zone", {"default"}, {}};
const model::AntiAffinityTerm kByHost{"host", {"default"}, {}};

class AntiAffinityTest : public ::testing::Test {
 protected:
  void node(const std::string& name, model::Labels labels) {
    model::Node n = testing::makeNode(name);
    n.labels = std::move(labels);
    ledger.upsertNode(n);
    rules.nodeChanged(n.name);
  }
  void dropNode(const std::string& name) {
    ledger.removeNode(model::NodeName{name});
    rules.nodeChanged(model::NodeName{name});
  }
  bool put(const char* uid, const std::string& where, std::vector<model::AntiAffinityTerm> terms) {
    return rules.put(model::Uid{uid}, "default", model::NodeName{where}, terms);
  }
  using Terms = std::vector<model::AntiAffinityTerm>;
  using Ids = std::vector<model::TermId>;
  static Ids ids(const Terms& terms) {
    Ids out;
    for (const auto& term : terms) { out.push_back(model::idOf(term)); }
    std::sort(out.begin(), out.end());
    return out;
  }
  /// What closes a node that they close: each, and all that their owner says of its namespace.
  static Ids closing(const Terms& terms) {
    std::set<model::TermId> out;
    for (const auto& term : terms) {
      for (const auto id : TermIndex::namesOf("default", model::idOf(term), term)) { out.insert(id); }
    }
    return {out.begin(), out.end()};
  }
  [[nodiscard]] Ids closedTo(const std::string& name) const {
    const NodeState* state = ledger.find(model::NodeName{name});
    std::set<model::TermId> ids;
    if (state != nullptr) {
      for (const auto& terms : state->closed_to) {
        for (const auto& [id, pods] : *terms) { ids.insert(id); }
      }
    }
    return {ids.begin(), ids.end()};
  }

  Ledger ledger;
  AntiAffinity rules{ledger};
};

TEST_F(AntiAffinityTest, ClosesAllNodesOfTheDomainWhileThePodIsThere) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "1"}});
  node("c", {{"zone", "2"}});
  node("d", {});
  EXPECT_TRUE(put("p", "a", {kByZone}));
  EXPECT_EQ(closedTo("a"), closing(Terms{kByZone}));
  EXPECT_EQ(closedTo("b"), closing(Terms{kByZone}));
  EXPECT_EQ(closedTo("c"), closing(Terms{}));
  EXPECT_EQ(closedTo("d"), closing(Terms{}));
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(closedTo("b"), closing(Terms{}));
}

TEST_F(AntiAffinityTest, StaysClosedUntilTheLastOfThemGoes) {
  node("a", {{"host", "a"}});
  EXPECT_TRUE(put("p", "a", {kByHost}));
  EXPECT_FALSE(put("q", "a", {kByHost})) << "nobody new is meant";
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(closedTo("a"), closing(Terms{kByHost}));
  rules.remove(model::Uid{"q"});
  rules.remove(model::Uid{"q"});
  EXPECT_EQ(closedTo("a"), closing(Terms{}));
}

TEST_F(AntiAffinityTest, NodesThatComeLaterAreClosedToo) {
  put("p", "a", {kByZone});
  node("b", {{"zone", "1"}});
  EXPECT_EQ(closedTo("b"), closing(Terms{})) << "nothing is known of the pod's node";
  node("a", {{"zone", "1"}});
  EXPECT_EQ(closedTo("b"), closing(Terms{kByZone}));
  node("c", {{"zone", "1"}});
  EXPECT_EQ(closedTo("c"), closing(Terms{kByZone}));
}

TEST_F(AntiAffinityTest, FollowsTheLabelsOfThePodsNode) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "2"}});
  put("p", "a", {kByZone});
  node("a", {{"zone", "2"}});
  EXPECT_EQ(closedTo("b"), closing(Terms{kByZone}));
  dropNode("a");
  EXPECT_EQ(closedTo("b"), closing(Terms{}));
  node("a", {{"zone", "2"}});
  EXPECT_EQ(closedTo("b"), closing(Terms{kByZone}));
}

TEST_F(AntiAffinityTest, SaysWhomTheTermsMean) {
  const model::AntiAffinityTerm web{"zone", {}, {{{"app", model::LabelRequirement::Op::In, {"web"}}}}};
  put("p", "a", {kByHost, web});
  EXPECT_EQ(rules.meaning("default", {{"app", "web"}}), ids(Terms{kByHost, web}));
  EXPECT_EQ(rules.meaning("other", {{"app", "web"}}), ids(Terms{web}));
  EXPECT_EQ(rules.meaning("other", {}), ids(Terms{}));
  put("p", "a", {});
  EXPECT_EQ(rules.meaning("default", {{"app", "web"}}), ids(Terms{}));
}

TEST_F(AntiAffinityTest, ATermOfVeryManyNamespacesMeansNoOthers) {
  model::AntiAffinityTerm term{"zone", {}, {}};
  for (int i = 100; i < 200; ++i) { term.namespaces.push_back("ns-" + std::to_string(i)); }
  put("p", "a", {term});
  EXPECT_EQ(rules.meaning("ns-150", {}), ids(Terms{term}));
  EXPECT_EQ(rules.meaning("default", {}), ids(Terms{}));
}

/// One id stands for all that an owner says: who goes takes off it no more than it counted.
TEST_F(AntiAffinityTest, APodSaysOnlyWhatItCountsFor) {
  node("a", {{"host", "a"}});
  put("p", "a", {kByHost, kByZone});
  const auto said = rules.saidBy(model::Uid{"p"});
  std::map<model::TermId, int> counted;
  for (const auto id : said) { ++counted[id]; }
  std::map<model::TermId, int> closed;
  for (const auto& terms : ledger.find(model::NodeName{"a"})->closed_to) {
    for (const auto& [id, pods] : *terms) { closed[id] += pods; }
  }
  EXPECT_EQ(counted, closed);
  EXPECT_TRUE(rules.saidBy(model::Uid{"nobody"}).empty());
  dropNode("a");
  EXPECT_TRUE(rules.saidBy(model::Uid{"p"}).empty());
}

TEST_F(AntiAffinityTest, KeysThatNobodyNamesAreForgottenAndLearnedAnew) {
  node("a", {{"zone", "1"}});
  put("p", "a", {kByZone});
  rules.remove(model::Uid{"p"});
  node("a", {{"zone", "2"}});
  node("b", {{"zone", "2"}});
  put("p", "a", {kByZone});
  EXPECT_EQ(closedTo("b"), closing({kByZone}));
}

TEST_F(AntiAffinityTest, APodOfManyTermsChangesEachNodeOnceAndNobodyElsesMind) {
  constexpr int kNodes = 200;
  for (int i = 0; i < kNodes; ++i) { node("n" + std::to_string(i), {{"all", "same"}}); }
  Terms terms;
  for (int i = 0; i < 64; ++i) {
    terms.push_back({"all", {}, {{{"app" + std::to_string(i), model::LabelRequirement::Op::Exists, {}}}}});
  }
  const std::uint64_t changes = ledger.changesEnd();
  const std::uint64_t closings = ledger.closings().end();
  put("p", "n0", terms);
  EXPECT_EQ(ledger.closings().end() - closings, kNodes) << "by " << terms.size() << " terms";
  EXPECT_EQ(closedTo("n199"), closing(terms));
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(ledger.closings().end() - closings, 2 * kNodes);
  EXPECT_EQ(closedTo("n199"), Ids{});
  EXPECT_EQ(ledger.changesEnd(), changes) << "who is meant by no term need not look again";
}

TEST_F(AntiAffinityTest, ANodeThatComesForAnotherOneUnderItsIndexHasItsOwnDomains) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "2"}});
  put("p", "b", {kByZone});
  dropNode("a");
  node("c", {{"zone", "2"}});
  ASSERT_EQ(ledger.size(), 2U);
  EXPECT_EQ(closedTo("c"), closing(Terms{kByZone}));
  node("a", {{"zone", "1"}});
  EXPECT_EQ(closedTo("a"), Ids{});
}

/// Whatever happened before, a node is closed to a term exactly if some pod that says it is on a node of the
/// same domain.
RC_GTEST_FIXTURE_PROP(AntiAffinityTest, ClosedIsWhatTheDefinitionSays, (std::uint64_t seed)) {
  Rng rng{seed};
  std::map<std::string, model::Labels> nodes;
  std::map<std::string, std::pair<std::string, Terms>> pods;
  const auto any = [&](std::initializer_list<const char*> of) {
    return std::string{of.begin()[rng.below(of.size())]};
  };
  for (int i = 0; i < 80; ++i) {
    const std::string name = any({"a", "b", "c"});
    const std::string uid = any({"p", "q", "r"});
    switch (rng.below(4)) {
      case 0:
        nodes.erase(name);
        dropNode(name);
        break;
      case 1: {
        model::Labels labels;
        if (rng.chance(70)) { labels["zone"] = any({"1", "2"}); }
        if (rng.chance(70)) { labels["host"] = name; }
        nodes[name] = labels;
        node(name, labels);
        break;
      }
      case 2:
        pods.erase(uid);
        rules.remove(model::Uid{uid});
        break;
      default: {
        Terms terms;
        if (rng.chance(50)) { terms.push_back(kByHost); }
        if (rng.chance(50)) { terms.push_back(kByZone); }
        pods[uid] = {name, terms};
        put(uid.c_str(), name, terms);
      }
    }
    for (const auto& [at, labels] : nodes) {
      Terms expected;
      for (const auto& term : {kByHost, kByZone}) {
        const auto closes = [&, &labels = labels](const auto& pod) {
          const auto& [where, terms] = pod.second;
          const auto there = nodes.find(where);
          if (there == nodes.end() || std::find(terms.begin(), terms.end(), term) == terms.end()) {
            return false;
          }
          const auto mine = labels.find(term.topology_key);
          const auto its = there->second.find(term.topology_key);
          return mine != labels.end() && its != there->second.end() && mine->second == its->second;
        };
        if (std::any_of(pods.begin(), pods.end(), closes)) { expected.push_back(term); }
      }
      RC_ASSERT(closedTo(at) == closing(expected));
    }
  }
}

/// One pod with a term for each label that nodes have, created and deleted.
TEST_F(AntiAffinityTest, APodWithManyTopologyKeysCostsLittle) {
  constexpr int kNodes = 500;
  constexpr int kKeys = 60;
  const auto key = [](int k) { return "feature.node.kubernetes.io/" + std::to_string(k); };
  for (int i = 0; i < kNodes; ++i) {
    model::Labels labels;
    for (int k = 0; k < kKeys; ++k) { labels[key(k)] = k % 2 == 0 ? "true" : std::to_string(i); }
    node("n" + std::to_string(i), std::move(labels));
  }
  Terms terms;
  for (int k = 0; k < kKeys; ++k) { terms.push_back({key(k), {"default"}, {}}); }
  for (int k = 0; k < kKeys; ++k) { terms.push_back({"unknown" + std::to_string(k), {"default"}, {}}); }
  const auto looks = [&](const auto& what) {
    const std::uint64_t before = rules.looks();
    what();
    return rules.looks() - before;
  };
  constexpr std::uint64_t kOnce = kNodes * kKeys;
  EXPECT_LE(looks([&] { put("p", "n1", terms); }), 2 * kOnce) << "its labels, and their values";
  EXPECT_EQ(closedTo("n2").size(), kKeys / 2 + 1U);
  EXPECT_LE(looks([&] { rules.remove(model::Uid{"p"}); }), kOnce);
  EXPECT_EQ(closedTo("n2"), Ids{});
}

/// Many pods, each with terms of its own that mean every namespace:
/// what the look at any one pod that waits costs.
class ManyTerms : public AntiAffinityTest {
 protected:
  using Requirement = model::LabelRequirement;
  void say(const std::function<Requirement(std::string)>& about) {
    node("a", {{"host", "a"}});
    node("b", {{"host", "b"}});
    for (int p = 0; p < 1'000; ++p) {
      Terms terms;
      for (int t = 0; t < 64; ++t) {
        terms.push_back({"host", {}, {{about(std::to_string(p) + "-" + std::to_string(t))}}});
      }
      put(("p" + std::to_string(p)).c_str(), "a", terms);
    }
  }
  Ids look(const model::Labels& labels) {
    const std::uint64_t before = rules.looks();
    auto meaning = rules.meaning("other", labels);
    EXPECT_LE(rules.looks() - before, TermIndex::kMostOfOneOwner);
    return meaning;
  }
  [[nodiscard]] bool isClosed(const std::string& name, const Ids& meaning) const {
    const Ids closed = closedTo(name);
    return std::any_of(meaning.begin(), meaning.end(),
                       [&](const auto id) { return std::binary_search(closed.begin(), closed.end(), id); });
  }
};

TEST_F(ManyTerms, WhatOthersSayCostsAPodThatWaitsLittle) {
  say([](std::string value) { return Requirement{"x", Requirement::Op::In, {std::move(value)}}; });
  EXPECT_EQ(look({{"app", "training"}}), Ids{});
  EXPECT_EQ(look({{"app", "training"}, {"x", "nobody's"}}), Ids{});
  EXPECT_EQ(look({{"x", "7-7"}}), ids({{"host", {}, {{{"x", Requirement::Op::In, {"7-7"}}}}}}));
}

TEST_F(ManyTerms, WhomVeryManyMayMeanCountsAsMeantByAllThatTheirOwnerSays) {
  say([](std::string value) { return Requirement{"x", Requirement::Op::NotIn, {std::move(value)}}; });
  const Ids meaning = look({{"app", "training"}});
  EXPECT_EQ(meaning.size(), 1U);
  EXPECT_TRUE(isClosed("a", meaning));
  EXPECT_FALSE(isClosed("b", meaning)) << "none of them runs there";
  rules.put(model::Uid{"q"}, "another", model::NodeName{"b"},
            {{"host", {}, {{{"x", Requirement::Op::Exists, {}}}}}});
  EXPECT_FALSE(isClosed("b", look({{"app", "training"}}))) << "and what others say is compared as ever";
  EXPECT_TRUE(isClosed("b", rules.meaning("other", {{"x", "y"}})));
}

TEST_F(ManyTerms, OfAnotherNamespaceMeanNobodyOfThisOne) {
  Terms terms;
  for (int t = 0; t < 100; ++t) {
    terms.push_back({"host", {"default"}, {{{"x", Requirement::Op::NotIn, {std::to_string(t)}}}}});
  }
  put("p", "a", terms);
  EXPECT_EQ(look({}), Ids{});
  EXPECT_EQ(rules.meaning("default", {}).size(), 1U);
}

/// However a term says whom it means, it is found.
RC_GTEST_FIXTURE_PROP(AntiAffinityTest, MeaningIsWhatTheDefinitionSays, (std::uint64_t seed)) {
  using Op = model::LabelRequirement::Op;
  Rng rng{seed};
  const auto any = [&](const std::vector<std::string>& of) { return of[rng.below(of.size())]; };
  const std::vector<std::string> values{"1", "2", "3"};
  std::map<std::string, model::AntiAffinityTerm> said;
  for (int i = 0; i < 40; ++i) {
    const std::string uid = "p" + std::to_string(rng.below(6));
    model::AntiAffinityTerm term{"host", {}, {}};
    if (rng.chance(60)) { term.namespaces = {any({"default", "other"})}; }
    for (const auto& key : {"a", "b", "c"}) {
      if (!rng.chance(50)) { continue; }
      const Op op =
          std::initializer_list<Op>{Op::In, Op::NotIn, Op::Exists, Op::DoesNotExist}.begin()[rng.below(4)];
      model::LabelRequirement r{key, op, {}};
      for (const auto& value : values) {
        if ((op == Op::In || op == Op::NotIn) && rng.chance(50)) { r.values.push_back(value); }
      }
      for (int v = 0; op == Op::In && v < 9 && rng.below(4) == 0; ++v) {
        r.values.push_back("4" + std::to_string(v));
      }
      term.pods.requirements.push_back(r);
    }
    said[uid] = term;
    put(uid.c_str(), "n", {term});
    if (rng.chance(20)) {
      said.erase(uid);
      rules.remove(model::Uid{uid});
    }
    for (const auto& ns : {"default", "other", "third"}) {
      model::Labels labels;
      for (const auto& key : {"a", "b", "c", "d"}) {
        if (rng.chance(50)) { labels[key] = any(values); }
      }
      Terms expected;
      for (const auto& [by, of] : said) {
        if (of.matches(ns, labels)) { expected.push_back(of); }
      }
      Ids all = ids(expected);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      RC_ASSERT(rules.meaning(ns, labels) == all);
    }
  }
}

}  // namespace
}  // namespace gs::sched
