// Nodes and namespaces that refuse, and pods that a kube-scheduler places: what R60 and R61 say of pods of
// our own holds for them as well.
#include <fmt/format.h>

#include "kapi/kinds.h"
#include "test/world/kube.h"
#include "test/world/one_node.h"
#include "test/world/storms.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using kapi::Call;

class KubeStorms : public WithKube<Storms> {
 protected:
  explicit KubeStorms(sandbox::World::Options options = {}) : WithKube{std::move(options), false} {
    startWithKube();
    world.create(claim("one", 1));
  }
};

/// node-a takes no pod: its kubelet's webhook, say, always refuses. It is the fuller one, so the best.
class KubeNodeRefuses : public KubeStorms, public ::testing::WithParamInterface<int> {};

TEST_P(KubeNodeRefuses, TheNextIsTried) {
  answerWith([](const Call& call) {
    const bool there = call.body["target"]["name"].str() == "node-a";
    return isBinding(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  createKubes("p", "one");
  const Duration busy = GetParam() == 429 ? 15s : 0s;  // who says that it is busy is asked again first
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, busy + 10s));
  EXPECT_LE(kube->bindsTo("node-a"), GetParam() == 429 ? 3 : 1);
  expectSettled();
}

TEST_P(KubeNodeRefuses, SoItIsWhenItIsALease) {
  answerWith([](const Call& call) {
    const bool there = call.body["metadata"]["name"].str().starts_with("gpu-node-a");
    return isGpuLease(call) && there ? std::optional{GetParam()} : std::nullopt;
  });
  for (int i = 0; i < 6; ++i) { createKubes("p" + std::to_string(i), "one"); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 6; }, 40s)) << placed("default");
  EXPECT_LE(kube->bindsTo("node-a"), 6);
  expectSettled();
}
INSTANTIATE_TEST_SUITE_P(Answers, KubeNodeRefuses, ::testing::Values(403, 409, 422, 429, 500));

/// Leases of one node that come to no answer before kube-scheduler gives up.
TEST_F(KubeStorms, ANodeWhoseLeasesHangIsLeftOut) {
  world.setJudge([](auto, const Call& call) -> sandbox::CallFault {
    if (!isGpuLease(call) || !call.body["metadata"]["name"].str().starts_with("gpu-node-a")) { return {}; }
    return {.how = sandbox::CallFault::How::LostBefore, .hangs = 10s};
  });
  createKubes("p", "one");
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-b"; }, 20s));
  // Until the write of its lease is answered it cannot move: who asks meanwhile joins what is under way.
  EXPECT_LE(kube->bindsTo("node-a"), 2);
}

/// Each is tried before one is tried twice.
class ManyKubeNodesRefuse : public AllButOneRefuse<KubeStorms> {};

TEST_P(ManyKubeNodesRefuse, TheLastIsFound) {
  refuse("n-11");
  createKubes("p", "one");
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n-11"; }, 3min)) << nodeOf("p");
  for (int i = 0; i < kNodes; ++i) { EXPECT_LE(kube->bindsTo(fmt::format("n-{:02}", i)), 2) << i; }
}

TEST_P(ManyKubeNodesRefuse, TheOneThatIsMendedIsFound) {
  refuse("none");
  createKubes("p", "one");
  world.run(5min);
  refuse("n-11");
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "n-11"; }, 4min)) << nodeOf("p");
}

TEST_P(ManyKubeNodesRefuse, TheyAreTriedAgainWhenNoOtherFits) {
  refuse("none");
  for (int i = 0; i < 6; ++i) { createKubes("p" + std::to_string(i), "one"); }
  world.run(5min);
  EXPECT_EQ(placed("default"), 0U);
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("default") == 6; }, 3min)) << placed("default");
}
INSTANTIATE_TEST_SUITE_P(Answers, ManyKubeNodesRefuse, ::testing::Values(403, 500));

/// What is written about pods of namespace "bad" is answered so: a webhook of theirs is down.
class KubeNamespaceIsBroken : public KubeStorms, public ::testing::WithParamInterface<int> {
 protected:
  KubeNamespaceIsBroken() { makeNamespace("bad"); }
  void breakIt() {
    answerWith([](const Call& call) {
      return isPodWrite(call) && call.key.ns == "bad" ? std::optional{GetParam()} : std::nullopt;
    });
  }
  void badPods(int n) {
    for (int i = 0; i < n; ++i) { createKubes("bad" + std::to_string(i), "one", "bad"); }
  }
};

TEST_P(KubeNamespaceIsBroken, ItsPodsHoldFewGpus) {
  breakIt();
  badPods(60);
  world.run(30s);
  for (int i = 0; i < 8; ++i) { world.create(pod("good" + std::to_string(i), "one")); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 8; }, 5s)) << placed("default");
  answerAsUsual();
  EXPECT_TRUE(eventually([&] { return placed("bad") == 4; }, 90s)) << placed("bad");
}

TEST_P(KubeNamespaceIsBroken, ItsPodsKeepNobodyOfThatKubeSchedulerWaiting) {
  breakIt();
  badPods(60);
  world.run(30s);
  for (int i = 0; i < 4; ++i) { createKubes("good" + std::to_string(i), "one"); }
  EXPECT_TRUE(eventually([&] { return placed("default") == 4; }, 20s)) << placed("default");
}
INSTANTIATE_TEST_SUITE_P(Answers, KubeNamespaceIsBroken, ::testing::Values(500, 403, 429, 409));

/// One pod of a namespace cannot be written, nor its leases taken back.
TEST_F(KubeStorms, PlacementsThatCannotBeTakenBackKeepNobodyOfTheirNamespaceWaiting) {
  answerWith([](const Call& call) -> std::optional<int> {
    if (call.kind == kapi::kLease && call.verb == kapi::Verb::Delete) { return 403; }
    return isBinding(call) && call.key.name.starts_with("bad") ? std::optional{422} : std::nullopt;
  });
  for (int i = 0; i < 6; ++i) { createKubes("bad" + std::to_string(i), "one"); }
  world.run(20s);
  createKubes("good", "one");
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 15s));
}

/// Few are woken at a time, and what is written to these ones takes for ever.
class WakesThatHang : public KubeStorms {
 protected:
  WakesThatHang() {
    makeNamespace("bad");
    world.setJudge([](auto, const Call& call) -> sandbox::CallFault {
      if (!isPodWrite(call) || call.key.ns != "bad") { return {}; }
      return {.how = sandbox::CallFault::How::LostBefore, .hangs = 10min};
    });
  }
  bool isWoken(const std::string& name, Duration within) {
    return eventually(
        [&] { return !podObject(name)["metadata"]["annotations"]["gpu.scheduling/wake"].str().empty(); },
        within);
  }
};

TEST_F(WakesThatHang, OfPodsThatNobodyAsksAboutKeepNoOtherFromBeingWoken) {
  for (int i = 0; i < 40; ++i) { world.create(kubesPod("p" + std::to_string(i), "one", "bad")); }
  world.run(70s);
  world.create(kubesPod("forgotten", "one"));
  EXPECT_TRUE(isWoken("forgotten", 90s));  // nobody asked for a minute, and a sweep comes every 30 s
}

TEST_F(WakesThatHang, NorOneThatFoundNoGpus) {
  world.create(claim("four", 4));
  world.create(claim("eight", 8));
  world.create(pod("b", "eight"));
  ASSERT_TRUE(eventually([&] { return placed("default") == 1; }));
  for (int i = 0; i < 40; ++i) { world.create(kubesPod("p" + std::to_string(i), "one", "bad")); }
  world.run(95s);  // all that may be are being woken
  world.create(pod("a", "four"));
  ASSERT_TRUE(eventually([&] { return placed("default") == 2; }));
  createKubes("waits", "four");
  world.run(1s);
  finish("a");
  EXPECT_TRUE(isWoken("waits", 10s));
}

}  // namespace
}  // namespace gs::test
