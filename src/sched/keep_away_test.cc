#include "sched/keep_away.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/random.h"
#include "testing/builders.h"

namespace gs::sched {
namespace {

const model::AntiAffinityTerm kByZone{"zone", {"default"}, {}};
const model::AntiAffinityTerm kByHost{"host", {"default"}, {}};

class KeepAwayTest : public ::testing::Test {
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
    return rules.put(model::Uid{uid}, model::NodeName{where}, terms);
  }
  using Terms = std::vector<model::AntiAffinityTerm>;
  using Ids = std::vector<model::TermId>;
  static Ids ids(const Terms& terms) {
    Ids out;
    for (const auto& term : terms) { out.push_back(model::idOf(term)); }
    std::sort(out.begin(), out.end());
    return out;
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
  KeepAway rules{ledger};
};

TEST_F(KeepAwayTest, ClosesAllNodesOfTheDomainWhileThePodIsThere) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "1"}});
  node("c", {{"zone", "2"}});
  node("d", {});
  EXPECT_TRUE(put("p", "a", {kByZone}));
  EXPECT_EQ(closedTo("a"), ids(Terms{kByZone}));
  EXPECT_EQ(closedTo("b"), ids(Terms{kByZone}));
  EXPECT_EQ(closedTo("c"), ids(Terms{}));
  EXPECT_EQ(closedTo("d"), ids(Terms{}));
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(closedTo("b"), ids(Terms{}));
}

TEST_F(KeepAwayTest, StaysClosedUntilTheLastOfThemGoes) {
  node("a", {{"host", "a"}});
  EXPECT_TRUE(put("p", "a", {kByHost}));
  EXPECT_FALSE(put("q", "a", {kByHost})) << "nobody new is meant";
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(closedTo("a"), ids(Terms{kByHost}));
  rules.remove(model::Uid{"q"});
  rules.remove(model::Uid{"q"});
  EXPECT_EQ(closedTo("a"), ids(Terms{}));
}

TEST_F(KeepAwayTest, NodesThatComeLaterAreClosedToo) {
  put("p", "a", {kByZone});
  node("b", {{"zone", "1"}});
  EXPECT_EQ(closedTo("b"), ids(Terms{})) << "nothing is known of the pod's node";
  node("a", {{"zone", "1"}});
  EXPECT_EQ(closedTo("b"), ids(Terms{kByZone}));
  node("c", {{"zone", "1"}});
  EXPECT_EQ(closedTo("c"), ids(Terms{kByZone}));
}

TEST_F(KeepAwayTest, FollowsTheLabelsOfThePodsNode) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "2"}});
  put("p", "a", {kByZone});
  node("a", {{"zone", "2"}});
  EXPECT_EQ(closedTo("b"), ids(Terms{kByZone}));
  dropNode("a");
  EXPECT_EQ(closedTo("b"), ids(Terms{}));
  node("a", {{"zone", "2"}});
  EXPECT_EQ(closedTo("b"), ids(Terms{kByZone}));
}

TEST_F(KeepAwayTest, SaysWhomTheTermsMean) {
  const model::AntiAffinityTerm web{"zone", {}, {{{"app", model::LabelRequirement::Op::In, {"web"}}}}};
  put("p", "a", {kByHost, web});
  EXPECT_EQ(rules.meaning("default", {{"app", "web"}}), ids(Terms{kByHost, web}));
  EXPECT_EQ(rules.meaning("other", {{"app", "web"}}), ids(Terms{web}));
  EXPECT_EQ(rules.meaning("other", {}), ids(Terms{}));
  put("p", "a", {});
  EXPECT_EQ(rules.meaning("default", {{"app", "web"}}), ids(Terms{}));
}

TEST_F(KeepAwayTest, ATermOfVeryManyNamespacesMeansNoOthers) {
  model::AntiAffinityTerm term{"zone", {}, {}};
  for (int i = 100; i < 200; ++i) { term.namespaces.push_back("ns-" + std::to_string(i)); }
  put("p", "a", {term});
  EXPECT_EQ(rules.meaning("ns-150", {}), ids(Terms{term}));
  EXPECT_EQ(rules.meaning("default", {}), ids(Terms{}));
}

TEST_F(KeepAwayTest, KeysThatNobodyNamesAreForgottenAndLearnedAnew) {
  node("a", {{"zone", "1"}});
  put("p", "a", {kByZone});
  rules.remove(model::Uid{"p"});
  node("a", {{"zone", "2"}});
  node("b", {{"zone", "2"}});
  put("p", "a", {kByZone});
  EXPECT_EQ(closedTo("b"), ids({kByZone}));
}

TEST_F(KeepAwayTest, APodOfManyTermsChangesEachNodeOnceAndNobodyElsesMind) {
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
  EXPECT_EQ(closedTo("n199"), ids(terms));
  rules.remove(model::Uid{"p"});
  EXPECT_EQ(ledger.closings().end() - closings, 2 * kNodes);
  EXPECT_EQ(closedTo("n199"), Ids{});
  EXPECT_EQ(ledger.changesEnd(), changes) << "who is meant by no term need not look again";
}

TEST_F(KeepAwayTest, ANodeThatComesForAnotherOneUnderItsIndexHasItsOwnDomains) {
  node("a", {{"zone", "1"}});
  node("b", {{"zone", "2"}});
  put("p", "b", {kByZone});
  dropNode("a");
  node("c", {{"zone", "2"}});
  ASSERT_EQ(ledger.size(), 2U);
  EXPECT_EQ(closedTo("c"), ids(Terms{kByZone}));
  node("a", {{"zone", "1"}});
  EXPECT_EQ(closedTo("a"), Ids{});
}

/// Whatever happened before, a node is closed to a term exactly if some pod that says it is on a node of the same domain.
RC_GTEST_FIXTURE_PROP(KeepAwayTest, ClosedIsWhatTheDefinitionSays, (std::uint64_t seed)) {
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
      RC_ASSERT(closedTo(at) == ids(expected));
    }
  }
}

/// One pod with a term for each label that nodes have, created and deleted: what each costs the deciding thread.
TEST_F(KeepAwayTest, DISABLED_APodWithManyTopologyKeysCostsLittle) {
  constexpr int kNodes = 5'000;
  constexpr int kKeys = 60;
  for (int i = 0; i < kNodes; ++i) {
    model::Labels labels;
    for (int k = 0; k < kKeys; ++k) {
      labels["feature.node.kubernetes.io/" + std::to_string(k)] = k % 2 == 0 ? "true" : std::to_string(i);
    }
    node("n" + std::to_string(i), std::move(labels));
  }
  Terms terms;
  for (int k = 0; k < kKeys; ++k) {
    terms.push_back({"feature.node.kubernetes.io/" + std::to_string(k), {"default"}, {}});
  }
  const auto timed = [](const auto& what) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LE(timed([&] { put("p", "n1", terms); }), 20);
  EXPECT_LE(timed([&] { rules.remove(model::Uid{"p"}); }), 20);
}

/// Many pods, each with terms of its own that mean every namespace: what the look at any one pod that waits costs.
TEST_F(KeepAwayTest, DISABLED_WhatOthersSayCostsAPodThatWaitsLittle) {
  node("a", {{"host", "a"}});
  for (int p = 0; p < 1'000; ++p) {
    Terms terms;
    for (int t = 0; t < 64; ++t) {
      model::LabelSelector selector;
      selector.requirements.push_back(
          {"x", model::LabelRequirement::Op::In, {std::to_string(p) + "-" + std::to_string(t)}});
      terms.push_back({"host", {}, selector});
    }
    put(("p" + std::to_string(p)).c_str(), "a", terms);
  }
  const auto begin = std::chrono::steady_clock::now();
  (void)rules.meaning("default", {{"app", "training"}});
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LE(256 * ms, 20) << "a step of the sweep looks at 256 pods";
}

}  // namespace
}  // namespace gs::sched
