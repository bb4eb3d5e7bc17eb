// Who has to go so that what pods say of each other, and what they mount or take of their node, lets one in.
#include "sched/preemption/request_if.h"
#include "sched/preemption/kept_residents_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/ledger/test_nodes.h"
#include "sched/preemption/search.h"
#include "sched/request/near_rules.h"

namespace gs::sched {
namespace {

constexpr const char* kHost = "host";
constexpr const char* kRack = "rack";

model::PodTerm appTerm(const std::string& app, const char* key) {
  model::PodTerm term;
  term.topology_key = key;
  term.namespaces = {"default"};
  term.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {app}}}};
  return term;
}

/// Nodes a and b in one rack, c in another one. Nobody lacks room.
struct ThreeNodes {
  ThreeNodes() {
    for (const auto& [name, rack] : {std::pair{"a", "r1"}, std::pair{"b", "r1"}, std::pair{"c", "r2"}}) {
      testNode(name).cpu(8'000).pods(10).label(kHost, name).label(kRack, rack).addTo(l);
      near.nodeChanged(model::NodeName{name});
      anti_affinity.nodeChanged(model::NodeName{name});
    }
  }
  void runs(model::Pod pod, const std::string& node) {
    pod.node = model::NodeName{node};
    for (const auto& term : pod.affinity.change().apart) {
      pod.keeps_away.push_back(*model::keptAwayBy(term));
    }
    const auto made = std::make_shared<const model::Pod>(std::move(pod));
    residents.put(made);
    l.usePod(made->node, made->uid, Source::BoundPod, made->requests, 0, {}, made->host_ports);
    near.put({made->key.ns, made->labels, made->node, false});
    (void)anti_affinity.put(made->uid, made->key.ns, made->node, made->keeps_away);
  }
  PodRequest requestOf(const model::Pod& pod) {
    PodRequest request;
    request.resources = pod.requests;
    request.host_ports = pod.host_ports;
    request.near.rules = nearRulesOf(pod);
    EXPECT_TRUE(near.bind(request.near));
    request.kept_away_by = anti_affinity.meaning(pod.key.ns, pod.labels.all());
    return request;
  }

  Ledger l;
  AntiAffinity anti_affinity{l};
  Near near{l};
  KeptResidents residents;
};

class RequestIfTest : public ::testing::Test, protected ThreeNodes {
 protected:
  static model::Pod podOf(const std::string& name, const std::string& app, std::int32_t priority) {
    model::Pod pod;
    pod.uid = model::Uid{name};
    pod.key = {"default", name};
    pod.labels = {{"app", app}};
    pod.priority = priority;
    return pod;
  }
  /// By node, who goes there for it: "a: x y", "-" nobody's going helps.
  std::string goesOn(const std::string& node, const model::Pod& pod) {
    const auto found = search.lookAt({std::make_shared<const model::Pod>(pod), requestOf(pod)},
                                     *l.indexOf(model::NodeName{node}));
    if (!found) { return "-"; }
    std::string out = node + ":";
    for (const auto& victim : found->victims) { out += " " + victim->uid.text; }
    return out;
  }

  Budgets budgets;
  Nominations nominations;
  PreemptionSearch search{{l, residents, budgets, nominations, {&anti_affinity, &near}}};
};

TEST_F(RequestIfTest, WhomItWantsNotNearItGoes) {
  runs(podOf("web", "web", 1), "a");
  runs(podOf("db", "db", 0), "a");
  model::Pod pod = podOf("self", "x", 5);
  pod.affinity.change().apart = {appTerm("web", kHost)};
  EXPECT_EQ(goesOn("a", pod), "a: web");
  EXPECT_EQ(goesOn("b", pod), "b:") << "nobody has to";
  pod.affinity.change().apart = {appTerm("web", kRack)};
  EXPECT_EQ(goesOn("a", pod), "a: web");
  EXPECT_EQ(goesOn("b", pod), "-") << "none of its own pods is in the way";
  runs(podOf("web-2", "web", 1), "b");
  EXPECT_EQ(goesOn("a", pod), "-") << "another one stays in the rack";
}

TEST_F(RequestIfTest, WhoWantsItNotNearGoes) {
  model::Pod shy = podOf("shy", "db", 1);
  shy.affinity.change().apart = {appTerm("x", kRack)};
  runs(shy, "a");
  runs(podOf("other", "db", 0), "a");
  const model::Pod pod = podOf("self", "x", 5);
  EXPECT_EQ(goesOn("a", pod), "a: shy");
  EXPECT_EQ(goesOn("b", pod), "-");
  EXPECT_EQ(goesOn("c", pod), "c:");
  EXPECT_EQ(goesOn("a", podOf("equal", "x", 1)), "-");
  shy.uid = model::Uid{"shy-2"};
  runs(shy, "a");
  EXPECT_EQ(goesOn("a", pod), "a: shy shy-2") << "as long as one stays it is kept away";
}

TEST_F(RequestIfTest, TheFullestDomainGivesWay) {
  runs(podOf("w1", "web", 1), "a");
  runs(podOf("w2", "web", 2), "a");
  runs(podOf("w3", "web", 1), "b");
  model::Pod pod = podOf("self", "web", 5);
  model::SpreadConstraint spread;
  spread.topology_key = kHost;
  spread.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {"web"}}}};
  pod.spread = {spread};
  EXPECT_EQ(goesOn("a", pod), "a: w2 w1") << "c has none, so that one here is too much";
  EXPECT_EQ(goesOn("b", pod), "b: w3");
  pod.spread.change()[0].max_skew = 2;
  EXPECT_EQ(goesOn("a", pod), "a: w1");
  EXPECT_EQ(goesOn("b", pod), "b:");
}

/// Its wishes are counted beside its rules, and are not taken for them.
TEST_F(RequestIfTest, WhatItOnlyWishesForMovesNobody) {
  runs(podOf("w1", "web", 1), "a");
  runs(podOf("w2", "web", 2), "a");
  runs(podOf("w3", "web", 1), "b");
  runs(podOf("db", "db", 0), "a");
  model::Pod pod = podOf("self", "web", 5);
  model::SpreadConstraint spread;
  spread.topology_key = kHost;
  spread.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {"web"}}}};
  model::SpreadConstraint wish = spread;
  wish.is_required = false;
  wish.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {"db"}}}};
  pod.spread = {spread, wish};
  pod.affinity.change().preferred = {{10, appTerm("db", kHost)}};
  EXPECT_EQ(goesOn("a", pod), "a: w2 w1");
  EXPECT_EQ(goesOn("b", pod), "b: w3");
}

TEST_F(RequestIfTest, APortThatIsTakenIsFreeAfterwards) {
  model::Pod takes = podOf("takes", "db", 1);
  takes.host_ports = {{80, "TCP", model::kEveryIp}};
  runs(takes, "a");
  runs(podOf("other", "db", 0), "a");
  model::Pod pod = podOf("self", "x", 5);
  pod.host_ports = {{80, "TCP", model::kEveryIp}};
  EXPECT_EQ(goesOn("a", pod), "a: takes");
}

/// Who goes is not there any more to be near to; as in kube-scheduler.
TEST_F(RequestIfTest, WhomItMustBeNearIsThoughtAwayToo) {
  runs(podOf("cache", "cache", 1), "a");
  model::Pod big = podOf("big", "db", 1);
  big.requests.cpu_milli = 8'000;
  runs(big, "a");
  model::Pod pod = podOf("self", "x", 5);
  pod.requests.cpu_milli = 4'000;
  pod.affinity.change().near = {appTerm("cache", kHost)};
  EXPECT_EQ(goesOn("a", pod), "-");
  pod.affinity.change().near = {appTerm("cache", kRack)};
  runs(podOf("cache-2", "cache", 1), "b");
  EXPECT_EQ(goesOn("a", pod), "a: big") << "another one is in the rack";
}

TEST_F(RequestIfTest, NominatedPodsCountAsBeingThere) {
  runs(podOf("low", "db", 1), "a");
  model::Pod pod = podOf("self", "x", 5);
  pod.requests.cpu_milli = 8'000;
  model::Pod low = podOf("low-2", "db", 1);
  low.requests.cpu_milli = 1'000;
  runs(low, "a");
  EXPECT_EQ(goesOn("a", pod), "a: low-2");
  model::Pod shy = podOf("shy", "db", 5);
  shy.affinity.change().apart = {appTerm("x", kHost)};
  const auto nominate = [&](const model::Pod& one) {
    nominations.put(
        {one.uid, model::NodeName{"a"}, one.priority, {}, 0, std::make_shared<const model::Pod>(one)});
  };
  nominate(shy);
  EXPECT_EQ(goesOn("a", pod), "-") << "it wants no such pod beside it";
  shy.affinity.change().apart.clear();
  nominate(shy);
  EXPECT_EQ(goesOn("a", pod), "a: low-2");
  pod.affinity.change().apart = {appTerm("db", kHost)};
  EXPECT_EQ(goesOn("a", pod), "-") << "nor does this one";
}

/// Pods that say of each other what they like, drawn at random.
class DrawnPods {
 public:
  explicit DrawnPods(std::uint64_t seed) : rng_{seed} {
    const auto count = 1 + rng_.below(7);
    for (std::uint64_t i = 0; i < count; ++i) {
      there.emplace_back(draw("p" + std::to_string(i)), anyOf({"a", "b", "c"}));
    }
    asks = draw("self");
    node = anyOf({"a", "b", "c"});
    for (const auto& [pod, at] : there) {
      if (at == node && rng_.chance(60)) { gone.push_back(pod.uid); }
    }
  }
  [[nodiscard]] bool isGone(const model::Uid& uid) const {
    return std::find(gone.begin(), gone.end(), uid) != gone.end();
  }

  std::vector<std::pair<model::Pod, std::string>> there;  // and where
  model::Pod asks;
  std::string node;
  std::vector<model::Uid> gone;  // of that node

 private:
  std::string anyOf(std::initializer_list<const char*> words) {
    return *(words.begin() + rng_.below(words.size()));
  }
  model::PodTerm term() { return appTerm(anyOf({"web", "db"}), rng_.chance(50) ? kHost : kRack); }
  model::Pod draw(const std::string& name) {
    model::Pod pod;
    pod.uid = model::Uid{name};
    pod.key = {"default", name};
    pod.labels = {{"app", anyOf({"web", "db", "x"})}};
    if (rng_.chance(30)) { pod.affinity.change().apart = {term()}; }
    if (rng_.chance(30)) { pod.affinity.change().near = {term()}; }
    if (rng_.chance(30)) {
      model::SpreadConstraint spread;
      spread.topology_key = rng_.chance(50) ? kHost : kRack;
      spread.pods = appTerm(anyOf({"web", "db"}), kHost).pods;
      pod.spread = {spread};
    }
    if (rng_.chance(20)) { pod.host_ports = {{80, "TCP", model::kEveryIp}}; }
    return pod;
  }

  Rng rng_;
};

/// What is said of a node from which some went is what is said where they never were.
TEST(RequestIfProperty, WhoWentIsAsOneThatNeverWas) {
  int fitting = 0;
  int let_in = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    const DrawnPods drawn{seed};
    ThreeNodes all;
    ThreeNodes rest;
    for (const auto& [pod, node] : drawn.there) {
      all.runs(pod, node);
      if (!drawn.isGone(pod.uid)) { rest.runs(pod, node); }
    }
    const NodeState& node = *all.l.find(model::NodeName{drawn.node});
    const PodRequest request = all.requestOf(drawn.asks);
    RequestIf asked{request, node, {&all.anti_affinity, &all.near}};
    NodeWithout without{node};
    const auto& residents = all.residents.on(node.node.name);
    for (const auto& pod : residents) {  // all of them, and some come back
      asked.go(*pod);
      without.take(*pod);
    }
    for (const auto& pod : residents) {
      if (drawn.isGone(pod->uid)) { continue; }
      asked.comeBack(*pod);
      without.giveBack(*pod);
    }
    const bool fits = fitsOn(without.state(), asked.request(), drawn.asks.uid);
    const bool would =
        fitsOn(*rest.l.find(model::NodeName{drawn.node}), rest.requestOf(drawn.asks), drawn.asks.uid);
    ASSERT_EQ(fits, would) << "seed " << seed;
    fitting += fits ? 1 : 0;
    let_in += fits && !fitsOn(node, request, drawn.asks.uid) ? 1 : 0;
  }
  EXPECT_GT(fitting, 300);
  EXPECT_LT(fitting, 2'700);
  EXPECT_GT(let_in, 30);
}

}  // namespace
}  // namespace gs::sched
