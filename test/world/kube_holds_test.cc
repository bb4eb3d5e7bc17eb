// GPUs that are held for pods which a kube-scheduler places are held by courtesy: nobody waits for long
// because of pods that it filters and ranks and never binds (R80).
#include "test/world/kube.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

/// Nodes of four and eight GPUs. Of namespace "bad" nothing is ever bound.
class KubeHolds : public WithKube<Cluster> {
 protected:
  KubeHolds() {
    startWithKube();
    makeNamespace("bad");
    kube->hangs("bad");
    world.create(claim("one", 1));
    world.create(claim("eight", 8));
  }
  void badPods(int n, const std::string& prefix, const std::string& ns = "bad") {
    for (int i = 0; i < n; ++i) { createKubes(prefix + std::to_string(i), "one", ns); }
  }
  bool isPlaced(const std::string& name, Duration within) {
    return eventually([&] { return !nodeOf(name).empty(); }, within);
  }
  /// Every second these ones go and others come, for so long.
  void others(Duration how_long) {
    for (int round = 0; round < how_long / 1s; ++round) {
      world.after(round * 1s, [this, round] {
        for (const auto& p : world.get("/api/v1/namespaces/bad/pods")["items"].items()) {
          (void)world.request("DELETE",
                              "/api/v1/namespaces/bad/pods/" + std::string{p["metadata"]["name"].str()},
                              json::Object{{"gracePeriodSeconds", 0}});
        }
        badPods(20, "round" + std::to_string(round) + "-");
      });
    }
  }
};

TEST_F(KubeHolds, OfANamespaceThatHangsKeepNobodyElseWaiting) {
  badPods(120, "p");
  world.run(30s);
  for (int i = 0; i < 6; ++i) {
    const std::string ours = "ours" + std::to_string(i);
    world.create(pod(ours, "one"));
    EXPECT_TRUE(isPlaced(ours, 4s)) << ours;
    const std::string kubes = "kubes" + std::to_string(i);
    createKubes(kubes, "one");
    EXPECT_TRUE(isPlaced(kubes, 8s)) << kubes;
    finish(ours);
    finish(kubes);
    world.run(3s);
  }
  expectSettled();
}

TEST_F(KubeHolds, NorWhoNeedsAllGpusOfANode) {
  badPods(40, "p");
  world.run(30s);
  world.create(pod("ours", "eight"));
  EXPECT_TRUE(isPlaced("ours", 7s));
  finish("ours");
  world.run(5s);
  createKubes("kubes", "eight");
  EXPECT_TRUE(isPlaced("kubes", 15s));
}

/// No pod of them has had anything before.
TEST_F(KubeHolds, NorWhenOthersComeAllTheTime) {
  others(60s);
  world.run(10s);
  world.create(pod("ours", "eight"));
  EXPECT_TRUE(isPlaced("ours", 7s));
  finish("ours");
  world.run(5s);
  createKubes("kubes", "eight");
  EXPECT_TRUE(isPlaced("kubes", 20s));
}

TEST_F(KubeHolds, NorWhenManyNamespacesHang) {
  for (int n = 0; n < 8; ++n) {
    const std::string ns = "bad" + std::to_string(n);
    makeNamespace(ns);
    kube->hangs(ns);
    badPods(8, "p", ns);
  }
  world.run(30s);
  world.create(pod("ours", "eight"));
  EXPECT_TRUE(isPlaced("ours", 7s));
  createKubes("kubes", "one");
  EXPECT_TRUE(isPlaced("kubes", 20s));
}

/// Those that found no GPUs wait in line, and are woken one after the other.
TEST_F(KubeHolds, NorThoseThatWereWoken) {
  world.create(pod("all", "eight"));
  ASSERT_TRUE(isPlaced("all", 2s));
  badPods(60, "p");
  world.run(60s);
  finish("all");
  world.run(10s);
  world.create(pod("ours", "eight"));
  EXPECT_TRUE(isPlaced("ours", 7s));
}

}  // namespace
}  // namespace gs::test
