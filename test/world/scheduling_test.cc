// One scheduler in a World: claims, plain and ordinary pods, and what they are told when they wait.
#include <set>

#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "test/world/rebuilt.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

class Scheduling : public Cluster {
 protected:
  Scheduling() { startOne(); }
};

/// Of all eight GPUs of node-b.
void deleteLeasesByHand(sandbox::World& world) {
  for (int id = 0; id < 8; ++id) {
    const std::string lease = kLeases + "gpu-node-b-" + std::to_string(id);
    ASSERT_EQ(world.request("DELETE", lease).code, 200);
  }
}

TEST_F(Scheduling, AClaimPodGetsExactDevicesALeaseAStatusAndAnEvent) {
  world.create(claim("one", 1));
  world.create(pod("p", "one", 1));
  ASSERT_TRUE(eventually([&] { return claimStatus("one")["phase"].str() == "Bound"; }));
  EXPECT_EQ(allocated("p"), "node-a:0");
  EXPECT_EQ(podObject("p")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(), "0");
  const auto status = claimStatus("one");
  EXPECT_EQ(status["nodeName"].str(), "node-a");
  EXPECT_EQ(status["allocated"].str(), "node-a:0");
  EXPECT_EQ(status["allocationsTotal"].intOr(0), 1);
  const auto lease = world.get(kLeases + "gpu-node-a-0");
  EXPECT_EQ(lease["spec"]["holderIdentity"].str(), podObject("p")["metadata"]["uid"].str());
  EXPECT_EQ(lease["metadata"]["labels"]["gpu.scheduling/pod"].str(), "p");
  EXPECT_EQ(lease["metadata"]["annotations"]["gpu.scheduling/devices"].str(), "node-a:0");
  const auto events = world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"];
  ASSERT_EQ(events.items().size(), 1U);
  EXPECT_EQ(events.at(0)["reason"].str(), "Scheduled");
  expectSettled();
}

TEST_F(Scheduling, AnEndedPodGivesEverythingBack) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  EXPECT_EQ(leases(), 2U);
  finish("p");
  EXPECT_TRUE(eventually([&] { return leases() == 0; }));
  EXPECT_TRUE(eventually([&] { return claimStatus("two")["phase"].str() == "Pending"; }));
  EXPECT_TRUE(claimStatus("two")["allocated"].isNull());
}

TEST_F(Scheduling, TwelvePodsForTwelveGpusAndTheRestWaitTakingOverAsOthersEnd) {
  world.create(claim("one", 1));
  for (int i = 0; i < 16; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }));
  world.run(5s);
  EXPECT_EQ(readTruth(world).waiting.size(), 4U);
  for (int i = 0; i < 16; ++i) {
    const std::string name = "p" + std::to_string(i);
    if (nodeOf(name).empty()) {
      EXPECT_EQ(whyWaiting(name),
                "0/2 nodes are available: 2 node(s) had too few free GPUs: need 1 and most free is 0.");
    }
  }
  for (int i = 0; i < 16; ++i) {
    if (!nodeOf("p" + std::to_string(i)).empty() && i < 8) { finish("p" + std::to_string(i)); }
  }
  EXPECT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  expectSettled();
}

TEST_F(Scheduling, AFewWhoHoldTheGpusAreNamed) {
  world.create(claim("all", 8));
  world.create(pod("first", "all"));
  ASSERT_TRUE(eventually([&] { return nodeOf("first") == "node-b"; }));
  world.create(pod("second", "all"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("second").empty(); }));
  EXPECT_EQ(
      whyWaiting("second"),
      "0/2 nodes are available: 1 node(s) had too few GPUs: need 8 and the largest has 4, 1 node(s) had "
      "too few free GPUs: need 8 and most free is 0. Held by default/first.");
}

TEST_F(Scheduling, MoreThanAnyNodeHasSaysSo) {
  world.create(claim("big", 16));
  world.create(pod("p", "big"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("p").empty(); }));
  EXPECT_EQ(whyWaiting("p"),
            "0/2 nodes are available: 2 node(s) had too few GPUs: need 16 and the largest has 8.");
  EXPECT_TRUE(eventually([&] { return claimStatus("big")["phase"].str() == "Pending"; }));
  EXPECT_TRUE(eventually([&] { return !claimStatus("big")["message"].str().empty(); }));
}

TEST_F(Scheduling, ARunningPodThatWantsToBeAloneIsRespected) {
  for (const char* node : {"node-a", "node-b"}) {
    json::Value alone = pod(std::string{"alone-"} + node, "");
    auto& spec = alone.child("spec");
    spec.set("nodeName", node);
    spec.set("schedulerName", "default-scheduler");
    spec.set("affinity", json::parse(R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
      {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"noise":"loud"}}}]}})")
                             .value());
    world.create(alone);
  }
  world.create(claim("one", 1));
  world.create(pod("quiet", "one"));
  json::Value loud = pod("loud", "one");
  loud.child("metadata").set("labels", json::Object{{"noise", "loud"}});
  world.create(loud);
  EXPECT_TRUE(eventually([&] { return !nodeOf("quiet").empty(); }));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("loud").empty(); }));
  EXPECT_EQ(whyWaiting("loud"),
            "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.");
  finish("alone-node-b");
  EXPECT_TRUE(eventually([&] { return nodeOf("loud") == "node-b"; }));
}

TEST_F(Scheduling, AClaimThatComesLaterIsPickedUp) {
  world.create(pod("p", "later"));
  ASSERT_TRUE(eventually([&] { return whyWaiting("p").find("\"later\" not found") != std::string::npos; }));
  world.create(claim("later", 1));
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
}

TEST_F(Scheduling, AClaimThatShrinksLetsItsPodIn) {
  world.create(claim("c", 9));
  world.create(pod("p", "c"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("p").empty(); }));
  const auto answer =
      world.request("PATCH", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims/c",
                    json::Object{{"spec", json::Object{{"devices", json::Object{{"count", 3}}}}}},
                    "application/merge-patch+json");
  ASSERT_EQ(answer.code, 200);
  EXPECT_TRUE(eventually([&] { return allocated("p") == "node-b:0,1,2"; }));
}

TEST_F(Scheduling, ADeletedClaimLeavesItsRunningPodItsDevices) {
  world.create(claim("c", 2));
  world.create(pod("p", "c"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  ASSERT_EQ(world.request("DELETE", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims/c").code, 200);
  world.run(70s);
  EXPECT_EQ(leases(), 2U);
  expectSettled();
}

TEST_F(Scheduling, ALeaseDeletedByHandIsWrittenAgainAndSaidSo) {
  world.create(claim("c", 1));
  world.create(pod("p", "c"));
  ASSERT_TRUE(eventually([&] { return leases() == 1; }));
  world.run(2s);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-node-a-0").code, 200);
  world.create(pod("q", "c"));
  ASSERT_TRUE(eventually([&] { return allocated("q") == "node-a:1"; }));
  EXPECT_TRUE(eventually([&] { return leases() == 2; }));
  EXPECT_TRUE(eventually([&] { return warned("GpuLeaseRewritten"); }));
  expectSettled();
}

TEST_F(Scheduling, APlainPodGetsExactDevicesAndALease) {
  world.create(pod("p", "", 2));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(allocated("p"), "node-b:0,1") << "the better island";
  EXPECT_EQ(leases(), 2U);
  expectSettled();
}

TEST_F(Scheduling, AnOrdinaryPodIsBoundWithoutAnnotations) {
  world.create(pod("p", ""));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(allocated("p"), "");
  EXPECT_EQ(leases(), 0U);
}

TEST_F(Scheduling, SharersShareOneLease) {
  world.create(claim("s", 1, {{"exclusivity", "Shared"}}));
  world.create(pod("a", "s"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); }));
  world.run(5s);
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}) {
    world.create(pod(name, "s"));
  }
  ASSERT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  const auto truth = readTruth(world);
  std::size_t most = 0;
  for (const auto& [device, uids] : truth.devices) { most = std::max(most, uids.size()); }
  EXPECT_EQ(most, 4U) << "13 sharers, the fuller node first: 4 devices, fewest holders first";
  EXPECT_EQ(leases(), 4U);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}) { finish(name); }
  EXPECT_TRUE(eventually([&] { return leases() == 0; }));
}

TEST_F(Scheduling, SharersKeepTheirDeviceWhenNothingSaysAnyMoreThatTheyShare) {
  world.create(claim("s", 1, {{"exclusivity", "Shared"}}));
  world.create(pod("a", "s"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); }));
  world.run(5s);
  for (const char* name : {"b", "c", "d", "e"}) { world.create(pod(name, "s")); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  const Truth before = readTruth(world);
  ASSERT_TRUE(std::any_of(before.devices.begin(), before.devices.end(),
                          [](const auto& device) { return device.second.size() == 2; }));
  world.crash(0);
  for (const auto& [name, holder] : before.leases) {
    const auto at = kLeases + name.substr(name.find('/') + 1);
    ASSERT_EQ(world.request("DELETE", at).code, 200);
  }
  ASSERT_EQ(world.request("DELETE", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims/s").code, 200);
  world.restart(0);
  expectSettled();
  EXPECT_EQ(readTruth(world).devices, before.devices);
  EXPECT_EQ(leases(), before.leases.size());
}

TEST_F(Scheduling, AnAnnotationChangedByHandMakesNobodyShare) {
  world.create(claim("one", 1));
  for (const char* name : {"p", "q"}) {
    world.create(pod(name, "one"));
    ASSERT_TRUE(eventually([&] { return !nodeOf(name).empty(); }));
  }
  ASSERT_EQ(allocated("p"), "node-a:0");
  ASSERT_EQ(allocated("q"), "node-a:1");
  const std::string lease = kLeases + "gpu-node-a-0";
  const std::string uid = podObject("p")["metadata"]["uid"].str();
  world.crash(0);
  ASSERT_EQ(world.request("DELETE", lease).code, 200);
  ASSERT_EQ(world.request("DELETE", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims/one").code, 200);
  ASSERT_EQ(changeAllocated("q", "node-a:0"), 200);
  world.restart(0);
  world.run(40s);
  EXPECT_EQ(world.get(lease)["spec"]["holderIdentity"].str(), uid) << "it has it alone";
}

TEST_F(Scheduling, AnUnhealthyDeviceIsNotGiven) {
  world.machines().failGpu("node-a", 0, 79);
  world.run(6s);  // its agent looks every five
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(allocated("p"), "node-a:1");
}

TEST_F(Scheduling, AForceDeletedPodsDeviceDrainsUntilTheAgentSawItGone) {
  world.kubelet().setConfig({500ms, 100ms, 20s, 40s});  // containers linger
  world.create(claim("eight", 8));
  world.create(pod("p", "eight"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  world.run(70s);  // the agent has looked
  deletePod("p", true);
  world.create(pod("next", "eight"));
  world.run(15s);
  EXPECT_EQ(nodeOf("next"), "") << "its containers still run";
  EXPECT_TRUE(eventually([&] { return nodeOf("next") == "node-b"; }, 120s));
  expectSettled();
}

/// Its leases were deleted by hand, too, and the new leader cannot list leases but for the census that it
/// must have.
TEST_F(Scheduling, WhatTheAgentSeesInUseIsNotGivenByALeaderThatKnowsItFromTheInitialSyncOnly) {
  world.kubelet().setConfig({500ms, 100ms, 20s, 40s});  // containers linger
  world.create(claim("eight", 8));
  world.create(pod("p", "eight"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  world.run(70s);  // the agent has looked
  world.crash(0);
  deletePod("p", true);
  deleteLeasesByHand(world);
  world.setJudge([](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    const bool watched = call.kind == kapi::kLease && call.verb == kapi::Verb::List && !call.key.ns.empty();
    return watched ? sandbox::CallFault{sandbox::CallFault::How::Refused, 500, {}, false, false}
                   : sandbox::CallFault{};
  });
  world.create(pod("next", "eight"));
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return world.leader().has_value(); }));
  world.run(10s);
  EXPECT_EQ(nodeOf("next"), "") << "its containers still run";
  world.setJudge({});
  EXPECT_TRUE(eventually([&] { return nodeOf("next") == "node-b"; }, 120s));
  expectSettled();
}

// Nobody saw it bound, its leases were deleted by hand, and what the agent sees has not come.
TEST_F(Scheduling, WhatWasBoundAndWentUnseenIsNotGivenWhileItsContainersMayRun) {
  world.kubelet().setConfig({500ms, 100ms, 20s, 40s});  // containers linger
  world.create(claim("eight", 8));
  world.run(70s);  // the agent has looked
  world.setJudge([this](sandbox::ReplicaId, const kapi::Call& call) {
    if (call.subresource == "binding") {
      world.setStreamJudge([](sandbox::ReplicaId, kapi::Token) { return Duration{1h}; });
    }
    return sandbox::CallFault{};
  });
  world.create(pod("p", "eight"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  deletePod("p", true);
  deleteLeasesByHand(world);
  std::set<kapi::Kind> unlisted{kapi::kGpuNodeStatus, kapi::kPod};
  world.setJudge([&unlisted](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    const bool refused = call.verb == kapi::Verb::List && unlisted.contains(call.kind);
    return refused ? sandbox::CallFault{sandbox::CallFault::How::Refused, 500, {}, false, false}
                   : sandbox::CallFault{};
  });
  world.create(pod("next", "eight"));
  world.setStreamJudge({});
  world.endStreams(0, 410);
  world.run(5s);  // that the leases are gone is known first
  unlisted.erase(kapi::kPod);
  world.run(10s);
  EXPECT_EQ(nodeOf("next"), "") << "the containers of p still run";
  world.setJudge({});
  EXPECT_TRUE(eventually([&] { return nodeOf("next") == "node-b"; }, 120s));
  expectSettled();
}

TEST_F(Scheduling, ALedgerRebuiltFromTheApiEqualsTheLiveOne) {
  world.create(claim("one", 1));
  world.create(claim("shared", 1, {{"exclusivity", "Shared"}}));
  for (int i = 0; i < 6; ++i) { world.create(pod("p" + std::to_string(i), i % 2 == 0 ? "one" : "shared")); }
  world.create(pod("plain", "", 2));
  world.create(pod("ordinary", ""));
  ASSERT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  finish("p0");
  world.run(70s);
  EXPECT_EQ(world.scheduler(0).engine().ledger().dump(false), rebuiltLedger(world));
}

TEST_F(Scheduling, ARestartedSchedulerGoesOnWhereItWas) {
  world.create(claim("two", 2));
  for (int i = 0; i < 4; ++i) { world.create(pod("p" + std::to_string(i), "two")); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  world.crash(0);
  finish("p1");
  world.run(10s);
  world.restart(0);
  world.create(pod("q", "two"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("q").empty(); }));
  expectSettled();
}

TEST_F(Scheduling, HistoryThatIsForgottenLosesNothing) {
  world.create(claim("one", 1));
  world.setApiAway(true);
  world.run(3s);
  world.create(pod("p", "one"));
  world.compact();
  world.setApiAway(false);
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 120s));
  expectSettled();
}

TEST_F(Scheduling, AGpuThatAnotherPodsLeaseHoldsIsSaid) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Running"; }));
  json::Value liar = pod("liar", "one");
  liar.child("spec").set("nodeName", "node-a");
  liar.child("metadata").child("annotations").set("gpu.scheduling/allocated", "node-a:0");
  world.create(liar);
  EXPECT_TRUE(eventually([&] { return warned("GpuHeldByOther"); }));
  const auto lease = world.get(kLeases + "gpu-node-a-0");
  EXPECT_EQ(lease["spec"]["holderIdentity"].str(), podObject("p")["metadata"]["uid"].str())
      << "the lease wins";
}

TEST_F(Scheduling, APodOfAnotherSchedulerThatSaysThatItHasGpusIsSaid) {
  for (const char* name : {"says", "says-nothing"}) {
    json::Value theirs = pod(name, "");
    theirs.child("spec").set("schedulerName", "default-scheduler");
    theirs.child("spec").set("nodeName", "node-a");
    if (name == std::string{"says"}) {
      theirs.child("metadata").set("annotations", json::Object{{"gpu.scheduling/allocated", "node-a:0"}});
    }
    world.create(theirs);
  }
  ASSERT_TRUE(eventually([&] { return warned("GpuHeldByForeignPod"); }));
  world.run(1s);
  for (const auto& e : world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items()) {
    if (e["reason"].str() == "GpuHeldByForeignPod") { EXPECT_EQ(e["regarding"]["name"].str(), "says"); }
  }
}

class Options : public Cluster {};

TEST_F(Options, VisibleDevicesMayBeUuids) {
  scheduler::Config config;
  config.visible_uuids = true;
  world.startReplica(config);
  world.create(pod("p", "", 2));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  const auto devices = world.get("/apis/gpu.scheduling/v1/gpunodestatuses/node-b")["status"]["devices"];
  EXPECT_EQ(allocated("p"), "node-b:0,1");
  EXPECT_EQ(podObject("p")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(),
            std::string{devices.at(0)["uuid"].str()} + "," + std::string{devices.at(1)["uuid"].str()});
}

TEST_F(Options, NoMoreShareAGpuThanMaySo) {
  scheduler::Config config;
  config.max_sharers = 2;
  world.startReplica(config);
  json::Value all = claim("all", 4, json::Object{{"exclusivity", "Shared"}});
  all.child("spec").set("selector",
                        json::Object{{"matchLabels", json::Object{{"kubernetes.io/hostname", "node-a"}}}});
  world.create(all);
  for (const char* name : {"p", "q", "r"}) { world.create(pod(name, "all")); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).bound.size() == 2; }));
  world.run(10s);
  EXPECT_EQ(readTruth(world).bound.size(), 2U);
  EXPECT_EQ(leases(), 4U);
}

class SlowServer : public Cluster {
 protected:
  SlowServer() : Cluster{{.latency = 100ms}} { startOne(); }
};

TEST_F(SlowServer, AStoppedSchedulerBringsWhatItDecidedToItsEnd) {
  world.create(claim("one", 1));
  for (int i = 0; i < 6; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
  ASSERT_TRUE(world.runUntil([&] { return leases() > 0; }, 60s));
  ASSERT_TRUE(readTruth(world).bound.empty());
  world.stop(0);
  world.create(pod("after", "one"));
  world.run(4s);
  const auto truth = readTruth(world);
  EXPECT_FALSE(truth.bound.empty());
  EXPECT_EQ(leases(), truth.bound.size()) << "no lease of a pod that is not bound";
  EXPECT_EQ(nodeOf("after"), "");
  std::size_t scheduled = 0;
  for (const auto& event : world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items()) {
    scheduled += event["reason"].str() == "Scheduled" ? 1U : 0U;
  }
  EXPECT_EQ(scheduled, truth.bound.size());
  EXPECT_FALSE(world.leader().has_value());
}

TEST(Determinism, TheSameSeedWritesTheSameCalls) {
  const auto play = [](std::uint64_t seed) {
    sandbox::World world{{.seed = seed}};
    world.startReplica();
    world.startReplica();
    world.create(claim("two", 2));
    for (int i = 0; i < 5; ++i) { world.create(pod("p" + std::to_string(i), "two")); }
    world.run(60s);
    return std::pair{world.writes(), world.log()};
  };
  EXPECT_EQ(play(7), play(7));
  EXPECT_FALSE(play(7).first.empty());
}

/// It is another scheduler's, and its agent has not seen it: which GPU it has nobody knows,
/// but that it has one.
TEST_F(Scheduling, AForeignPodsDeviceDrainsAsACountWhenThePodIsForceDeleted) {
  sandbox::Kubelet::Config kubelet;
  kubelet.linger = 20s;
  world.kubelet().setConfig(kubelet);
  world.machines().setAgentDown("node-a", true);
  world.run(1s);
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "node-a");
  world.create(theirs);
  ASSERT_TRUE(eventually([&] { return podObject("theirs")["status"]["phase"].str() == "Running"; }));
  deletePod("theirs", true);
  world.create(claim("all", 4));
  json::Value greedy = pod("greedy", "all");
  greedy.child("spec").set("nodeSelector", json::Object{{"kubernetes.io/hostname", "node-a"}});
  world.create(greedy);
  world.run(10s);
  EXPECT_EQ(nodeOf("greedy"), "") << "a container of it runs on";
  world.machines().setAgentDown("node-a", false);
  world.touch();
  EXPECT_TRUE(eventually([&] { return !nodeOf("greedy").empty(); }, 120s)) << whyWaiting("greedy");
}

}  // namespace
}  // namespace gs::test
