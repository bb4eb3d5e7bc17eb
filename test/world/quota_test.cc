// Quotas of GPUs by namespace and model bind claim and plain pods too (R48): one table for all doors.
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kModelLabel = "gaia.tencent.com/gpu-model";
constexpr const char* kMap = "/api/v1/namespaces/kube-system/configmaps/gpuquota";

/// node-a (4 GPUs) is a V100, node-b (8) a P40.
class Quotas : public Cluster {
 protected:
  explicit Quotas(sandbox::World::Options options = {}) : Cluster{std::move(options)} {
    world.run(100ms);  // its nodes come
    label("node-a", "V100");
    label("node-b", "P40");
  }
  void startOne() {
    scheduler::Config config;
    config.quota.map = {"kube-system", "gpuquota"};
    world.startReplica(config);
    ASSERT_TRUE(world.runUntil([&] { return world.leader().has_value(); }, 30s));
  }
  void label(const std::string& node, const char* model) {
    const json::Object labels{{kModelLabel, model}};
    const auto answer = world.request("PATCH", "/api/v1/nodes/" + node,
                                      json::Object{{"metadata", json::Object{{"labels", labels}}}},
                                      "application/merge-patch+json");
    ASSERT_EQ(answer.code, 200);
  }
  void quota(const std::string& table) {
    const json::Object data{{"gpu_quota", table}};
    if (world.get(kMap)["kind"].str() == "ConfigMap") {
      const auto answer =
          world.request("PATCH", kMap, json::Object{{"data", data}}, "application/merge-patch+json");
      ASSERT_EQ(answer.code, 200);
      return;
    }
    world.create(json::Object{{"apiVersion", "v1"},
                              {"kind", "ConfigMap"},
                              {"metadata", json::Object{{"name", "gpuquota"}, {"namespace", "kube-system"}}},
                              {"data", data}});
  }
  void taint(const std::string& node) {
    const json::Object one{{"key", "own"}, {"value", "x"}, {"effect", "NoSchedule"}};
    const json::Object spec{{"taints", json::Array{json::Value{one}}}};
    const auto answer = world.request("PATCH", "/api/v1/nodes/" + node, json::Object{{"spec", spec}},
                                      "application/merge-patch+json");
    ASSERT_EQ(answer.code, 200);
  }
  bool waits(const std::string& name, const std::string& why) {
    return eventually([&] { return whyWaiting(name).find(why) != std::string::npos; }, 90s);
  }
  bool placed(const std::string& name) {
    return eventually([&] { return !nodeOf(name).empty(); });
  }
};

TEST_F(Quotas, AClaimsGpusCountAndAPodOverTheLimitWaitsUntilOneEnds) {
  quota(R"({"default":{"quota":{"V100":2}}})");
  startOne();
  world.create(claim("one", 1));
  for (const char* name : {"p0", "p1"}) { world.create(pod(name, "one")); }
  ASSERT_TRUE(placed("p0") && placed("p1"));
  EXPECT_EQ(nodeOf("p0"), "node-a") << "the only model that the quota names";
  world.create(pod("p2", "one"));
  ASSERT_TRUE(waits("p2", "0/2 nodes are available: 2 ExceedsGPUQuota."));
  EXPECT_EQ(podReason("p2"), "QuotaExceeded");
  finish("p0");
  ASSERT_TRUE(placed("p2"));
  EXPECT_EQ(nodeOf("p2"), "node-a");
  expectSettled();
}

TEST_F(Quotas, PlainPodsAreBoundByTheSameTable) {
  quota(R"({"default":{"quota":{"P40":3}}})");
  startOne();
  world.create(claim("two", 2));
  world.create(pod("c", "two"));
  ASSERT_TRUE(placed("c"));
  EXPECT_EQ(nodeOf("c"), "node-b");
  world.create(pod("p", "", 2));
  ASSERT_TRUE(waits("p", "2 ExceedsGPUQuota"));
  world.create(pod("q", "", 1));
  ASSERT_TRUE(placed("q"));
  EXPECT_EQ(nodeOf("q"), "node-b");
  EXPECT_EQ(nodeOf("p"), "");
}

TEST_F(Quotas, AChangeCountsAtOnceForThoseWhoWait) {
  quota(R"({"default":{"quota":{"V100":0}}})");
  startOne();
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(waits("p", "ExceedsGPUQuota"));
  quota(R"({"default":{"quota":{"V100":1}}})");
  ASSERT_TRUE(eventually([&] { return nodeOf("p") == "node-a"; }, 2s));
  world.create(pod("q", "one"));
  ASSERT_TRUE(waits("q", "ExceedsGPUQuota"));
  ASSERT_EQ(world.request("DELETE", kMap, json::Object{}).code, 200);
  EXPECT_TRUE(eventually([&] { return !nodeOf("q").empty(); }, 2s)) << "no ConfigMap, no limit";
}

TEST_F(Quotas, ATableThatCannotBeReadKeepsTheLastOneAndIsSaidOnTheConfigMap) {
  quota(R"({"default":{"quota":{"V100":1}}})");
  startOne();
  quota(R"({"default":{"quota":{"V100":"many"}}})");
  const auto warned = [&] {
    const auto events = world.get("/apis/events.k8s.io/v1/namespaces/kube-system/events")["items"].items();
    return std::any_of(events.begin(), events.end(), [](const auto& e) {
      return e["reason"].str() == "InvalidQuota" && e["regarding"]["name"].str() == "gpuquota";
    });
  };
  EXPECT_TRUE(eventually(warned, 10s));
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(placed("p"));
  world.create(pod("q", "one"));
  EXPECT_TRUE(waits("q", "ExceedsGPUQuota"));
}

TEST_F(Quotas, WithoutATableThatCouldEverBeReadNobodyGetsAGpuAndEverybodyIsToldWhy) {
  quota("nonsense");
  startOne();
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  world.create(pod("ordinary", ""));
  ASSERT_TRUE(waits("p", "the GPU quotas are not known: ConfigMap kube-system/gpuquota: "));
  EXPECT_EQ(podReason("p"), "SchedulerNotReady");
  EXPECT_FALSE(nodeOf("ordinary").empty());
  quota("{}");
  EXPECT_TRUE(placed("p"));
}

/// The nodes say the same as before, and an autoscaler that added one for it would add it for nothing.
TEST_F(Quotas, ItIsSaidAtOnceThatANewNodeHelpsNoMore) {
  quota(R"({"default":{"quota":{"V100":1}}})");
  startOne();
  taint("node-a");
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  const std::string text =
      "0/2 nodes are available: 1 ExceedsGPUQuota, 1 node(s) had untolerated taint {own: x}.";
  ASSERT_TRUE(waits("p", text));
  EXPECT_EQ(podReason("p"), "Unschedulable") << "another V100 would do";
  quota(R"({"default":{"quota":{"V100":0}}})");
  EXPECT_TRUE(eventually([&] { return podReason("p") == "QuotaExceeded"; }, 10s)) << podReason("p");
  EXPECT_EQ(whyWaiting("p"), text);
  quota(R"({"default":{"quota":{"V100":1}}})");
  EXPECT_TRUE(eventually([&] { return podReason("p") == "Unschedulable"; }, 10s)) << podReason("p");
}

/// Who may annotate a running pod gets no more for its namespace by that.
TEST_F(Quotas, AnEditedAnnotationFreesNothing) {
  quota(R"({"default":{"quota":{"V100":2}}})");
  startOne();
  world.create(claim("two", 2));
  world.create(claim("one", 1));
  world.create(pod("p", "two"));
  ASSERT_TRUE(placed("p"));
  const json::Object none{{"gpu.scheduling/allocated", nullptr},
                          {"gpu.scheduling/visible-devices", nullptr},
                          {"gpu.scheduling/reservation", nullptr}};
  const json::Value patch = json::Object{{"metadata", json::Object{{"annotations", none}}}};
  ASSERT_EQ(
      world.request("PATCH", "/api/v1/namespaces/default/pods/p", patch, "application/merge-patch+json").code,
      200);
  world.run(40s);
  world.create(pod("q", "one"));
  ASSERT_TRUE(waits("q", "ExceedsGPUQuota")) << nodeOf("q");
  finish("p");
  EXPECT_TRUE(placed("q"));
}

TEST_F(Quotas, ManyPodsOfSeveralSizesNeverPassTheLimit) {
  quota(R"({"default":{"quota":{"P40":5}}})");
  startOne();
  for (int size = 1; size <= 3; ++size) { world.create(claim("c" + std::to_string(size), size)); }
  for (int i = 0; i < 12; ++i) {
    world.create(pod("p" + std::to_string(i), "c" + std::to_string(1 + i % 3)));
  }
  for (int round = 0; round < 12; ++round) {
    world.run(3s);
    int used = 0;
    for (int i = 0; i < 12; ++i) {
      const auto p = podObject("p" + std::to_string(i));
      const bool holds = !p["spec"]["nodeName"].str().empty() && p["status"]["phase"].str() != "Succeeded";
      used += holds ? 1 + i % 3 : 0;
    }
    ASSERT_LE(used, 5);
    ASSERT_GE(used, 3) << "what fits is given";
    finish("p" + std::to_string(round));
  }
}

class QuotasByDra : public Quotas {
 protected:
  QuotasByDra() : Quotas{byDra()} {}
};

/// Nobody knows how many GPUs these are before a node is chosen.
TEST_F(QuotasByDra, AClaimOfAllDevicesOfANodeIsRefusedWhereOneBinds) {
  quota(R"({"default":{"quota":{"V100":4}}})");
  startOne();
  world.create(gpuClass());
  world.create(resourceClaim("all", allGpuDevices()));
  world.create(resourceClaim("four", gpuDevices(4)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"all"}));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("a").empty(); }));
  EXPECT_EQ(whyWaiting("a"),
            "a ResourceClaim of the pod asks for all devices of a node (allocationMode All), and a quota of "
            "GPUs binds namespace default: write ExactCount and a count");
  world.create(withClaims(pod("b", ""), "resourceClaimName", {"four"}));
  ASSERT_TRUE(placed("b")) << whyWaiting("b");
  EXPECT_EQ(nodeOf("b"), "node-a");
  ASSERT_EQ(world.request("DELETE", kMap, json::Object{}).code, 200);
  ASSERT_TRUE(placed("a")) << whyWaiting("a");
  EXPECT_EQ(nodeOf("a"), "node-b");
}

}  // namespace
}  // namespace gs::test
