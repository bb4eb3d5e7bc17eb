// Affinity, anti-affinity and spread from the objects to the decision: what the decider says without looking
// at all nodes is what a look at each of them says, after every event; and whoever is decided one right after
// the other knows of each other.
#include "engine/near_pods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "kapi/kinds.h"
#include "model/namespace.h"
#include "sched/placement/fit.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using Op = model::LabelRequirement::Op;

const model::LabelSelector kApp{{{"app", Op::In, {"a"}}}};

class NearPodsTest : public ::testing::Test {
 protected:
  NearPodsTest() { engine.synced(now); }

  template <class T>
  void apply(kapi::Kind kind, const model::ObjectKey& key, const T& value) {
    engine.apply({kind, key, {}, std::make_shared<const T>(value), value.revision}, now);
  }
  void node(const std::string& name, const model::Labels& labels) {
    model::Node n = testing::makeNode(name);
    n.revision = ++revision;
    n.labels = labels;
    apply(kapi::kNode, {"", name}, n);
  }
  void ns(const std::string& name, const model::Labels& labels) {
    apply(kapi::kNamespace, {"", name}, model::Namespace{{"", name}, {}, ++revision, labels});
  }
  void pod(model::Pod p) {
    p.revision = ++revision;
    apply(kapi::kPod, p.key, p);
  }
  static model::Pod waiting(const std::string& name, const model::Labels& labels = {{"app", "a"}}) {
    model::Pod p = testing::PodBuilder{name}.value();
    p.labels = labels;
    return p;
  }
  static model::Pod apartByHost(const std::string& name) {
    model::Pod p = waiting(name);
    p.affinity.change().apart = {{"host", {"default"}, std::nullopt, kApp}};
    return p;
  }
  sched::PodRequest requestOf(const model::Pod& p) {
    auto request = std::get<sched::PodRequest>(sched::readPod(p, {}, engine.doors()));
    EXPECT_FALSE(engine.askNear(p, request));
    return request;
  }
  std::optional<sched::Placed> decide(const model::Pod& p) {
    return engine.decider().decide(engine.decider().classOf(requestOf(p)));
  }
  sched::Reservation reserve(const model::Pod& p, const std::string& where) {
    return engine.ledger().reserve(model::NodeName{where}, p.uid, requestOf(p), {});
  }

  Engine engine;
  Mono now{1h};
  model::Revision revision = 0;
};

TEST_F(NearPodsTest, TwoThatWantNoneOfTheirKindBesideThemNeverShareANode) {
  node("n1", {{"host", "n1"}});
  node("n2", {{"host", "n2"}});
  for (const char* name : {"a", "b", "c"}) { pod(apartByHost(name)); }
  const auto first = decide(apartByHost("a"));
  ASSERT_TRUE(first);
  auto held = reserve(apartByHost("a"), first->node.text);
  const auto second = decide(apartByHost("b"));
  ASSERT_TRUE(second);
  EXPECT_NE(second->node, first->node);
  auto other = reserve(apartByHost("b"), second->node.text);
  EXPECT_FALSE(decide(apartByHost("c")));
  held.release();
  EXPECT_EQ(decide(apartByHost("c"))->node, first->node) << "it was given back";
}

/// No new node would help it before that (sched/filters/new_node.h).
TEST_F(NearPodsTest, WhoWantsToBeNearPodsThatAreNowhereLacksCompany) {
  node("n1", {{"host", "n1"}, {"zone", "1"}});
  node("without", {{"host", "without"}});
  model::Pod wants = waiting("wants", {{"app", "b"}});
  wants.affinity.change().near = {{"zone", {"default"}, std::nullopt, kApp}};
  pod(wants);
  const auto lacks = [&] { return requestOf(wants).near.standing->lacksCompany(); };
  EXPECT_TRUE(lacks());
  model::Pod other = waiting("other");
  other.node = model::NodeName{"without"};
  pod(other);
  EXPECT_TRUE(lacks()) << "its node is in no zone";
  model::Pod company = waiting("company");
  company.node = model::NodeName{"n1"};
  pod(company);
  EXPECT_FALSE(lacks());
  wants.labels = {{"app", "a"}};
  pod(wants);
  engine.podGone(model::Uid{"uid-other"}, now);
  engine.podGone(model::Uid{"uid-company"}, now);
  EXPECT_FALSE(lacks()) << "it is the first of its like";
}

TEST_F(NearPodsTest, AReservedPodKeepsAwayWhoSaysNothingItself) {
  node("n1", {{"host", "n1"}});
  pod(apartByHost("a"));
  pod(waiting("meant"));
  pod(waiting("other", {{"app", "b"}}));
  (void)engine.takeTouched();
  auto held = reserve(apartByHost("a"), "n1");
  EXPECT_TRUE(engine.takeTouched().contains(model::Uid{"uid-meant"})) << "it asks for something else now";
  EXPECT_FALSE(decide(waiting("meant")));
  EXPECT_TRUE(decide(waiting("other", {{"app", "b"}})));
  model::Pod written = apartByHost("a");
  written.scheduled = model::ScheduledCondition{"False", "Unschedulable", ""};
  pod(written);
  EXPECT_FALSE(decide(waiting("meant"))) << "another version of the pod ends nothing";
  held.release();
  EXPECT_TRUE(decide(waiting("meant")));
}

TEST_F(NearPodsTest, ABoundPodCountsOnceAndStays) {
  node("n1", {{"host", "n1"}});
  model::Pod a = apartByHost("a");
  pod(a);
  auto held = reserve(a, "n1");
  a.node = model::NodeName{"n1"};
  a.keeps_away = {*model::keptAwayBy(a.affinity.change().apart.front())};
  a.affinity = {};
  pod(a);
  held.release();
  EXPECT_FALSE(decide(apartByHost("b")));
  EXPECT_FALSE(decide(waiting("meant")));
  a.phase = model::PodPhase::Succeeded;
  pod(a);
  EXPECT_TRUE(decide(apartByHost("b")));
  EXPECT_TRUE(decide(waiting("meant")));
}

TEST_F(NearPodsTest, NamespacesAreSelectedByTheirLabels) {
  node("n1", {{"host", "n1"}});
  model::Pod p = apartByHost("a");
  p.affinity.change().apart.front().namespaces.clear();
  p.affinity.change().apart.front().namespace_selector = model::LabelSelector{{{"team", Op::In, {"t"}}}};
  auto request = std::get<sched::PodRequest>(sched::readPod(p, {}, engine.doors()));
  const auto blocked = engine.askNear(p, request);
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->kind, "NamespacesUnknown");
  pod(p);
  (void)engine.takeTouched();
  ns("default", {});
  EXPECT_TRUE(engine.takeTouched().contains(p.uid)) << "now it can be said";
  model::Pod there = waiting("there");
  there.node = model::NodeName{"n1"};
  pod(there);
  EXPECT_TRUE(decide(p));
  ns("default", {{"team", "t"}});
  EXPECT_FALSE(decide(p));
  ns("default", {});
  EXPECT_TRUE(decide(p));
}

/// Whoever reconciles many pods in one turn goes by that.
TEST_F(NearPodsTest, ARuleThatIsNewCountsAsLooksAtTheNodes) {
  constexpr int kNodes = 80;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    node(name, {{"host", name}});
  }
  model::Pod p = waiting("spread");
  p.spread.change().emplace_back().topology_key = "host";
  p.spread.change().front().pods = kApp;
  const std::uint64_t before = engine.looks();
  const auto request = requestOf(p);
  EXPECT_GE(engine.looks() - before, kNodes / sched::Near::kPerLook);
}

TEST_F(NearPodsTest, ANamespaceThatSaysVeryManyRulesIsToldSo) {
  std::vector<sched::PodRequest> held;
  const auto pod_of = [](std::size_t i) {
    model::Pod p = apartByHost("p-" + std::to_string(i));
    p.affinity.change().apart.front().pods = model::LabelSelector{{{"job", Op::In, {std::to_string(i)}}}};
    return p;
  };
  for (std::size_t i = 0; i < sched::Near::kMostOfOneNamespace; ++i) { held.push_back(requestOf(pod_of(i))); }
  const model::Pod more = pod_of(sched::Near::kMostOfOneNamespace);
  auto request = std::get<sched::PodRequest>(sched::readPod(more, {}, engine.doors()));
  const auto blocked = engine.askNear(more, request);
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->kind, "TooManyRules");
  EXPECT_NE(blocked->text.find("namespace default say very many different rules"), std::string::npos);
  held.pop_back();
  EXPECT_FALSE(engine.askNear(more, request)) << "one of them is not asked for any more";
}

/// Very many Namespaces come one by one, and very many pods wait.
TEST_F(NearPodsTest, ANamespaceCostsThePodsThatWaitInIt) {
  constexpr int kNamespaces = 50;
  ns("first", {});
  for (int i = 0; i < kNamespaces; ++i) {
    for (const char* name : {"a", "b"}) {
      model::Pod p = waiting("w-" + std::to_string(i) + name);
      p.key.ns = "team-" + std::to_string(i);
      pod(p);
    }
  }
  (void)engine.takeTouched();
  const std::uint64_t before = engine.work().compared;
  for (int i = 0; i < kNamespaces; ++i) { ns("team-" + std::to_string(i), {{"team", "t"}}); }
  EXPECT_EQ(engine.work().compared - before, 2U * kNamespaces) << "each of the pods once";
  EXPECT_EQ(engine.takeTouched().size(), 2U * kNamespaces);
  model::Pod gone = waiting("w-7a");
  gone.key.ns = "team-7";
  gone.node = model::NodeName{"n1"};
  pod(gone);
  (void)engine.takeTouched();
  ns("team-7", {});
  EXPECT_EQ(engine.takeTouched(), std::set{model::Uid{"uid-w-7b"}}) << "who is bound waits no more";
}

/// A cluster in which anything happens, and classes that wait or are placed.
class NearPlay : public NearPodsTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void play(std::uint64_t seed) {
    Rng rng{seed};
    const int nodes = static_cast<int>(4 + rng.below(60));
    for (int i = 0; i < nodes; ++i) { putNode(rng, i); }
    std::vector<model::Pod> kinds;
    for (int i = 0; i < 4; ++i) { kinds.push_back(drawKind(rng, i)); }
    std::vector<sched::EquivalenceClass> classes;
    for (const auto& kind : kinds) { classes.push_back(engine.decider().classOf(requestOf(kind))); }
    for (int step = 0; step < 40; ++step) {
      const std::size_t k = rng.below(kinds.size());
      switch (rng.below(6)) {
        case 0: putNode(rng, static_cast<int>(rng.below(static_cast<std::uint64_t>(nodes)))); break;
        case 1: endOne(rng); break;
        default: place(kinds[k], classes[k], step); break;
      }
      for (std::size_t i = 0; i < kinds.size(); ++i) { compare(classes[i]); }
      if (HasFailure()) { return; }
    }
  }

 private:
  void putNode(Rng& rng, int i) {
    const std::string name = "n" + std::to_string(i);
    model::Labels labels{{"host", name}};
    if (!rng.chance(5)) { labels["zone"] = std::to_string(rng.below(3)); }
    node(name, labels);
  }
  model::Pod drawKind(Rng& rng, int i) {
    model::Pod p = waiting("kind" + std::to_string(i), {{"app", rng.chance(50) ? "a" : "b"}});
    const auto selector = [&] {
      return model::LabelSelector{{{"app", Op::In, {rng.chance(50) ? "a" : "b"}}}};
    };
    const auto key = [&] { return rng.chance(50) ? "zone" : "host"; };
    if (rng.chance(40)) {
      p.affinity.change().apart.push_back({key(), {"default"}, std::nullopt, selector()});
    }
    if (rng.chance(30)) {
      p.affinity.change().near.push_back({"zone", {"default"}, std::nullopt, selector()});
    }
    if (rng.chance(60)) {
      model::SpreadConstraint c;
      c.topology_key = key();
      c.pods = selector();
      c.max_skew = static_cast<std::int32_t>(1 + rng.below(2));
      p.spread.push_back(std::move(c));
    }
    return p;
  }
  /// Where the decider says, if it does.
  void place(const model::Pod& kind, sched::EquivalenceClass pod_class, int step) {
    const auto placed = engine.decider().decide(pod_class);
    if (!placed) { return; }
    const auto* state = engine.ledger().find(placed->node);
    EXPECT_TRUE(sched::fitsOn(*state, engine.decider().request(pod_class))) << placed->node.text;
    model::Pod p = kind;
    p.key.name = "p" + std::to_string(step);
    p.uid = model::Uid{"uid-p" + std::to_string(step)};
    pod(p);
    const sched::Reservation held = reserve(p, placed->node.text);
    compare(pod_class);
    p.node = placed->node;
    p.affinity = {};
    p.spread.change().clear();
    pod(p);
    running_.push_back(p);
  }
  void endOne(Rng& rng) {
    if (running_.empty()) { return; }
    const auto at = running_.begin() + static_cast<std::ptrdiff_t>(rng.below(running_.size()));
    engine.apply({kapi::kPod, at->key, at->uid, {}, ++revision}, now);
    running_.erase(at);
  }
  /// The decider looks at what changed; here every node is looked at.
  void compare(sched::EquivalenceClass pod_class) {
    const sched::PodRequest& request = engine.decider().request(pod_class);
    bool fits = false;
    for (sched::Ledger::NodeIndex i = 0; i < engine.ledger().size(); ++i) {
      const sched::NodeState& state = engine.ledger().at(i);
      fits = fits || (state.exists && sched::fitsOn(state, request));
    }
    EXPECT_EQ(engine.decider().fits(pod_class), fits);
    EXPECT_EQ(engine.decider().decide(pod_class).has_value(), fits);
    if (fits) { return; }
    EXPECT_EQ(engine.decider().rejection(pod_class).text, sched::rejectionText(engine.ledger(), request));
  }

  std::vector<model::Pod> running_;
};

TEST_P(NearPlay, TheDeciderSaysWhatALookAtAllNodesSays) { play(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, NearPlay, ::testing::Range(std::uint64_t{1}, std::uint64_t{151}));

}  // namespace
}  // namespace gs::engine
