// What containers have outlives what says so: claims that go before their pods, and slices that a kubelet
// takes away as it starts.
#include "test/world/dra_cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

class DraAway : public Dra {
 protected:
  explicit DraAway(sandbox::World::Options options = byDra()) : Dra{std::move(options)} {}

  void publishes(bool does) {
    for (const char* node : {"node-a", "node-b"}) { world.machines().setPublishing(node, does); }
    world.touch();
    const std::size_t wanted = does ? 2 : 0;
    ASSERT_TRUE(eventually([&] {
      return world.get("/apis/resource.k8s.io/v1/resourceslices")["items"].items().size() == wanted;
    }));
    world.run(1s);  // until the scheduler has seen it
  }
  std::string said(const std::string& node) {
    return std::string{
        world.get("/apis/gpu.scheduling/v1/gpunodestatuses/" + node)["status"]["enforcement"].str()};
  }
  /// A pod of kube-scheduler's, which it allocates these GPUs of the node.
  void theirs(const std::string& name, const std::string& node, const std::vector<int>& gpus) {
    Value theirs = withClaims(pod(name, ""), "resourceClaimName", {"of-" + name});
    theirs.child("spec").set("schedulerName", "default-scheduler");
    world.create(theirs);
    world.create(resourceClaim("of-" + name, gpuDevices(static_cast<std::int64_t>(gpus.size()))));
    const std::string path = std::string{kClaimsPath} + "/of-" + name;
    Value claim = world.get(path);
    claim.child("metadata").set("finalizers", Array{Value{model::kDeleteProtection}});
    ASSERT_EQ(world.request("PUT", path, claim).code, 200);
    claim = world.get(path);
    Array results;
    const auto devices = world.machines().devicesOf(node);
    for (const int gpu : gpus) {
      const auto& device = devices.at(static_cast<std::size_t>(gpu));
      results.push_back(Object{{"request", "gpus"},
                               {"driver", "gpu.nvidia.com"},
                               {"pool", node},
                               {"device", inLowerCase(device.uuid)}});
    }
    const Object user{
        {"resource", "pods"}, {"name", name}, {"uid", podObject(name)["metadata"]["uid"].str()}};
    claim.set("status", Object{{"allocation", Object{{"devices", Object{{"results", std::move(results)}}}}},
                               {"reservedFor", Array{Value{user}}}});
    ASSERT_EQ(world.request("PUT", path + "/status", claim).code, 200);
    const Object target{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}};
    (void)world.request("POST", "/api/v1/namespaces/default/pods/" + name + "/binding",
                        Object{{"apiVersion", "v1"},
                               {"kind", "Binding"},
                               {"metadata", Object{{"name", name}}},
                               {"target", target}});
    ASSERT_TRUE(eventually([&] { return runs(name); }));
  }
  /// As somebody does who may edit claims.
  void strip(const std::string& claim) {
    const std::string path = std::string{kClaimsPath} + "/" + claim;
    Value bare = world.get(path);
    bare.child("metadata").set("finalizers", Array{});
    ASSERT_EQ(world.request("PUT", path, bare).code, 200);
    (void)world.request("DELETE", path);
    ASSERT_NE(world.get(path)["kind"].str(), "ResourceClaim");
  }
  /// All of both nodes.
  void theyHaveAll() {
    theirs("x", "node-a", {0, 1, 2, 3});
    theirs("y", "node-b", {0, 1, 2, 3, 4, 5, 6, 7});
  }
  bool waits(const std::string& name, Duration by) {
    return !eventually([&] { return !nodeOf(name).empty(); }, by);
  }
};

class SlicesAway : public DraAway {
 protected:
  SlicesAway() : DraAway{byDra(false)} {}
};

// ---- claims

TEST_F(SlicesAway, ARunningPodHasItsGpusThoughItsClaimIsDeleted) {
  world.kubelet().setConfig({.linger = 20s});
  startOne();
  world.run(2s);
  theyHaveAll();
  strip("of-x");
  world.create(pod("a", "", 1));
  EXPECT_TRUE(waits("a", 10min));
  deletePod("x", true);
  EXPECT_TRUE(waits("a", 290s)) << "nobody says that its containers ended";
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 30s)) << whyWaiting("a");
  expectOneThing("a");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// The watch of pods is the busier one.
TEST_F(SlicesAway, AClaimThatIsSeenToGoBeforeItsPodKeepsTheGpus) {
  world.kubelet().setConfig({.linger = 4min});
  startOne();
  world.run(2s);
  theyHaveAll();
  int streamed = 0;
  world.setStreamJudge(
      [&streamed](sandbox::ReplicaId, kapi::Token) -> Duration { return (++streamed % 2) == 0 ? 2s : 0s; });
  world.create(pod("a", "", 1));
  deletePod("x", true);
  EXPECT_TRUE(waits("a", 280s));
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 60s)) << whyWaiting("a");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// Its agent saw it use them, and nothing else says so.
TEST_F(DraAway, ANewLeaderBelievesTheAgentOfAPodWhoseClaimWent) {
  startOne();
  world.run(2s);
  theyHaveAll();
  world.run(1min);
  world.crash(*world.leader());
  strip("of-x");
  startOne();
  world.create(pod("a", "", 1));
  EXPECT_TRUE(waits("a", 2min));
  deletePod("x");
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 2min)) << whyWaiting("a");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

// ---- slices

TEST_F(DraAway, WithoutSlicesNobodyGetsGpusOfTheNode) {
  startOne();
  world.create(claim("one", 1));
  ASSERT_TRUE(eventually([&] { return said("node-a") == "dra" && said("node-b") == "dra"; }));
  for (const char* when : {"it saw the slices", "it never did"}) {
    publishes(false);
    if (std::string{when} == "it never did") {
      world.crash(*world.leader());
      startOne();
    }
    const std::string number = std::string{when} == "it never did" ? "2" : "1";
    world.create(mappedPod("map" + number + "-0", "0=node-a:0"));
    world.create(pod("claim" + number, "one"));
    world.create(pod("limit" + number, "", 1));
    world.run(10min);
    for (const auto& name : {"map" + number + "-0", "claim" + number, "limit" + number}) {
      EXPECT_EQ(nodeOf(name), "") << name << ": " << when;
    }
    EXPECT_NE(whyWaiting("claim" + number), "");
    publishes(true);
    ASSERT_TRUE(eventually([&] { return runs("limit" + number); })) << whyWaiting("limit" + number);
    expectOneThing("limit" + number);
    EXPECT_EQ(nodeOf("map" + number + "-0"), "");
  }
}

TEST_F(SlicesAway, WhoIsDeletedByForceMeanwhileKeepsItsGpus) {
  world.kubelet().setConfig({.linger = 4min});
  startOne();
  world.run(2s);
  theyHaveAll();
  publishes(false);
  deletePod("x", true);
  world.run(5s);
  publishes(true);
  world.create(pod("a", "", 1));
  EXPECT_TRUE(waits("a", 280s));
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 60s)) << whyWaiting("a");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// Nothing is said to pods that run: their GPUs are as well as before.
TEST_F(DraAway, APodThatRunsHearsNothingOfIt) {
  startOne();
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  publishes(false);
  world.run(1min);
  publishes(true);
  world.run(1min);
  EXPECT_FALSE(warned("GpuUnhealthy"));
  EXPECT_TRUE(runs("a"));
  expectOneThing("a");
}

/// The way back to a device plugin (docs/use/dra.md).
TEST_F(DraAway, ANodeThatADevicePluginServesIsItsDriversNoMore) {
  startOne();
  ASSERT_TRUE(eventually([&] { return said("node-a") == "dra"; }));
  publishes(false);
  world.run(1min);
  ASSERT_EQ(said("node-a"), "dra");
  const Object amounts{{"nvidia.com/gpu", "4"}};
  ASSERT_EQ(world
                .request("PATCH", "/api/v1/nodes/node-a/status",
                         Object{{"status", Object{{"capacity", amounts}, {"allocatable", amounts}}}},
                         "application/merge-patch+json")
                .code,
            200);
  ASSERT_TRUE(eventually([&] { return said("node-a") != "dra"; }));
  EXPECT_EQ(said("node-b"), "dra");
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); })) << whyWaiting("a");
  EXPECT_EQ(nodeOf("a"), "node-a");
}

}  // namespace
}  // namespace gs::test
