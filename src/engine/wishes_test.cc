// What pods would like and do without, from the objects to the decision: the node that the decider chooses
// is the one that a slow model chooses, which scores all nodes that fit by kube-scheduler's formulas, from
// a look at all pods.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/random.h"
#include "engine/engine.h"
#include "kapi/kinds.h"
#include "model/taints.h"
#include "sched/placement/fit.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using Op = model::LabelRequirement::Op;

constexpr const char* kHost = "kubernetes.io/hostname";

model::LabelSelector appIs(const std::string& app) { return {{{"app", Op::In, {app}}}}; }

model::PodTerm termOf(const std::string& key, const std::string& app) {
  return {key, {"default"}, std::nullopt, appIs(app)};
}

/// As it is told once it is on a node.
model::Pod boundTo(const std::string& node, model::Pod pod) {
  pod.node = model::NodeName{node};
  for (const auto& term : pod.affinity.change().apart) { pod.keeps_away.push_back(*model::keptAwayBy(term)); }
  model::PodAffinity there;
  there.preferred = model::likedWhenThere(pod.affinity);
  pod.affinity = there;
  pod.node_affinity = {};
  pod.spread.change().clear();
  pod.tolerations.change().clear();
  return pod;
}

/// All that is there, and kube-scheduler's scores by the book.
struct SlowScores {
  struct There {
    model::Pod pod;  // as it waited
    std::string node;
  };
  using Scores = std::map<std::string, std::int64_t>;  // by node

  std::map<std::string, model::Node> nodes;
  std::vector<There> there;

  [[nodiscard]] const std::string* label(const std::string& node, const std::string& key) const {
    const auto at = nodes.find(node);
    if (at == nodes.end()) { return nullptr; }
    const auto it = at->second.labels.find(key);
    return it == at->second.labels.end() ? nullptr : &it->second;
  }
  [[nodiscard]] bool shares(const std::string& a, const std::string& b, const std::string& key) const {
    const std::string* one = label(a, key);
    const std::string* other = label(b, key);
    return one != nullptr && other != nullptr && *one == *other;
  }
  [[nodiscard]] static bool means(const model::PodTerm& term, const model::Pod& pod) {
    const bool ns = term.namespace_selector.has_value() ||
                    std::count(term.namespaces.begin(), term.namespaces.end(), pod.key.ns) > 0;
    return ns && term.pods && term.pods->matches(pod.labels.all());
  }
  [[nodiscard]] std::int64_t nearAt(const model::Pod& pod, const std::string& node) const {
    std::int64_t sum = 0;
    for (const There& other : there) {
      for (const auto& [weight, term] : pod.affinity->preferred) {
        if (means(term, other.pod) && shares(node, other.node, term.topology_key)) { sum += weight; }
      }
      for (const auto& [weight, term] : other.pod.affinity->preferred) {
        if (means(term, pod) && shares(node, other.node, term.topology_key)) { sum += weight; }
      }
      for (const auto& term : other.pod.affinity->near) {
        if (means(term, pod) && shares(node, other.node, term.topology_key)) { sum += 1; }
      }
    }
    return sum;
  }
  void addNear(const model::Pod& pod, Scores& out) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (const auto& [node, score] : out) {
      least = std::min(least, nearAt(pod, node));
      most = std::max(most, nearAt(pod, node));
    }
    for (auto& [node, score] : out) {
      if (most == least) { continue; }
      const double share = static_cast<double>(nearAt(pod, node) - least) / static_cast<double>(most - least);
      score += 2 * static_cast<std::int64_t>(100.0 * share);
    }
  }

  [[nodiscard]] std::int64_t likeOn(const model::Pod& pod, const model::SpreadConstraint& c,
                                    const std::string& node) const {
    if (!c.pods || c.pods->requirements.empty()) { return 0; }
    return std::count_if(there.begin(), there.end(), [&](const There& other) {
      return other.node == node && other.pod.key.ns == pod.key.ns && !other.pod.deleting &&
             c.pods->matches(other.pod.labels.all());
    });
  }
  [[nodiscard]] bool counts(const model::Pod& pod, const model::SpreadConstraint& c,
                            const model::Node& node) const {
    for (const auto& other : pod.spread) {
      if (!node.labels.contains(other.topology_key)) { return false; }
    }
    const bool is_selected =
        std::all_of(pod.node_selector.begin(), pod.node_selector.end(), [&](const auto& l) {
          const auto it = node.labels.find(l.first);
          return it != node.labels.end() && it->second == l.second;
        });
    const bool is_tolerated = model::untoleratedOf(node.taints, pod.tolerations) == nullptr;
    return (is_selected || !c.honors_affinity) && (is_tolerated || !c.honors_taints);
  }
  [[nodiscard]] std::int64_t likeIn(const model::Pod& pod, const model::SpreadConstraint& c,
                                    const std::string& node) const {
    if (c.topology_key == kHost) { return likeOn(pod, c, node); }
    std::int64_t sum = 0;
    for (const auto& [name, other] : nodes) {
      if (counts(pod, c, other) && shares(node, name, c.topology_key)) { sum += likeOn(pod, c, name); }
    }
    return sum;
  }
  void addSpread(const model::Pod& pod, Scores& out) const {
    if (pod.spread.empty()) { return; }
    std::map<std::string, std::int64_t> raw;  // of nodes with all labels
    for (const auto& [node, score] : out) {
      const bool all = std::all_of(pod.spread.begin(), pod.spread.end(), [&, name = node](const auto& c) {
        return label(name, c.topology_key) != nullptr;
      });
      if (all) { raw[node] = 0; }
    }
    for (auto& [node, sum] : raw) {
      double score = 0;
      for (const auto& c : pod.spread) {
        std::set<std::string> domains;
        for (const auto& [other, unused] : raw) {
          domains.insert(c.topology_key == kHost ? other : *label(other, c.topology_key));
        }
        score +=
            static_cast<double>(likeIn(pod, c, node)) * std::log(static_cast<double>(domains.size() + 2)) +
            static_cast<double>(c.max_skew - 1);
      }
      sum = std::llround(score);
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (const auto& [node, sum] : raw) {
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
    for (const auto& [node, sum] : raw) {
      out[node] += 2 * (most == 0 ? 100 : 100 * (most + least - sum) / most);
    }
  }

  [[nodiscard]] std::int64_t avoidedOn(const model::Pod& pod, const std::string& node) const {
    const auto& taints = nodes.at(node).taints;
    return std::count_if(taints.begin(), taints.end(), [&](const model::Taint& taint) {
      return taint.effect == "PreferNoSchedule" && !model::toleratesAny(pod.tolerations, taint);
    });
  }
  void addTaints(const model::Pod& pod, Scores& out) const {
    std::int64_t most = 0;
    for (const auto& [node, score] : out) { most = std::max(most, avoidedOn(pod, node)); }
    for (auto& [node, score] : out) {
      score += 3 * (100 - (most == 0 ? 0 : 100 * avoidedOn(pod, node) / most));
    }
  }
  [[nodiscard]] std::int64_t likedAt(const model::Pod& pod, const std::string& node) const {
    std::int64_t sum = 0;
    for (const auto& [weight, term] : pod.node_affinity->preferred) {
      if (model::matches(term, nodes.at(node).labels, node)) { sum += weight; }
    }
    return sum;
  }
  void addNodeAffinity(const model::Pod& pod, Scores& out) const {
    std::int64_t most = 0;
    for (const auto& [node, score] : out) { most = std::max(most, likedAt(pod, node)); }
    for (auto& [node, score] : out) { score += most == 0 ? 0 : 2 * (100 * likedAt(pod, node) / most); }
  }

  /// Of the nodes that fit, in `out`: the highest, then the first by name.
  [[nodiscard]] std::string bestOf(const model::Pod& pod, Scores out) const {
    addNear(pod, out);
    addSpread(pod, out);
    addTaints(pod, out);
    addNodeAffinity(pod, out);
    const auto best = std::max_element(out.begin(), out.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return best == out.end() ? "" : best->first;
  }
};

class WishesTest : public ::testing::Test {
 protected:
  WishesTest() { engine.synced(now); }

  template <class T>
  void apply(kapi::Kind kind, const model::ObjectKey& key, const T& value) {
    engine.apply({kind, key, {}, std::make_shared<const T>(value), value.revision}, now);
  }
  void putNode(model::Node n) {
    n.revision = ++revision;
    slow.nodes[n.name.text] = n;
    apply(kapi::kNode, {"", n.name.text}, n);
  }
  void putPod(model::Pod p) {
    p.revision = ++revision;
    apply(kapi::kPod, p.key, p);
  }
  static model::Node nodeWith(const std::string& name, const model::Labels& labels) {
    model::Node n = testing::makeNode(name);
    n.labels = labels;
    return n;
  }
  static model::Pod podOf(const std::string& name, const std::string& app) {
    model::Pod p = testing::PodBuilder{name}.value();
    p.labels = {{"app", app}};
    return p;
  }
  sched::PodRequest requestOf(const model::Pod& p) {
    auto request = std::get<sched::PodRequest>(sched::readPod(p, {}, engine.doors()));
    EXPECT_FALSE(engine.askNear(p, request));
    return request;
  }
  std::string decide(const model::Pod& p) {
    const auto placed = engine.decider().decide(engine.decider().classOf(requestOf(p)));
    return placed ? placed->node.text : "";
  }
  void bind(const model::Pod& p, const std::string& node) {
    putPod(boundTo(node, p));
    slow.there.push_back({p, node});
  }

  Engine engine;
  SlowScores slow;
  Mono now{1h};
  model::Revision revision = 0;
};

TEST_F(WishesTest, WhoWouldRatherHaveNoneOfItsKindBesideItSpreads) {
  for (const char* name : {"a", "b", "c"}) { putNode(nodeWith(name, {{kHost, name}})); }
  model::Pod p = podOf("p1", "x");
  p.affinity.change().preferred = {{-100, termOf(kHost, "x")}};
  EXPECT_EQ(decide(p), "a");
  bind(p, "a");
  EXPECT_EQ(decide(p), "b");
  p = podOf("p2", "x");
  p.affinity.change().preferred = {{-100, termOf(kHost, "x")}};
  bind(p, "b");
  EXPECT_EQ(decide(p), "c");
}

TEST_F(WishesTest, WhatIsThereWouldLikeCountsForWhoSaysNothing) {
  for (const char* name : {"a", "b"}) { putNode(nodeWith(name, {{kHost, name}, {"zone", name}})); }
  const model::Pod meant = podOf("meant", "x");
  const model::Pod other = podOf("other", "y");
  putPod(meant);
  putPod(other);
  (void)engine.takeTouched();
  model::Pod p = podOf("there", "z");
  p.affinity.change().preferred = {{-1, termOf("zone", "x")}};
  bind(p, "a");
  const auto touched = engine.takeTouched();
  EXPECT_TRUE(touched.contains(meant.uid)) << "it asks for something else now";
  EXPECT_FALSE(touched.contains(other.uid));
  EXPECT_EQ(decide(meant), "b");
  EXPECT_EQ(decide(other), "a");
  model::Pod gone = boundTo("a", p);
  gone.phase = model::PodPhase::Succeeded;
  putPod(gone);
  EXPECT_EQ(decide(meant), "a");
}

TEST_F(WishesTest, ThePodThatHadToBeNearIsLikedALittle) {
  for (const char* name : {"a", "b"}) { putNode(nodeWith(name, {{"zone", name}})); }
  model::Pod p = podOf("there", "z");
  p.affinity.change().near = {termOf("zone", "x")};
  bind(p, "b");
  EXPECT_EQ(decide(podOf("meant", "x")), "b");
}

TEST_F(WishesTest, AReservedPodCounts) {
  for (const char* name : {"a", "b"}) { putNode(nodeWith(name, {{"zone", name}})); }
  model::Pod p = podOf("p", "x");
  p.spread.change().emplace_back();
  p.spread.change().back().topology_key = "zone";
  p.spread.change().back().is_required = false;
  p.spread.change().back().pods = appIs("x");
  putPod(p);
  EXPECT_EQ(decide(p), "a");
  auto held = engine.ledger().reserve(model::NodeName{"a"}, p.uid, requestOf(p), {});
  model::Pod next = p;
  next.key.name = "next";
  next.uid = model::Uid{"uid-next"};
  EXPECT_EQ(decide(next), "b");
  held.release();
  EXPECT_EQ(decide(next), "a");
}

TEST_F(WishesTest, ANodeThatAsksToBeAvoidedIsTheLast) {
  model::Node a = nodeWith("a", {});
  a.taints = {{"spot", "", "PreferNoSchedule"}};
  putNode(a);
  EXPECT_EQ(decide(podOf("p", "x")), "a") << "it refuses nobody";
  putNode(nodeWith("b", {}));
  EXPECT_EQ(decide(podOf("p", "x")), "b");
  model::Pod tolerates = podOf("t", "x");
  tolerates.tolerations = {{.key = "spot", .value = "", .effect = "", .exists = true}};
  EXPECT_EQ(decide(tolerates), "a");
}

/// A cluster in which anything happens, and kinds of pods that come.
class WishPlay : public WishesTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void play(std::uint64_t seed) {
    Rng rng{seed};
    const int nodes = static_cast<int>(3 + rng.below(8));
    for (int i = 0; i < nodes; ++i) { drawNode(rng, i); }
    std::vector<model::Pod> kinds;
    for (int i = 0; i < 4; ++i) { kinds.push_back(drawKind(rng, i)); }
    for (int step = 0; step < 40; ++step) {
      switch (rng.below(8)) {
        case 0: drawNode(rng, static_cast<int>(rng.below(static_cast<std::uint64_t>(nodes)))); break;
        case 1: dropNode(rng, nodes); break;
        case 2: end(rng); break;
        case 3: leave(rng); break;
        default: place(rng, kinds[rng.below(kinds.size())], step); break;
      }
      for (const auto& kind : kinds) { compare(kind); }
      if (HasFailure()) { return; }
    }
  }

 private:
  static std::string draw(Rng& rng, std::initializer_list<const char*> of) {
    return *(of.begin() + rng.below(of.size()));
  }
  void drawNode(Rng& rng, int i) {
    const std::string name = "n" + std::to_string(i);
    model::Node n = nodeWith(name, {});
    if (!rng.chance(5)) { n.labels[kHost] = rng.chance(5) ? "same" : name; }
    if (!rng.chance(10)) { n.labels["zone"] = draw(rng, {"1", "2", "3"}); }
    if (rng.chance(50)) { n.labels["rack"] = draw(rng, {"1", "2"}); }
    if (rng.chance(50)) { n.labels["disk"] = "ssd"; }
    if (rng.chance(20)) { n.taints.push_back({"soft", "", "PreferNoSchedule"}); }
    if (rng.chance(20)) { n.taints.push_back({"softer", "", "PreferNoSchedule"}); }
    if (rng.chance(10)) { n.taints.push_back({"hard", "", "NoSchedule"}); }
    putNode(n);
  }
  void dropNode(Rng& rng, int nodes) {
    if (!rng.chance(30)) { return; }
    const std::string name = "n" + std::to_string(rng.below(static_cast<std::uint64_t>(nodes)));
    slow.nodes.erase(name);
    engine.apply({kapi::kNode, {"", name}, {}, {}, ++revision}, now);
  }
  static model::PodTerm drawTerm(Rng& rng) {
    model::PodTerm term = termOf(draw(rng, {"zone", "rack", kHost}), draw(rng, {"a", "b"}));
    if (rng.chance(20)) { term.namespaces = {"other"}; }
    if (rng.chance(10)) { term.namespace_selector = model::LabelSelector{}; }
    return term;
  }
  static std::int32_t drawWeight(Rng& rng) {
    return static_cast<std::int32_t>(rng.chance(50) ? 1 + rng.below(3) : 1 + rng.below(100));
  }
  static model::Pod drawKind(Rng& rng, int i) {
    model::Pod p =
        testing::PodBuilder{"kind" + std::to_string(i), rng.chance(80) ? "default" : "other"}.value();
    p.labels = {{"app", draw(rng, {"a", "b"})}};
    for (std::uint64_t n = rng.below(3); n > 0; --n) {
      p.affinity.change().preferred.push_back({(rng.chance(50) ? -1 : 1) * drawWeight(rng), drawTerm(rng)});
    }
    std::sort(p.affinity.change().preferred.begin(), p.affinity.change().preferred.end());
    if (rng.chance(10)) { p.affinity.change().near.push_back(drawTerm(rng)); }
    if (rng.chance(10)) { p.affinity.change().apart.push_back(drawTerm(rng)); }
    const std::vector<std::string> keys{"zone", "rack", kHost};
    for (const auto& key : keys) {
      if (!rng.chance(30)) { continue; }
      model::SpreadConstraint c;
      c.topology_key = key;
      c.is_required = false;
      c.max_skew = static_cast<std::int32_t>(1 + rng.below(3));
      c.honors_affinity = rng.chance(60);
      c.honors_taints = rng.chance(40);
      if (!rng.chance(5)) { c.pods = appIs(draw(rng, {"a", "b"})); }
      p.spread.push_back(std::move(c));
    }
    for (std::uint64_t n = rng.below(3); n > 0; --n) {
      using NodeOp = model::NodeRequirement::Op;
      model::NodeTerm term;
      term.labels = {{"zone", NodeOp::In, {draw(rng, {"1", "2"})}}};
      if (rng.chance(50)) { term.labels = {{"disk", NodeOp::Exists, {}}}; }
      p.node_affinity.change().preferred.push_back({drawWeight(rng), std::move(term)});
    }
    if (rng.chance(20)) { p.node_selector = {{"disk", "ssd"}}; }
    if (rng.chance(40)) {
      p.tolerations = {{.key = draw(rng, {"soft", "hard"}), .value = "", .effect = "", .exists = true}};
    }
    return p;
  }
  /// Where the decider says, or anywhere.
  void place(Rng& rng, const model::Pod& kind, int step) {
    if (slow.nodes.empty()) { return; }
    std::string where = decide(kind);
    if (where.empty() || rng.chance(30)) {
      where = std::next(slow.nodes.begin(), static_cast<std::ptrdiff_t>(rng.below(slow.nodes.size())))->first;
    }
    model::Pod p = kind;
    p.key.name = "p" + std::to_string(step);
    p.uid = model::Uid{"uid-p" + std::to_string(step)};
    putPod(p);
    const sched::Reservation held = engine.ledger().reserve(model::NodeName{where}, p.uid, {}, {});
    slow.there.push_back({p, where});
    compare(kind);
    slow.there.pop_back();
    bind(p, where);
  }
  void end(Rng& rng) {
    if (slow.there.empty()) { return; }
    const auto at = slow.there.begin() + static_cast<std::ptrdiff_t>(rng.below(slow.there.size()));
    engine.apply({kapi::kPod, at->pod.key, at->pod.uid, {}, ++revision}, now);
    slow.there.erase(at);
  }
  void leave(Rng& rng) {
    if (slow.there.empty()) { return; }
    auto& one = slow.there[rng.below(slow.there.size())];
    one.pod.deleting = true;
    putPod(boundTo(one.node, one.pod));
  }

  void compare(const model::Pod& kind) {
    const auto pod_class = engine.decider().classOf(requestOf(kind));
    const sched::PodRequest& request = engine.decider().request(pod_class);
    SlowScores::Scores fitting;
    for (const auto& [name, node] : slow.nodes) {
      if (sched::fitsOn(*engine.ledger().find(node.name), request)) { fitting[name] = 0; }
    }
    const std::string best = slow.bestOf(kind, fitting);
    EXPECT_EQ(decide(kind), best) << kind.key.name;
    EXPECT_EQ(engine.decider().fits(pod_class), !fitting.empty());
    ASSERT_TRUE(engine.decider().prepare(pod_class, std::numeric_limits<std::uint64_t>::max()));
    EXPECT_EQ(decide(kind), best) << kind.key.name << ", when it was prepared";
  }
};

TEST_P(WishPlay, TheDeciderChoosesWhatScoringAllNodesChooses) { play(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, WishPlay, ::testing::Range(std::uint64_t{1}, std::uint64_t{201}));

}  // namespace
}  // namespace gs::engine
