#include "extender/grants/refusals.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class RefusalsTest : public ::testing::Test {
 protected:
  RefusalsTest() {
    for (int i = 0; i < kNodes; ++i) { nodeHas(i, 1); }
    table = std::make_shared<const NodeTable>(engine.ledger());
  }
  void nodeHas(int i, int gpus) {
    const model::Node node = gpuNode("n" + std::to_string(i), gpus);
    engine.apply(
        {kapi::kNode, {"", node.name.text}, {}, std::make_shared<const model::Node>(node), ++revision}, now);
  }
  /// A pod that comes, and waits.
  model::Pod comes(const std::string& name, std::int64_t cores, const std::string& ns,
                   std::int32_t priority) {
    model::Pod pod = vcudaPod(name, {{cores, 0}});
    pod.key.ns = ns;
    pod.priority = priority;
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), ++revision}, now);
    return pod;
  }
  static sched::PodRequest requestOf(const model::Pod& pod) {
    return std::get<sched::PodRequest>(sched::vcudaDoor(pod, false));
  }
  /// By all nodes, since it asks for two GPUs.
  model::Uid refuse(const std::string& name, std::int64_t cores = 200, const std::string& ns = "default",
                    std::int32_t priority = 0) {
    const model::Pod pod = comes(name, cores, ns, priority);
    const sched::PodRequest request = requestOf(pod);
    Candidates c;
    c.table = table;
    Answer a;
    for (int i = 0; i < kNodes; ++i) {
      c.nodes.push_back(c.table->find("n" + std::to_string(i)));
      a.of_objects[static_cast<std::size_t>(i)] =
          sched::standingOf(engine.ledger().at(c.nodes.back()), request);
    }
    refusals.refused(pod, request, c, a, now);
    return pod.uid;
  }
  /// Who is woken in that time, in order.
  std::string woken(Duration time) {
    std::string out;
    for (const Mono end = now + time; now <= end; now += 10ms) {
      while (const auto uid = refusals.next(now, [](const auto&) { return true; })) {
        out += uid->text + " ";
      }
    }
    return out;
  }

  static constexpr int kNodes = 10;
  engine::Engine engine;
  NodeTablePtr table;
  Refusals refusals{engine};
  Mono now{1h};
  model::Revision revision = 0;
};

TEST_F(RefusalsTest, AKindLooksOnlyAtTheNodesThatChanged) {
  for (int i = 0; i < 100; ++i) { refuse("p" + std::to_string(i)); }
  EXPECT_EQ(woken(10s), "");
  const auto before = refusals.looks();
  EXPECT_EQ(woken(1min), "");
  EXPECT_EQ(refusals.looks(), before) << "nothing changed";
  nodeHas(3, 0);
  EXPECT_EQ(woken(1min), "");
  EXPECT_LE(refusals.looks() - before, 2U) << "one kind, one node";
}

TEST_F(RefusalsTest, ManyKindsLookSomeAtATime) {
  for (int i = 0; i < 3'000; ++i) { refuse("p" + std::to_string(i), 200, "ns" + std::to_string(i)); }
  for (int i = 0; i < kNodes; ++i) { nodeHas(i, 0); }
  const auto before = refusals.looks();
  now += 10s;
  (void)refusals.next(now, [](const auto&) { return true; });
  EXPECT_LE(refusals.looks() - before, 2 * Refusals::kLooksPerTurn + 2);
  EXPECT_EQ(refusals.nextDue(), Mono{}) << "it goes on";
  (void)woken(1s);
  EXPECT_GE(refusals.looks() - before, std::uint64_t{3'000 * kNodes});
}

TEST_F(RefusalsTest, OfAKindTheHighestPriorityIsWokenFirstAndNamespacesTakeTurns) {
  refuse("low");
  refuse("high", 200, "default", 10);
  refuse("other", 200, "other");
  nodeHas(3, 2);
  EXPECT_EQ(woken(5s), "uid-high uid-other uid-low ");
}

TEST_F(RefusalsTest, OneThatMayNotBeWokenNowIsLater) {
  const auto uid = refuse("p");
  nodeHas(3, 2);
  now += 2s;
  EXPECT_EQ(refusals.next(now, [](const auto&) { return false; }), std::nullopt);
  EXPECT_EQ(refusals.nextDue(), now + Refusals::kRest);
  EXPECT_EQ(woken(2s), uid.text + " ");
}

TEST_F(RefusalsTest, NothingIsKeptOfWhoIsForgotten) {
  for (const char* name : {"p", "q"}) { refusals.forget(refuse(name)); }
  EXPECT_EQ(refusals.size(), 0U);
  nodeHas(3, 2);
  EXPECT_EQ(refusals.nextDue(), std::nullopt);
}

TEST_F(RefusalsTest, APodThatNoWatchBringsIsForgotten) {
  const auto uid = refuse("p");
  engine.podGone(uid, now);
  EXPECT_EQ(woken(2s), "");
  EXPECT_EQ(refusals.size(), 0U);
}

TEST_F(RefusalsTest, OfOneNamespaceNoMoreThanHalfIsKept) {
  for (int i = 0; i < Refusals::kMostRefused; ++i) { refuse("p" + std::to_string(i)); }
  EXPECT_EQ(refusals.size(), std::size_t{Refusals::kMostRefused / 2});
  refuse("q", 200, "other");
  EXPECT_EQ(refusals.size(), std::size_t{Refusals::kMostRefused / 2 + 1});
}

// ---- Pods of one kind that other nodes refused

/// As refuse(), by some of the nodes only, which are bits of `by`.
class GroupsOfAKind : public RefusalsTest {
 protected:
  model::Uid refuseBy(const std::string& name, std::uint32_t by, std::int32_t priority = 0) {
    const model::Pod pod = comes(name, 200, "default", priority);
    Candidates c;
    c.table = table;
    Answer a;
    for (int i = 0; i < kNodes; ++i) {
      if ((by >> i & 1U) == 0) { continue; }
      a.of_objects[c.nodes.size()].refused = sched::Reason::TooFewFree;
      c.nodes.push_back(c.table->find("n" + std::to_string(i)));
    }
    refusals.refused(pod, requestOf(pod), c, a, now);
    return pod.uid;
  }
};

TEST_F(GroupsOfAKind, AreWokenByTheirOwnNodes) {
  refuseBy("of-3", 1U << 3);
  refuseBy("of-4", 1U << 4);
  refuseBy("of-both", 3U << 3, 5);
  nodeHas(4, 2);
  EXPECT_EQ(woken(4s), "uid-of-both uid-of-4 ");
  nodeHas(3, 2);
  EXPECT_EQ(woken(500ms), "uid-of-3 ");
}

TEST_F(GroupsOfAKind, WhoRestsWhileANodeOfItsChangesIsWokenThen) {
  refuseBy("first", 1U << 3);
  nodeHas(3, 2);
  EXPECT_EQ(woken(2s), "uid-first ");
  refuseBy("later", 1U << 4);
  nodeHas(4, 2);
  EXPECT_EQ(woken(500ms), "") << "it rests";
  EXPECT_EQ(woken(1s), "uid-later ");
}

/// Work is counted, not time: a node that no pod of the kind was refused by costs a look, whoever waits.
TEST_F(GroupsOfAKind, ANodeThatWasNobodysCandidateCostsNoPodALook) {
  constexpr int kPods = 4'000;
  constexpr int kOthers = 300;
  for (int i = 0; i < kOthers; ++i) { nodeHas(kNodes + i, 1); }
  for (int i = 0; i < kPods; ++i) { refuseBy("p" + std::to_string(i), 1023); }
  EXPECT_EQ(woken(2s), "");
  const auto looks = refusals.looks();
  const auto words = refusals.words();
  for (int i = 0; i < kOthers; ++i) { nodeHas(kNodes + i, 2); }
  EXPECT_EQ(woken(1min), "");
  EXPECT_LE(refusals.looks() - looks, 10U);
  EXPECT_LE(refusals.words() - words, std::uint64_t{kOthers + 10});
}

TEST_F(GroupsOfAKind, HoweverManyThereAreATurnIsBounded) {
  constexpr std::uint32_t kGroups = 512;  // none has node 9
  for (int i = 0; i < 40'000; i += 64) { nodeHas(kNodes + i / 64, 1); }
  for (std::uint32_t by = 1; by < kGroups; ++by) {
    for (int i = 0; i < 8; ++i) { refuseBy("p" + std::to_string(by * 8 + static_cast<unsigned>(i)), by); }
  }
  now += 2s;
  for (int i = 0; i < 600; ++i) { nodeHas(kNodes + i, 2); }
  std::uint64_t all = 0;
  for (int turn = 0; turn < 1'000; ++turn) {
    const auto looks = refusals.looks();
    const auto words = refusals.words();
    EXPECT_EQ(refusals.next(now, [](const auto&) { return true; }), std::nullopt);
    EXPECT_LE(refusals.looks() - looks, 3 * Refusals::kLooksPerTurn);
    EXPECT_LE(refusals.words() - words, 3 * Refusals::kWordsPerTurn);
    all += refusals.words() - words;
    if (!refusals.nextDue() || *refusals.nextDue() > now) { break; }
  }
  EXPECT_LE(all, std::uint64_t{3 * kGroups * 20}) << "each group is compared once, in a few words";
  nodeHas(9, 2);  // of nobody's
  nodeHas(0, 2);
  now += 1s;
  EXPECT_NE(refusals.next(now, [](const auto&) { return true; }), std::nullopt);
}

/// Against the plain rule: whoever rests no more, and was refused by a node that takes it now, is woken, and
/// nobody else.
TEST_F(GroupsOfAKind, WhoeverItIsThatANodeMayTakeIsWokenAndNobodyElse) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng{seed};
    refusals.reset();
    std::map<std::string, std::uint32_t> by;  // who waits
    std::vector<bool> has_two(kNodes, false);
    for (int i = 0; i < kNodes; ++i) { nodeHas(i, 1); }
    now += 5min;  // nobody has a backoff
    const auto mayTake = [&](const std::string& name) {
      for (int i = 0; i < kNodes; ++i) {
        if (has_two[static_cast<std::size_t>(i)] && (by.at(name) >> i & 1U) != 0) { return true; }
      }
      return false;
    };
    for (int step = 0; step < 200; ++step) {
      const std::string name = "p" + std::to_string(rng.below(12));
      switch (rng.below(4)) {
        case 0: {
          auto nodes = static_cast<std::uint32_t>(rng.below(1024));
          for (std::size_t i = 0; i < has_two.size(); ++i) {
            if (has_two[i]) { nodes &= ~(1U << i); }  // it would have been taken there
          }
          if (nodes == 0) { break; }
          by[name] = nodes;
          (void)refuseBy(name, nodes, static_cast<std::int32_t>(rng.below(3)));
          break;
        }
        case 1: {
          const auto node = rng.below(kNodes);
          has_two[node] = !has_two[node];
          nodeHas(static_cast<int>(node), has_two[node] ? 2 : 1);
          break;
        }
        case 2:
          refusals.forget(model::Uid{"uid-" + name});
          by.erase(name);
          break;
        default: now += Duration{1ms} * static_cast<std::int64_t>(rng.below(400));
      }
      while (const auto uid = refusals.next(now, [](const auto&) { return true; })) {
        const std::string woken_one = uid->text.substr(4);
        ASSERT_TRUE(by.contains(woken_one)) << "seed " << seed;
        ASSERT_TRUE(mayTake(woken_one)) << "seed " << seed << " " << woken_one;
      }
    }
    std::set<std::string> seen;
    for (const Mono end = now + 3min; now < end; now += 100ms) {
      while (const auto uid = refusals.next(now, [](const auto&) { return true; })) {
        const std::string woken_one = uid->text.substr(4);
        seen.insert(woken_one);
        refusals.forget(*uid);  // it got its node
      }
    }
    for (const auto& [name, nodes] : by) {
      EXPECT_EQ(seen.contains(name), mayTake(name)) << "seed " << seed << " " << name;
    }
  }
}

}  // namespace
}  // namespace gs::extender
