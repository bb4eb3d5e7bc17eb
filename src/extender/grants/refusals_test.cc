#include "extender/grants/refusals.h"

#include <gtest/gtest.h>

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
  /// By all nodes, since it asks for two GPUs.
  model::Uid refuse(const std::string& name, std::int64_t cores = 200, const std::string& ns = "default",
                    std::int32_t priority = 0) {
    model::Pod pod = vcudaPod(name, {{cores, 0}});
    pod.key.ns = ns;
    pod.priority = priority;
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), ++revision}, now);
    const auto request = std::get<sched::PodRequest>(sched::vcudaDoor(pod, false));
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

}  // namespace
}  // namespace gs::extender
