// Pods that name their node and GPUs in a map (src/sched/doors/map.cc), from apply to the running pod.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

constexpr const char* kAwaits =
    "0/4 nodes are available: 3 node(s) were not named bare, "
    "1 node(s) had no GpuNodeStatus yet: its agent is waited for.";
constexpr const char* kGuide = "0=node1:0,1\n1=node2:2\n2=node3:0,1,2\n";

/// Three machines with the names that the guide's map has, by their labels.
std::vector<kapi::SimNode> guidesNodes() {
  std::vector<kapi::SimNode> out;
  for (int i = 1; i <= 3; ++i) {
    kapi::SimNode n;
    n.name = model::NodeName{fmt::format("machine-{}", 4 - i)};
    n.labels = {{"gpu-node-name", fmt::format("node{}", i)}};
    n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
    for (int id = 0; id < 4; ++id) {
      model::Device d;
      d.id = id;
      d.uuid = fmt::format("GPU-{}-{}", i, id);
      d.health = model::Health::Healthy;
      d.island = "0";
      n.devices.push_back(d);
    }
    out.push_back(std::move(n));
  }
  return out;
}

sandbox::World::Options options(bool webhook = false, bool controllers = false) {
  sandbox::World::Options o;
  o.nodes = guidesNodes();
  o.webhook = webhook;
  o.controllers = controllers;
  return o;
}

class MapWorld : public Cluster {
 protected:
  explicit MapWorld(sandbox::World::Options o = options()) : Cluster{std::move(o)} { startOne(); }
  void comes(const std::string& name, const std::string& map) { world.create(mappedPod(name, map)); }
  bool has(const std::string& name, const std::string& what) {
    return eventually([&] { return allocated(name) == what; }, 20s);
  }
  bool waitsFor(const std::string& name, const std::string& why) {
    const bool told = eventually([&] { return whyWaiting(name) == why; }, 20s);
    EXPECT_TRUE(told) << whyWaiting(name);
    return told;
  }
  bool isNamed(const std::string& node, const std::string& name) {
    return world
               .request("PATCH", "/api/v1/nodes/" + node,
                        Object{{"metadata", Object{{"labels", Object{{"gpu-node-name", Value{name}}}}}}},
                        "application/merge-patch+json")
               .code == 200;
  }
  bool saysNow(const std::string& pod, const char* map) {
    const Object annotations{{"gpu-scheduling-map", map}};
    return world
               .request("PATCH", "/api/v1/namespaces/default/pods/" + pod,
                        Object{{"metadata", Object{{"annotations", annotations}}}},
                        "application/merge-patch+json")
               .code == 200;
  }
  /// m-0 is told GPU 1 of node1, where somebody else has all, and then means another GPU of node2.
  void waitsAndIsEdited() {
    world.create(claim("four", 4));
    Value first = pod("first", "four");
    first.child("spec").set("nodeSelector", Object{{"gpu-node-name", "node1"}});
    world.create(first);
    ASSERT_TRUE(has("first", "machine-3:0,1,2,3"));
    comes("m-0", "0=node1:1");
    ASSERT_TRUE(eventually([&] { return !whyWaiting("m-0").empty(); }));
    ASSERT_TRUE(saysNow("m-0", "0=node2:3"));
  }
  std::string holder(const std::string& lease) {
    return std::string{world.get(kLeases + lease)["spec"]["holderIdentity"].str()};
  }
};

class MapGuide : public MapWorld {
 protected:
  MapGuide() : MapWorld{options(true, true)} {}
};

TEST_F(MapGuide, ItsStatefulSetLandsAsItIsWritten) {
  Value pod_template = Object{
      {"metadata", Object{{"labels", Object{{"app", "gpu-workload"}}},
                          {"annotations", Object{{"gpu-scheduling-map", kGuide}}}}},
      {"spec",
       Object{{"schedulerName", "gpu-scheduler"},
              {"containers", json::Array{Object{{"name", "worker"}, {"image", "my-gpu-app:latest"}}}}}}};
  world.create(Object{{"apiVersion", "apps/v1"},
                      {"kind", "StatefulSet"},
                      {"metadata", Object{{"name", "gpu-workload"}, {"namespace", "default"}}},
                      {"spec", Object{{"replicas", 3},
                                      {"selector", Object{{"matchLabels", Object{{"app", "gpu-workload"}}}}},
                                      {"template", std::move(pod_template)}}}});
  const auto seen = [&](const std::string& name) {
    const auto* env = world.kubelet().envOf(std::string{podObject(name)["metadata"]["uid"].str()});
    const auto it = env == nullptr ? decltype(env->end()){} : env->find("CUDA_VISIBLE_DEVICES");
    return env == nullptr || it == env->end() ? std::string{"none"} : it->second;
  };
  ASSERT_TRUE(eventually([&] { return podObject("gpu-workload-2")["status"]["phase"].str() == "Running"; }));
  EXPECT_EQ(allocated("gpu-workload-0"), "machine-3:0,1");
  EXPECT_EQ(allocated("gpu-workload-1"), "machine-2:2");
  EXPECT_EQ(allocated("gpu-workload-2"), "machine-1:0,1,2");
  EXPECT_EQ(seen("gpu-workload-0"), "0,1");
  EXPECT_EQ(seen("gpu-workload-1"), "2");
  EXPECT_EQ(seen("gpu-workload-2"), "0,1,2");
  EXPECT_EQ(leases(), 6U);
  expectSettled();
}

TEST_F(MapGuide, AMapThatSaysSomethingElseThanTheContainersWereToldIsRefused) {
  waitsAndIsEdited();
  EXPECT_TRUE(
      waitsFor("m-0",
               "annotation gpu-scheduling-map, line \"0=node2:3\": when the pod was created container "
               "main was told CUDA_VISIBLE_DEVICES=\"1\"; delete the pod and create it again"));
  ASSERT_TRUE(saysNow("m-0", "0=node2:1"));
  EXPECT_TRUE(has("m-0", "machine-2:1")) << "the same ids, on another node";
  ASSERT_TRUE(saysNow("m-0", "0=node2:3"));
  deletePod("m-0", true);
  comes("m-0", "0=node2:3");
  EXPECT_TRUE(has("m-0", "machine-2:3"));
}

TEST_F(MapWorld, TwoPodsShareAGpuAndAnExclusiveOneWaits) {
  comes("a-0", "0=node1:0");
  comes("b-0", "0=node1:0,1");
  ASSERT_TRUE(has("a-0", "machine-3:0"));
  ASSERT_TRUE(has("b-0", "machine-3:0,1"));
  EXPECT_EQ(holder("gpu-machine-3-0"), "shared");
  EXPECT_EQ(holder("gpu-machine-3-1"), "shared");
  world.create(claim("all", 4));
  for (const char* name : {"p", "q", "r"}) { world.create(pod(name, "all")); }
  ASSERT_TRUE(eventually([&] { return whyWaiting("r") + whyWaiting("q") + whyWaiting("p") != ""; }));
  finish("a-0");
  world.run(70s);
  EXPECT_EQ(holder("gpu-machine-3-0"), "shared") << "one has it still";
  finish("b-0");
  ASSERT_TRUE(eventually([&] { return whyWaiting("p") + whyWaiting("q") + whyWaiting("r") == ""; }, 120s));
  expectSettled();
}

TEST_F(MapWorld, AnExclusiveHolderFencesUntilItEnds) {
  world.create(claim("two", 2, {{"policy", "preferIds"}, {"preferIds", json::Array{0, 1}}}));
  Value first = pod("first", "two");
  first.child("spec").set("nodeSelector", Object{{"gpu-node-name", "node1"}});
  world.create(first);
  ASSERT_TRUE(has("first", "machine-3:0,1"));
  comes("m-0", "0=node1:1,2");
  ASSERT_TRUE(waitsFor("m-0",
                       "0/3 nodes are available: 2 node(s) were not named node1, 1 node(s) had GPU 1 held "
                       "Exclusive by another pod. Held by default/first."));
  comes("other-0", "0=node1:2,3");
  ASSERT_TRUE(has("other-0", "machine-3:2,3")) << "of free ones they are given";
  finish("first");
  EXPECT_TRUE(eventually([&] { return allocated("m-0") == "machine-3:1,2"; }, 120s));
  expectSettled();
}

TEST_F(MapWorld, SaysWhyItWaits) {
  comes("m-7", kGuide);
  EXPECT_TRUE(
      waitsFor("m-7", "annotation gpu-scheduling-map has no line for index 7; add 7=<node>:<GPU ids>"));
  comes("x-0", "0=node9:0");
  EXPECT_TRUE(waitsFor("x-0",
                       "0/3 nodes are available: no node carries the name node9: set the label "
                       "gpu-node-name=node9 on the one that is meant."));
  comes("y-0", "0=node1:4");
  EXPECT_TRUE(
      waitsFor("y-0", "0/3 nodes are available: 2 node(s) were not named node1, 1 node(s) had no GPU 4."));
  comes("z-0", "0=node1:one");
  EXPECT_TRUE(
      waitsFor("z-0",
               "annotation gpu-scheduling-map, line \"0=node1:one\": 'one' is no GPU id; write ids from "
               "0 to 1023 with a comma between them"));
  Value both = mappedPod("both-0", "0=node1:0");
  both.child("metadata").child("annotations").set("gpu.scheduling/claim", "c");
  world.create(both);
  EXPECT_TRUE(waitsFor("both-0",
                       "the pod asks for GPUs in 2 ways: annotation gpu.scheduling/claim and annotation "
                       "gpu-scheduling-map; keep one"));
  EXPECT_EQ(leases(), 0U);
  ASSERT_TRUE(isNamed("machine-1", "node9"));
  EXPECT_TRUE(has("x-0", "machine-1:0")) << "it has the name now";
}

TEST_F(MapWorld, AnEntryWithoutGpusNamesTheNode) {
  comes("m-0", "0=node2:");
  ASSERT_TRUE(eventually([&] { return nodeOf("m-0") == "machine-2"; }));
  EXPECT_EQ(allocated("m-0"), "");
  EXPECT_EQ(leases(), 0U);
}

TEST_F(MapWorld, ANodeWithoutTheLabelIsMeantByItsOwnName) {
  world.create(bareNode("bare"));
  comes("m-0", "0=bare:5");
  comes("n-0", "0=bare:5,900");
  ASSERT_TRUE(waitsFor("m-0", kAwaits)) << "an agent may be about to start";
  world.run(60s);
  ASSERT_TRUE(has("m-0", "bare:5")) << "nobody says which GPUs it has: they are taken as given";
  ASSERT_TRUE(has("n-0", "bare:5,900"));
  EXPECT_EQ(holder("gpu-bare-5"), "shared");
  deletePod("n-0", true);
  EXPECT_TRUE(eventually([&] { return leases() == 1; }, 120s));
  world.restart(*world.leader());
  world.run(40s);
  EXPECT_EQ(leases(), 1U);
  EXPECT_EQ(holder("gpu-bare-5"), "shared");
}

TEST_F(MapWorld, ASchedulerThatStartsDoesNotTakeAnOldNodeForANewOne) {
  world.create(bareNode("bare"));
  world.run(61s);
  world.restart(*world.leader());
  comes("m-0", "0=bare:5");
  EXPECT_TRUE(has("m-0", "bare:5"));
}

TEST_F(MapWorld, ASchedulerThatStartsAwaitsTheAgentOfANewNode) {
  world.create(bareNode("bare"));
  world.restart(*world.leader());
  comes("m-0", "0=bare:5");
  ASSERT_TRUE(waitsFor("m-0", kAwaits));
  world.run(60s);
  EXPECT_TRUE(has("m-0", "bare:5"));
}

TEST_F(MapWorld, ANodeThatJoinsIsNotUsedBeforeItsAgentHasSpoken) {
  const std::string statuses = "/apis/gpu.scheduling/v1/gpunodestatuses/";
  comes("m-0", "0=bare:0");
  comes("n-0", "0=bare:5");
  world.create(bareNode("bare"));
  ASSERT_TRUE(waitsFor("m-0", kAwaits));
  world.create(Object{{"apiVersion", "gpu.scheduling/v1"},
                      {"kind", "GpuNodeStatus"},
                      {"metadata", Object{{"name", "bare"}}},
                      {"spec", Object{{"nodeName", "bare"}}}});
  const Object device{{"id", 0}, {"uuid", "GPU-bare-0"}, {"health", "Unhealthy"}};
  ASSERT_EQ(world
                .request("PATCH", statuses + "bare/status",
                         Object{{"status", Object{{"devices", json::Array{device}}}}},
                         "application/merge-patch+json")
                .code,
            200);
  const std::string others = "0/4 nodes are available: 3 node(s) were not named bare, 1 node(s) had ";
  EXPECT_TRUE(waitsFor("m-0", others + "unhealthy GPU 0."));
  EXPECT_TRUE(waitsFor("n-0", others + "no GPU 5."));
  ASSERT_EQ(world.request("DELETE", statuses + "bare").code, 200);
  world.run(150s);
  EXPECT_TRUE(waitsFor("m-0", kAwaits)) << "nothing new is given there while it is away";
  EXPECT_EQ(leases(), 0U);
}

TEST_F(MapWorld, ALargeNodeThatNobodySpeaksOfKeepsAllItsLeases) {
  Value node = bareNode("bare");
  for (const char* what : {"capacity", "allocatable"}) {
    node.child("status").child(what).set("nvidia.com/gpu", "32");
  }
  world.create(node);
  std::string ids = "0";
  for (int id = 1; id < 32; ++id) { ids += fmt::format(",{}", id); }
  comes("m-0", "0=bare:" + ids);
  world.run(60s);
  ASSERT_TRUE(has("m-0", "bare:" + ids));
  EXPECT_EQ(leases(), 32U);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-bare-30").code, 200);
  EXPECT_TRUE(eventually([&] { return leases() == 32; }, 60s))
      << "one that is deleted by hand is written again";
  world.restart(*world.leader());
  world.run(60s);
  EXPECT_EQ(leases(), 32U);
}

TEST_F(MapWorld, APlainPodGetsNoGpuThatAMapNames) {
  Value node = bareNode("bare");
  node.child("status").child("allocatable").set("nvidia.com/gpu", "4");
  node.child("status").child("capacity").set("nvidia.com/gpu", "4");
  world.create(node);
  comes("m-0", "0=bare:0,1,2");
  world.run(60s);
  ASSERT_TRUE(has("m-0", "bare:0,1,2"));
  Value plain = pod("plain", "", 2);
  Value small = pod("small", "", 1);
  for (Value* p : {&plain, &small}) {
    p->child("spec").set("nodeSelector", Object{{"pool", "bare"}});
    world.create(*p);
  }
  ASSERT_EQ(world
                .request("PATCH", "/api/v1/nodes/bare",
                         Object{{"metadata", Object{{"labels", Object{{"pool", "bare"}}}}}},
                         "application/merge-patch+json")
                .code,
            200);
  EXPECT_TRUE(eventually([&] { return nodeOf("small") == "bare"; }, 20s));
  EXPECT_TRUE(waitsFor("plain",
                       "0/4 nodes are available: 3 node(s) didn't match Pod's node affinity/selector, 1 "
                       "node(s) had too few free GPUs: need 2 and most free is 0."));
}

TEST_F(MapWorld, WhatADeletedPodHadIsGivenBack) {
  comes("m-0", "0=node1:0,1");
  ASSERT_TRUE(has("m-0", "machine-3:0,1"));
  deletePod("m-0", true);
  EXPECT_TRUE(eventually([&] { return leases() == 0; }, 180s));
  expectSettled();
}

TEST_F(MapWorld, ALeaseThatIsDeletedByHandIsWrittenAgainAsAShare) {
  comes("m-0", "0=node1:0");
  ASSERT_TRUE(has("m-0", "machine-3:0"));
  world.crash(0);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-machine-3-0").code, 200);
  world.restart(0);
  EXPECT_TRUE(eventually([&] { return holder("gpu-machine-3-0") == "shared"; }))
      << "who leads now has never seen its lease";
  comes("n-0", "0=node1:0");
  EXPECT_TRUE(has("n-0", "machine-3:0"));
}

TEST_F(MapWorld, TheNextLeaderAdoptsWhatTheFirstHadDecided) {
  world.startReplica();
  const auto first = *world.leader();
  world.setJudge([&](sandbox::ReplicaId id, const kapi::Call& call) {
    const bool binds = id == first && call.subresource == "binding";
    return binds ? sandbox::CallFault{sandbox::CallFault::How::Normal, 0, {}, true, false}
                 : sandbox::CallFault{};
  });
  comes("m-0", "0=node1:0,3");
  ASSERT_TRUE(has("m-0", "machine-3:0,3"));
  EXPECT_NE(world.leader(), first) << "it died before its Binding";
  const auto& log = world.log();
  EXPECT_TRUE(std::any_of(log.begin(), log.end(), [](const std::string& line) {
    return line.find("adopted leases of an earlier leader") != std::string::npos;
  }));
  expectSettled();
}

TEST_F(MapWorld, AMapThatChangesIsReadAnew) {
  waitsAndIsEdited();
  EXPECT_TRUE(has("m-0", "machine-2:3")) << "nobody told its containers anything";
}

}  // namespace
}  // namespace gs::test
