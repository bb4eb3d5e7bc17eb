// Nodes whose GPUs a DRA driver prepares: what the pod is given, its ResourceClaim is allocated and its
// containers see are one thing, whatever fails on the way
// (docs/inside/decisions/0011-gpus-by-dra.md).
#include "test/world/dra_cluster.h"

#include <map>

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;

TEST_F(Dra, APlainPodHasExactlyWhatWasChosen) {
  startOne();
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  EXPECT_EQ(told("a").size(), 2U);
  const Value claim = claimOf("a");
  EXPECT_EQ(claim["metadata"]["ownerReferences"].at(0)["name"].str(), "a");
  EXPECT_EQ(claim["status"]["reservedFor"].at(0)["name"].str(), "a");
  EXPECT_EQ(leases(), 2U);
  finish("a");
  ASSERT_TRUE(eventually([&] { return claims() == 0; })) << "the claim goes with its pod";
  expectSettled();
}

// Answers come before what the watch brings.
TEST_F(Dra, NobodyWaitsLongerThanTheWatch) {
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token) -> Duration { return 20ms; });
  startOne();
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); }, 500ms));
}

TEST_F(Dra, AMappingThatGotNoAnswerIsNotWrittenOver) {
  startOne();
  int lost = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_mapping = !call.body["status"]["extendedResourceClaimStatus"].isNull();
    return is_mapping && lost++ == 0 ? CallFault{.how = CallFault::How::LostAfter} : CallFault{};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 15s));
  EXPECT_EQ(lost, 1);
  const auto& log = world.log();
  EXPECT_TRUE(std::none_of(log.begin(), log.end(), [](const auto& line) {
    return line.find("placement dropped") != std::string::npos;
  }));
  expectOneThing("a");
}

// A pod that is mapped can run nowhere else.
TEST_F(Dra, AQuotaOfDevicesLeavesThePodUnmapped) {
  startOne();
  world.setJudge([](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_post = call.verb == kapi::Verb::Create && call.kind == kapi::kResourceClaim;
    return is_post ? CallFault{.how = CallFault::How::Refused, .http = 403, .is_status = true} : CallFault{};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_TRUE(podObject("a")["status"]["extendedResourceClaimStatus"].isNull());
}

TEST_F(Dra, AClaimPodWithALimitToo) {
  startOne();
  world.create(claim("two", 2));
  world.create(pod("a", "two", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
}

TEST_F(Dra, AClaimPodWithoutALimitIsToldToWriteOne) {
  startOne();
  world.create(claim("two", 2));
  world.create(pod("a", "two"));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("write a limit nvidia.com/gpu: 2 into the pod too"), std::string::npos)
      << whyWaiting("a");
}

TEST_F(Dra, SeveralContainersHaveTheirOwn) {
  startOne();
  Value two = pod("a", "", 1);
  Value second = two["spec"]["containers"].at(0);
  second.set("name", "second");
  two.child("spec").child("containers").array().push_back(second);
  Value init = two["spec"]["containers"].at(0);
  init.set("name", "first");
  two.child("spec").set("initContainers", Array{init});
  world.create(two);
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  EXPECT_EQ(told("a").size(), 2U);
  std::map<std::string, std::string> by_request;
  for (const auto& r : claimOf("a")["status"]["allocation"]["devices"]["results"].items()) {
    by_request[std::string{r["request"].str()}] = std::string{r["device"].str()};
  }
  ASSERT_EQ(by_request.size(), 2U);
  EXPECT_NE(by_request["limit-0"], by_request["limit-1"]);
  std::map<std::string, std::string> by_container;
  for (const auto& m : podObject("a")["status"]["extendedResourceClaimStatus"]["requestMappings"].items()) {
    by_container[std::string{m["containerName"].str()}] = std::string{m["requestName"].str()};
  }
  ASSERT_EQ(by_container.size(), 3U);
  EXPECT_EQ(by_container["first"], "limit-0") << "the init container has what a container gets";
  EXPECT_EQ(by_container["second"], "limit-1");
}

// A claim may name 32 devices: one that is made for these names each of the six once.
TEST_F(Dra, ManyInitContainersHaveWhatTheContainerGets) {
  startOne();
  Value object = pod("a", "", 6);
  Array inits;
  for (int i = 0; i < 5; ++i) {
    Value init = object["spec"]["containers"].at(0);
    init.set("name", fmt::format("init-{}", i));
    inits.push_back(std::move(init));
  }
  object.child("spec").set("initContainers", std::move(inits));
  world.create(object);
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  EXPECT_EQ(told("a").size(), 6U);
}

TEST_F(Dra, ManyPodsFillTheCluster) {
  startOne();
  for (int i = 0; i < 14; ++i) { world.create(pod(fmt::format("p{}", i), "", 1)); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }));
  world.run(5s);
  std::set<std::string> used;
  for (int i = 0; i < 14; ++i) {
    const std::string name = fmt::format("p{}", i);
    if (nodeOf(name).empty()) { continue; }
    expectOneThing(name);
    for (const auto& uuid : seen(name)) { EXPECT_TRUE(used.insert(uuid).second) << uuid; }
  }
  EXPECT_EQ(used.size(), 12U);
  EXPECT_EQ(world.driver().inUse(), 0U);
  EXPECT_EQ(readTruth(world).problems, std::vector<std::string>{});
}

// Its containers run on for a while, and nobody names them.
TEST_F(Dra, AfterAForceDeleteTheDeviceWaits) {
  world.kubelet().setConfig({.linger = 20s});
  startOne();
  for (int i = 0; i < 12; ++i) { world.create(pod(fmt::format("p{}", i), "", 1)); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }));
  world.run(5s);
  deletePod("p3", true);
  world.create(pod("next", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("next"); }, 120s)) << whyWaiting("next");
  expectOneThing("next");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

// ---- others beside us

/// As another scheduler does it: a claim of its own that is allocated these devices.
class BesideOthers : public Dra {
 protected:
  explicit BesideOthers(sandbox::World::Options options = byDra()) : Dra{std::move(options)} {}

  void foreign(const std::string& name, const std::string& node, const std::vector<std::string>& devices) {
    world.create(Object{
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", "ResourceClaim"},
        {"metadata", Object{{"name", name}, {"namespace", "default"}}},
        {"spec",
         Object{{"devices",
                 Object{{"requests",
                         Array{Value{Object{{"name", "r"},
                                            {"exactly", Object{{"deviceClassName", "gpu.nvidia.com"},
                                                               {"allocationMode", "ExactCount"},
                                                               {"count", static_cast<std::int64_t>(
                                                                             devices.size())}}}}}}}}}}}});
    Value object = world.get(std::string{kClaimsPath} + "/" + name);
    Array results;
    for (const auto& device : devices) {
      results.push_back(
          Object{{"request", "r"}, {"driver", "gpu.nvidia.com"}, {"pool", node}, {"device", device}});
    }
    object.set("status", Object{{"allocation", Object{{"devices", Object{{"results", results}}}}}});
    const auto answer = world.request("PUT", std::string{kClaimsPath} + "/" + name + "/status", object);
    ASSERT_EQ(answer.code, 200) << json::print(answer.body);
  }
  static bool isOurAllocation(const kapi::Call& call) {
    return call.kind == kapi::kResourceClaim && call.subresource == "status" &&
           !call.body["status"]["allocation"].isNull();
  }
  /// The first device of an allocation of ours is theirs too.
  void takesToo(const std::string& name, const kapi::Call& ours) {
    const auto& result = ours.body["status"]["allocation"]["devices"]["results"].at(0);
    foreign(name, std::string{result["pool"].str()}, {std::string{result["device"].str()}});
  }
  std::vector<std::string> devicesOn(const std::string& node) {
    std::vector<std::string> out;
    for (const auto& device : world.machines().devicesOf(node)) { out.push_back(inLowerCase(device.uuid)); }
    return out;
  }
};

TEST_F(BesideOthers, WhatTheyAllocatedIsHeld) {
  startOne();
  world.run(2s);
  foreign("theirs", "node-a", devicesOn("node-a"));
  foreign("theirs-too", "node-b", devicesOn("node-b"));
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("too few free GPUs"), std::string::npos) << whyWaiting("a");
  ASSERT_EQ(world.request("DELETE", std::string{kClaimsPath} + "/theirs").code, 200);
  ASSERT_TRUE(eventually([&] { return runs("a"); }));
  EXPECT_EQ(nodeOf("a"), "node-a");
  expectOneThing("a");
}

// Somebody who may make claims takes the name of a pod's, and another pod runs with it.
TEST_F(BesideOthers, AClaimUnderAPodsNameThatAnotherPodUsesIsLeftAlone) {
  startOne();
  world.create(pod("waits", "", 16));
  ASSERT_TRUE(eventually([&] { return whyWaiting("waits") != ""; }));
  const std::string uid{podObject("waits")["metadata"]["uid"].str()};
  world.create(pod("other", ""));
  const std::string name = "gpu-" + uid;
  foreign(name, "node-a", {devicesOn("node-a").front()});
  Value object = world.get(std::string{kClaimsPath} + "/" + name);
  Value status = object["status"];
  status.set("reservedFor",
             Array{Value{Object{{"resource", "pods"},
                                {"name", "other"},
                                {"uid", std::string{podObject("other")["metadata"]["uid"].str()}}}}});
  object.set("status", status);
  ASSERT_EQ(world.request("PUT", std::string{kClaimsPath} + "/" + name + "/status", object).code, 200);
  world.run(60s);
  EXPECT_FALSE(world.get(std::string{kClaimsPath} + "/" + name)["status"]["allocation"].isNull());
}

// Both chose at one moment: theirs stands before ours is there.
TEST_F(BesideOthers, WhoeverAllocatesWhileWeDoHasIt) {
  startOne();
  world.run(2s);
  int races = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    if (isOurAllocation(call) && races == 0) {
      ++races;
      takesToo("theirs", call);
    }
    return {};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  EXPECT_EQ(races, 1);
  expectOneThing("a");
  const auto theirs =
      world.get(std::string{kClaimsPath} + "/theirs")["status"]["allocation"]["devices"]["results"];
  EXPECT_FALSE(allocatedBy("a").contains(std::string{theirs.at(0)["device"].str()}));
}

/// Whoever decided before it saw our allocation, and writes after it: where others were met of late, that is
/// waited for before the Binding.
TEST_F(BesideOthers, WhoeverWritesAMomentLaterHasItWhereThatHappensOften) {
  startOne();
  world.run(2s);
  int races = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    if (!isOurAllocation(call) || races == 2) { return {}; }
    if (races++ == 0) {
      takesToo("theirs-0", call);
    } else {
      world.after(2s, [this, call] { takesToo("theirs-1", call); });
    }
    return {};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  EXPECT_EQ(races, 2);
  expectOneThing("a");
  for (const char* name : {"theirs-0", "theirs-1"}) {
    const auto theirs =
        world.get(std::string{kClaimsPath} + "/" + name)["status"]["allocation"]["devices"]["results"];
    EXPECT_FALSE(allocatedBy("a").contains(std::string{theirs.at(0)["device"].str()})) << name;
  }
  world.run(40s);
  world.setJudge({});
  const Mono began = world.now().mono;
  world.create(pod("b", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("b").empty(); }));
  EXPECT_LT(world.now().mono - began, 500ms) << "it is over";
}

class BesideOthersOnThreeNodes : public BesideOthers {
 protected:
  BesideOthersOnThreeNodes() : BesideOthers{withAThird()} {}
  static sandbox::World::Options withAThird() {
    sandbox::World::Options options = byDra();
    kapi::SimNode third = options.nodes.at(0);
    third.name = model::NodeName{"node-c"};
    for (auto& device : third.devices) { device.uuid.at(4) = device.uuid.at(4) == 'c' ? 'd' : 'c'; }
    options.nodes.push_back(std::move(third));
    return options;
  }
  Duration takes(const std::string& name, const std::string& node) {
    Value object = pod(name, "", 1);
    object.child("spec").set("nodeSelector", Object{{"kubernetes.io/hostname", node}});
    const Mono began = world.now().mono;
    world.create(object);
    EXPECT_TRUE(eventually([&] { return !nodeOf(name).empty(); })) << whyWaiting(name);
    return world.now().mono - began;
  }
  /// Somebody else is first there, once.
  void race(const std::string& name, const std::string& node) {
    int races = 0;
    world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
      if (isOurAllocation(call) && races++ == 0) { takesToo("theirs-" + name, call); }
      return {};
    });
    EXPECT_GE(takes(name, node), 3s);
    world.setJudge({});
    EXPECT_EQ(races, 2);
  }
};

TEST_F(BesideOthersOnThreeNodes, ARaceOnOneNodeDelaysNobodyElsewhere) {
  startOne();
  world.run(2s);
  race("a", "node-a");
  EXPECT_LT(takes("b", "node-b"), 500ms);
  EXPECT_GE(takes("c", "node-a"), 3s);
}

TEST_F(BesideOthersOnThreeNodes, WhoeverIsMetOnTwoNodesIsExpectedOnAll) {
  startOne();
  world.run(2s);
  race("a", "node-a");
  race("b", "node-b");
  EXPECT_GE(takes("c", "node-c"), 3s);
  world.run(40s);
  EXPECT_LT(takes("d", "node-c"), 500ms) << "it is over";
}

/// Nobody else is waited for then: the pod may be decided anew.
TEST_F(BesideOthers, ThatWaitEndsWithTheFirstWhoComes) {
  startOne();
  world.run(2s);
  int allocations = 0;
  bool has_come = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    if (!isOurAllocation(call)) { return {}; }
    ++allocations;
    if (allocations == 1) { takesToo("theirs-0", call); }
    if (allocations == 2) {
      world.after(500ms, [this, call, &has_come] {
        takesToo("theirs-1", call);
        has_come = true;
      });
    }
    return {};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return has_come; }));
  EXPECT_EQ(nodeOf("a"), "") << "it waits for that";
  EXPECT_TRUE(eventually([&] { return allocatedBy("a").empty(); }, 1s));
}

/// Its claim was emptied by hand: whoever decides by what was known then may write as late as before.
TEST_F(BesideOthers, WhatIsAllocatedAnewIsLookedAtAnew) {
  startOne();
  world.run(2s);
  int allocations = 0;
  Mono last{};
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    if (!isOurAllocation(call)) { return {}; }
    last = world.now().mono;
    ++allocations;
    if (allocations == 1) { takesToo("theirs", call); }
    if (allocations == 2) {
      world.after(2500ms, [this, path = fmt::format("{}/{}/status", kClaimsPath, call.key.name)] {
        Value emptied = claimOf("a");
        emptied.set("status", Object{});
        EXPECT_EQ(world.request("PUT", path, emptied).code, 200);
      });
    }
    return {};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); })) << whyWaiting("a");
  EXPECT_EQ(allocations, 3);
  EXPECT_GE(world.now().mono - last, 3s);
}

// Kubernetes does not refuse it; whoever runs there is told.
TEST_F(BesideOthers, WhoeverIsAllocatedWhatAPodHasIsSaid) {
  startOne();
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  EXPECT_FALSE(warned("GpuHeldByOther"));
  foreign("theirs", nodeOf("a"), {*allocatedBy("a").begin()});
  EXPECT_TRUE(eventually([&] { return warned("GpuHeldByOther"); }));
}

// ---- what fails

TEST_F(Dra, AServerThatDropsTheMappingGetsNoBinding) {
  startOne();
  sandbox::Tampering drops;
  drops.sent = [](sandbox::ReplicaId, kapi::Call& call) {
    if (call.kind == kapi::kPod && call.subresource == "status") {
      call.body.child("status").set("extendedResourceClaimStatus", Value{});
    }
  };
  world.setTampering(drops);
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("DRAExtendedResource is off"), std::string::npos) << whyWaiting("a");
  EXPECT_TRUE(nodeOf("a").empty());
}

TEST_F(Dra, AQuotaOfDevicesIsSaid) {
  startOne();
  world.setJudge([](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_post = call.verb == kapi::Verb::Create && call.kind == kapi::kResourceClaim;
    return is_post ? CallFault{.how = CallFault::How::Refused, .http = 403, .is_status = true} : CallFault{};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("was refused: 403"), std::string::npos) << whyWaiting("a");
  world.setJudge({});
  ASSERT_TRUE(eventually([&] { return runs("a"); }));
  expectOneThing("a");
}

/// Whichever write was its last: the claim is its pod's, and so goes by the controllers, though nobody leads.
TEST_F(Dra, WhatADeadLeaderLeftGoesWithItsPod) {
  startOne();
  for (int i = 0; i < 5; ++i) {
    int writes = 0;
    world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
      const bool is_it = call.leader_only && (call.kind == kapi::kResourceClaim ||
                                              call.kind == kapi::kLease || call.kind == kapi::kPod);
      return {CallFault::How::Normal, 0, {}, false, is_it && writes++ == i};
    });
    const std::string name = fmt::format("p{}", i);
    world.create(pod(name, "", 1));
    world.run(2s);
    EXPECT_FALSE(world.alive(0)) << "write " << i;
    deletePod(name, true);
    EXPECT_TRUE(eventually([&] { return claims() == 0; }, 10s)) << "write " << i;
    world.setJudge({});
    world.restart(0);
    ASSERT_TRUE(eventually([&] { return world.leader().has_value() && leases() == 0; }, 10min));
  }
  for (int i = 0; i < 12; ++i) { world.create(pod(fmt::format("q{}", i), "", 1)); }
  EXPECT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }, 10min))
      << "nothing holds a GPU any more";
}

TEST_F(Dra, AWebhookThatCallsItsNoAConflictIsSaidAndNotAskedAllTheTime) {
  startOne();
  int posts = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_post = call.verb == kapi::Verb::Create && call.kind == kapi::kResourceClaim;
    posts += is_post ? 1 : 0;
    return is_post ? CallFault{.how = CallFault::How::Refused, .http = 409, .is_status = true} : CallFault{};
  });
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a").find("was refused: 409") != std::string::npos; }))
      << whyWaiting("a");
  world.run(1min);
  EXPECT_LE(posts, 60);
  world.setJudge({});
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
}

TEST_F(Dra, WithoutItsDriverNothingStarts) {
  startOne();
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, true); }
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); }));
  world.run(30s);
  EXPECT_FALSE(runs("a"));
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, false); }
  ASSERT_TRUE(eventually([&] { return runs("a"); }));
  expectOneThing("a");
}

// A kubelet by itself tries again after a minute.
TEST_F(Dra, APodWhoseDevicesWereNotThereAtOnceIsNudged) {
  startOne();
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, true); }
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return warned("FailedPrepareDynamicResources"); }));
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, false); }
  ASSERT_TRUE(eventually([&] { return runs("a"); }, 5s));
  expectOneThing("a");
  const double nudges = world.counted("gpu_scheduler_nudges_total");
  EXPECT_GE(nudges, 1);
  world.run(5min);
  EXPECT_EQ(world.counted("gpu_scheduler_nudges_total"), nudges) << "it runs";
}

TEST_F(Dra, OneWhoseDriverStaysAwayIsNotNudgedForEver) {
  startOne();
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, true); }
  world.create(pod("a", "", 1));
  world.run(1h);
  EXPECT_EQ(world.counted("gpu_scheduler_nudges_total"), 8);
}

/// The kubelet took its ResourceSlices meanwhile.
TEST_F(Dra, OneWhoseDriverIsBackAfterLongIsNudgedAtOnce) {
  startOne();
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, true); }
  world.create(pod("a", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("a").empty(); }));
  world.run(1min);
  const std::string slice = "/apis/resource.k8s.io/v1/resourceslices/" + nodeOf("a") + "-gpu.nvidia.com";
  const Value before = world.get(slice);
  ASSERT_EQ(world.request("DELETE", slice).code, 200);
  world.run(10min);
  EXPECT_FALSE(runs("a"));
  EXPECT_EQ(world.counted("gpu_scheduler_nudges_total"), 8);
  for (const char* node : {"node-a", "node-b"}) { world.driver().setAway(node, false); }
  world.create(Object{{"apiVersion", before["apiVersion"]},
                      {"kind", before["kind"]},
                      {"metadata", Object{{"name", before["metadata"]["name"]},
                                          {"ownerReferences", before["metadata"]["ownerReferences"]}}},
                      {"spec", before["spec"]}});
  EXPECT_TRUE(eventually([&] { return runs("a"); }, 5s));
  EXPECT_GT(world.counted("gpu_scheduler_nudges_total"), 8);
  expectOneThing("a");
}

class SlicesOnly : public Dra {
 protected:
  SlicesOnly() : Dra{byDra(false)} {}
};

TEST_F(SlicesOnly, ADriverIsEnough) {
  startOne();
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
}

// Nobody says what its containers do.
TEST_F(SlicesOnly, AfterAForceDeleteTheDeviceWaitsFiveMinutes) {
  world.kubelet().setConfig({.linger = 4min});
  startOne();
  for (int i = 0; i < 12; ++i) { world.create(pod(fmt::format("p{}", i), "", 1)); }
  ASSERT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }));
  world.run(5s);
  deletePod("p3", true);
  world.create(pod("next", "", 1));
  EXPECT_FALSE(eventually([&] { return !nodeOf("next").empty(); }, 290s));
  ASSERT_TRUE(eventually([&] { return runs("next"); }, 60s)) << whyWaiting("next");
  EXPECT_EQ(world.driver().inUse(), 0U);
}

}  // namespace
}  // namespace gs::test
