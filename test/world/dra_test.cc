// Nodes whose GPUs a DRA driver prepares: what the pod is given, its ResourceClaim is allocated and its
// containers see are one thing, whatever fails on the way
// (docs/inside/decisions/0011-gpus-by-dra.md).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/ascii.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;

constexpr const char* kClaimsPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

sandbox::World::Options byDra(bool agents = true) {
  sandbox::World::Options options;
  options.agents = agents;
  options.controllers = true;
  for (auto& node : options.nodes) {
    node.enforcement = model::Enforcement::Dra;
    for (auto& device : node.devices) {
      device.pci_bus_id = fmt::format("00000000:{:02x}:00.0", device.id + 1);
    }
  }
  return options;
}

class Dra : public Cluster {
 protected:
  explicit Dra(sandbox::World::Options options = byDra()) : Cluster{std::move(options)} {}

  /// UUIDs that the containers of this pod have.
  std::set<std::string> seen(const std::string& name) {
    const auto object = podObject(name);
    const auto devices = world.kubelet().devicesAtStart(std::string{object["metadata"]["uid"].str()});
    std::set<std::string> out;
    std::string rest = devices.value_or("");
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      out.insert(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    return out;
  }
  /// UUIDs of the ids that its annotation names.
  std::set<std::string> told(const std::string& name) {
    std::set<std::string> out;
    const auto allocation = model::parseAllocation(allocated(name));
    if (!allocation) { return out; }
    for (const auto& device : world.machines().devicesOf(nodeOf(name))) {
      if (std::count(allocation->ids.begin(), allocation->ids.end(), device.id) > 0) {
        out.insert(device.uuid);
      }
    }
    return out;
  }
  Value claimOf(const std::string& name) {
    return world.get(std::string{kClaimsPath} + "/gpu-" +
                     std::string{podObject(name)["metadata"]["uid"].str()});
  }
  /// What its claim is allocated, by the names that its driver gives.
  std::set<std::string> allocatedBy(const std::string& name) {
    std::set<std::string> out;
    for (const auto& r : claimOf(name)["status"]["allocation"]["devices"]["results"].items()) {
      out.emplace(r["device"].str());
    }
    return out;
  }
  bool runs(const std::string& name) { return podObject(name)["status"]["phase"].str() == "Running"; }
  void expectOneThing(const std::string& name) {
    const auto given = told(name);
    EXPECT_FALSE(given.empty()) << name;
    EXPECT_EQ(seen(name), given) << name;
    std::set<std::string> names;
    for (const auto& uuid : given) { names.insert(inLowerCase(uuid)); }
    EXPECT_EQ(allocatedBy(name), names) << name;
  }
  std::size_t claims() { return world.get(kClaimsPath)["items"].items().size(); }
};

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
  ASSERT_EQ(by_request.size(), 3U);
  EXPECT_EQ(by_request["limit-0"], by_request["limit-1"]) << "the init container has what a container gets";
  EXPECT_NE(by_request["limit-1"], by_request["limit-2"]);
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
    const bool is_ours = call.kind == kapi::kResourceClaim && call.subresource == "status" &&
                         !call.body["status"]["allocation"].isNull();
    if (is_ours && races == 0) {
      ++races;
      const auto& result = call.body["status"]["allocation"]["devices"]["results"].at(0);
      foreign("theirs", std::string{result["pool"].str()}, {std::string{result["device"].str()}});
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
    const bool is_ours = call.kind == kapi::kResourceClaim && call.subresource == "status" &&
                         !call.body["status"]["allocation"].isNull();
    if (!is_ours || races == 2) { return {}; }
    const auto& result = call.body["status"]["allocation"]["devices"]["results"].at(0);
    const auto take = [this, name = fmt::format("theirs-{}", races), node = std::string{result["pool"].str()},
                       device = std::string{result["device"].str()}] { foreign(name, node, {device}); };
    if (races++ == 0) {
      take();
    } else {
      world.after(2s, take);
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

// ---- pods with claims of their own

class OwnClaims : public Dra {
 protected:
  void SetUp() override {
    startOne();
    world.create(gpuClass());
  }
  /// By what its claims are allocated.
  void expectExact(const std::string& name, std::size_t gpus) {
    ASSERT_TRUE(eventually([&] { return runs(name); })) << whyWaiting(name);
    const auto given = told(name);
    EXPECT_EQ(given.size(), gpus);
    EXPECT_EQ(seen(name), given);
    std::set<std::string> names;
    for (const auto& uuid : given) { names.insert(inLowerCase(uuid)); }
    EXPECT_EQ(allocatedTo(name), names);
  }
  /// Devices of all claims that are reserved for it.
  std::set<std::string> allocatedTo(const std::string& name) {
    std::set<std::string> out;
    for (const auto& one : world.get(kClaimsPath)["items"].items()) {
      const auto& users = one["status"]["reservedFor"].items();
      const auto is_it = [&](const Value& user) { return user["name"].str() == name; };
      if (std::none_of(users.begin(), users.end(), is_it)) { continue; }
      for (const auto& r : one["status"]["allocation"]["devices"]["results"].items()) {
        out.emplace(r["device"].str());
      }
    }
    return out;
  }
  Value claimNamed(const std::string& name) { return world.get(std::string{kClaimsPath} + "/" + name); }
};

TEST_F(OwnClaims, OfATemplateIsAllocatedWhatWasChosen) {
  world.create(claimTemplate("two", gpuDevices(2)));
  world.create(withClaims(pod("a", ""), "resourceClaimTemplateName", {"two"}));
  expectExact("a", 2);
  EXPECT_EQ(leases(), 2U);
  EXPECT_TRUE(podObject("a")["status"]["extendedResourceClaimStatus"].isNull());
  finish("a");
  ASSERT_TRUE(eventually([&] { return claims() == 0; })) << "the claim goes with its pod";
  expectSettled();
}

TEST_F(OwnClaims, ANamedOneIsProtectedWhileItIsAllocatedAndFreeAfter) {
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"mine"}));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("resourceclaim \"mine\" of spec.resourceClaims[c0] not found"),
            std::string::npos)
      << whyWaiting("a");
  world.create(resourceClaim("mine", gpuDevices(1)));
  expectExact("a", 1);
  EXPECT_EQ(claimNamed("mine")["metadata"]["finalizers"].at(0).str(), model::kDeleteProtection);
  finish("a");
  ASSERT_TRUE(eventually([&] { return claimNamed("mine")["status"]["allocation"].isNull(); }));
  world.create(withClaims(pod("b", ""), "resourceClaimName", {"mine"}));
  expectExact("b", 1);
}

// Answers come before what the watch brings, of a claim that no pod owns too.
TEST_F(Dra, NobodyWaitsLongerThanTheWatchForAClaimThatItNames) {
  world.setStreamJudge([](sandbox::ReplicaId, kapi::Token) -> Duration { return 20ms; });
  startOne();
  world.create(gpuClass());
  world.create(resourceClaim("mine", gpuDevices(1)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"mine"}));
  EXPECT_TRUE(eventually([&] { return !nodeOf("a").empty(); }, 3s)) << whyWaiting("a");
}

TEST_F(OwnClaims, SelectorsChooseTheDevice) {
  const std::string uuid = world.machines().devicesOf("node-b").at(2).uuid;
  world.create(resourceClaim(
      "that-one", gpuDevices(1, fmt::format("device.attributes['gpu.nvidia.com'].uuid == '{}'", uuid))));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"that-one"}));
  expectExact("a", 1);
  EXPECT_EQ(told("a"), std::set<std::string>{uuid});
  world.create(resourceClaim("odd", gpuDevices(1, "device.attributes.exists(a, true)")));
  world.create(withClaims(pod("b", ""), "resourceClaimName", {"odd"}));
  ASSERT_TRUE(eventually([&] { return whyWaiting("b") != ""; }));
  EXPECT_NE(whyWaiting("b").find("device.attributes.exists(a, true)"), std::string::npos) << whyWaiting("b");
}

TEST_F(OwnClaims, AllOfANodeAreOnePods) {
  Value all = gpuDevices(1);
  Value request = all["devices"]["requests"].at(0);
  request.set("exactly", Object{{"deviceClassName", "gpu.nvidia.com"}, {"allocationMode", "All"}});
  all.child("devices").set("requests", Array{request});
  world.create(resourceClaim("all", all));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"all"}));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectExact("a", world.machines().devicesOf(nodeOf("a")).size());
}

TEST_F(OwnClaims, WhatTheNodesHaveTooFewOfIsSaid) {
  world.create(resourceClaim("many", gpuDevices(9)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"many"}));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_NE(whyWaiting("a").find("request gpus of claim c0 needs 9 devices of class gpu.nvidia.com"),
            std::string::npos)
      << whyWaiting("a");
}

/// Whoever is first chooses; the others have what it chose, and nobody else has it.
TEST_F(OwnClaims, PodsThatNameOneShareItsDevices) {
  world.create(resourceClaim("ours", gpuDevices(2)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"ours"}));
  world.create(withClaims(pod("b", ""), "resourceClaimName", {"ours"}));
  expectExact("a", 2);
  ASSERT_TRUE(eventually([&] { return runs("b"); })) << whyWaiting("b");
  world.create(withClaims(pod("c", ""), "resourceClaimName", {"ours"}));
  ASSERT_TRUE(eventually([&] { return runs("c"); })) << whyWaiting("c");
  for (const char* name : {"b", "c"}) {
    EXPECT_EQ(told(name), told("a"));
    EXPECT_EQ(seen(name), told("a"));
    EXPECT_EQ(nodeOf(name), nodeOf("a"));
  }
  EXPECT_EQ(claimNamed("ours")["status"]["reservedFor"].items().size(), 3U);
  EXPECT_EQ(leases(), 2U) << "one of each GPU, whoever shares it";
  world.create(claimTemplate("all", gpuDevices(2)));
  for (int i = 0; i < 5; ++i) {
    world.create(withClaims(pod(fmt::format("p{}", i), ""), "resourceClaimTemplateName", {"all"}));
  }
  ASSERT_TRUE(eventually([&] { return runs("p0") && runs("p1") && runs("p2") && runs("p3") && runs("p4"); }));
  for (int i = 0; i < 5; ++i) {
    for (const auto& uuid : seen(fmt::format("p{}", i))) { EXPECT_FALSE(seen("a").contains(uuid)) << uuid; }
  }
  finish("a");
  finish("c");
  world.run(10s);
  EXPECT_EQ(claimNamed("ours")["status"]["reservedFor"].items().size(), 1U);
  EXPECT_FALSE(claimNamed("ours")["status"]["allocation"].isNull()) << "b has it";
  EXPECT_EQ(seen("b"), told("b"));
  finish("b");
  ASSERT_TRUE(eventually([&] { return claimNamed("ours")["status"]["allocation"].isNull(); }));
  expectSettled();
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// So many at once: one allocates it, and the others join one after the other, without a conflict.
TEST_F(OwnClaims, ManyComeToShareOneAtOnce) {
  constexpr std::size_t kMany = 24;
  std::size_t writes = 0;
  std::size_t told_waiting = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    writes += call.kind == kapi::kResourceClaim && call.leader_only ? 1 : 0;
    told_waiting += call.kind == kapi::kPod && call.verb == kapi::Verb::StrategicPatch ? 1 : 0;
    return {};
  });
  world.create(resourceClaim("ours", gpuDevices(1)));
  for (std::size_t i = 0; i < kMany; ++i) {
    world.create(withClaims(pod(fmt::format("p{}", i), ""), "resourceClaimName", {"ours"}));
  }
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::string name = fmt::format("p{}", i);
    ASSERT_TRUE(eventually([&] { return runs(name); })) << whyWaiting(name);
    EXPECT_EQ(seen(name), seen("p0"));
  }
  EXPECT_LE(writes, kMany + 8);
  EXPECT_EQ(told_waiting, 0U) << "it takes some ms";
}

/// One that kube-scheduler allocated, for a pod of its own.
TEST_F(OwnClaims, OneThatAnotherSchedulerAllocatedIsJoined) {
  world.create(resourceClaim("theirs", gpuDevices(1)));
  Value claim = claimNamed("theirs");
  const Object result{{"request", "gpus"},
                      {"driver", "gpu.nvidia.com"},
                      {"pool", "node-b"},
                      {"device", inLowerCase(world.machines().devicesOf("node-b").at(1).uuid)}};
  const Object user{{"resource", "pods"}, {"name", "other"}, {"uid", "uid-of-other"}};
  claim.set("status", Object{{"allocation", Object{{"devices", Object{{"results", Array{Value{result}}}}}}},
                             {"reservedFor", Array{Value{user}}}});
  ASSERT_EQ(world.request("PUT", std::string{kClaimsPath} + "/theirs/status", claim).code, 200);
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"theirs"}));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  EXPECT_EQ(seen("a"), std::set<std::string>{world.machines().devicesOf("node-b").at(1).uuid});
  EXPECT_EQ(claimNamed("theirs")["metadata"]["finalizers"].at(0).str(), model::kDeleteProtection);
}

/// Its containers run on after a force delete: who shared the GPU with it has it as before, and whoever comes
/// later waits.
TEST_F(OwnClaims, WhatAPodThatWentHasIsNotShared) {
  world.kubelet().setConfig({.linger = 60s});
  world.create(resourceClaim("ours", gpuDevices(1)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"ours"}));
  world.create(withClaims(pod("b", ""), "resourceClaimName", {"ours"}));
  ASSERT_TRUE(eventually([&] { return runs("a") && runs("b"); }));
  (void)world.request("DELETE", "/api/v1/namespaces/default/pods/a",
                      Value{Object{{"gracePeriodSeconds", 0}}});
  world.run(5s);
  world.create(withClaims(pod("c", ""), "resourceClaimName", {"ours"}));
  ASSERT_TRUE(eventually([&] { return whyWaiting("c") != ""; }));
  EXPECT_NE(whyWaiting("c").find("claim c0 is allocated a device that others have"), std::string::npos)
      << whyWaiting("c");
  EXPECT_TRUE(runs("b"));
  ASSERT_TRUE(eventually([&] { return runs("c"); }, 10min)) << whyWaiting("c");
  EXPECT_EQ(seen("c"), seen("b"));
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// Leaders die at each of their writes while pods come to share a claim.
TEST_F(OwnClaims, SharedOnesSurviveTheLeader) {
  world.create(resourceClaim("ours", gpuDevices(1)));
  for (int i = 0; i < 12; ++i) {
    int writes = 0;
    world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
      const bool is_it = call.leader_only && (call.kind == kapi::kResourceClaim ||
                                              call.kind == kapi::kLease || call.kind == kapi::kPod);
      return {CallFault::How::Normal, 0, {}, false, is_it && writes++ == i};
    });
    const std::string name = fmt::format("p{}", i);
    world.create(withClaims(pod(name, ""), "resourceClaimName", {"ours"}));
    world.run(2s);
    if (!world.alive(0)) { world.restart(0); }
    ASSERT_TRUE(eventually([&] { return runs(name); })) << name << " " << whyWaiting(name);
    EXPECT_EQ(seen(name), seen("p0")) << name;
  }
  EXPECT_EQ(claimNamed("ours")["status"]["reservedFor"].items().size(), 12U);
  EXPECT_EQ(leases(), 1U);
  EXPECT_EQ(world.driver().inUse(), 0U);
}

TEST_F(OwnClaims, TheyFillTheClusterBesideLimitsAndGpuClaims) {
  world.create(claimTemplate("one", gpuDevices(1)));
  world.create(claim("c", 1));
  for (int i = 0; i < 11; ++i) {
    const std::string name = fmt::format("p{}", i);
    switch (i % 3) {
      case 0: world.create(pod(name, "", 1)); break;
      case 1: world.create(pod(name, "c", 1)); break;
      default: world.create(withClaims(pod(name, ""), "resourceClaimTemplateName", {"one"}));
    }
  }
  world.create(withClaims(pod("last", ""), "resourceClaimTemplateName", {"one"}));
  std::set<std::string> all;
  ASSERT_TRUE(eventually([&] { return runs("last") && runs("p10"); }))
      << whyWaiting("last") << whyWaiting("p10");
  world.run(30s);
  for (const auto& p : world.get("/api/v1/namespaces/default/pods")["items"].items()) {
    const std::string name{p["metadata"]["name"].str()};
    ASSERT_TRUE(runs(name)) << name << whyWaiting(name);
    EXPECT_EQ(seen(name), told(name)) << name;
    for (const auto& uuid : seen(name)) { EXPECT_TRUE(all.insert(uuid).second) << uuid << " twice"; }
  }
  EXPECT_EQ(all.size(), 12U) << "all that there are";
  EXPECT_EQ(world.driver().inUse(), 0U);
}

/// The claim is deleted and made anew while it is decided about: what is bound has the one that is there.
TEST_F(OwnClaims, OneThatIsReplacedMeanwhileIsDecidedAnew) {
  int times = 0;
  world.create(resourceClaim("mine", gpuDevices(1)));
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_it = call.kind == kapi::kResourceClaim && call.subresource == "status";
    if (is_it && times++ == 0) {
      (void)world.request("DELETE", std::string{kClaimsPath} + "/mine");
      Value bare = claimNamed("mine");
      bare.child("metadata").set("finalizers", Array{});
      (void)world.request("PUT", std::string{kClaimsPath} + "/mine", bare);
      world.create(resourceClaim("mine", gpuDevices(2)));
    }
    return {};
  });
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"mine"}));
  expectExact("a", 2);
  EXPECT_GE(times, 2);
}

// ---- what kubectl get gns says

class DraStatuses : public Dra {
 protected:
  explicit DraStatuses(sandbox::World::Options options = byDra()) : Dra{std::move(options)} {
    world.setJudge([this](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
      const bool is_it = call.leader_only && call.kind == kapi::kGpuNodeStatus;
      writes += is_it ? 1 : 0;
      return is_it && is_forbidden ? CallFault{.how = CallFault::How::Refused, .http = 403, .is_status = true}
                                   : CallFault{};
    });
  }
  static std::string pathOf(const std::string& node) {
    return "/apis/gpu.scheduling/v1/gpunodestatuses/" + node;
  }
  static std::string sliceOf(const std::string& node) {
    return fmt::format("/apis/resource.k8s.io/v1/resourceslices/{}-gpu.nvidia.com", node);
  }
  Value statusOf(const std::string& node) { return world.get(pathOf(node))["status"]; }
  bool isThere(const std::string& node) { return world.get(pathOf(node))["kind"].str() == "GpuNodeStatus"; }
  std::string keeperOf(const std::string& node) {
    return std::string{world.get(pathOf(node))["metadata"]["labels"][model::kWrittenByKey].str()};
  }
  bool looked(const std::string& node) { return !statusOf(node)["observedTime"].str().empty(); }
  std::string enforcement(const std::string& node) {
    return isThere(node) ? std::string{statusOf(node)["enforcement"].str()} : "no object";
  }
  /// All GPUs of the node by their UUIDs, and what gives them.
  bool isTold(const std::string& node) {
    if (enforcement(node) != "dra") { return false; }
    std::set<std::string> has;
    std::set<std::string> says;
    for (const auto& device : world.machines().devicesOf(node)) { has.insert(device.uuid); }
    for (const auto& device : statusOf(node)["devices"].items()) { says.emplace(device["uuid"].str()); }
    return has == says;
  }
  bool areTold() { return isTold("node-a") && isTold("node-b"); }
  /// An agent complained of what another one wrote.
  bool isContested(const std::string& node) {
    const auto conditions = statusOf(node)["conditions"].items();
    return std::any_of(conditions.begin(), conditions.end(),
                       [](const Value& c) { return c["type"].str() == "OnlyWriter"; });
  }

  int writes = 0;
  bool is_forbidden = false;
};

class SliceStatusesOnly : public DraStatuses {
 protected:
  SliceStatusesOnly() : DraStatuses{byDra(false)} {}
};

TEST_F(SliceStatusesOnly, EachNodeHasOneThatSaysWhatItsDriverPublishes) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  for (const char* node : {"node-a", "node-b"}) {
    EXPECT_EQ(keeperOf(node), "scheduler");
    EXPECT_FALSE(looked(node)) << "nobody looks there";
    EXPECT_TRUE(statusOf(node)["free"].isNull());
    const auto gpus = static_cast<std::int64_t>(world.machines().devicesOf(node).size());
    EXPECT_EQ(statusOf(node)["total"].integer(), gpus);
    EXPECT_EQ(statusOf(node)["healthy"].integer(), gpus);
    for (const auto& device : statusOf(node)["devices"].items()) {
      EXPECT_TRUE(device["inUseBy"].isNull());
      EXPECT_EQ(device["health"].str(), "Healthy");
    }
  }
  EXPECT_EQ(writes, 4);
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  world.run(10min);
  EXPECT_EQ(writes, 4) << "what it wrote itself changes nothing";
}

TEST_F(SliceStatusesOnly, ItFollowsTheDriverAndGoesWithIt) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  world.machines().setHealth("node-a", 1, model::Health::Unhealthy, "XID 79");
  world.touch();
  ASSERT_TRUE(eventually([&] { return statusOf("node-a")["devices"].at(1)["health"].str() == "Unhealthy"; }));
  EXPECT_EQ(statusOf("node-a")["healthy"].integer(), 3);
  ASSERT_EQ(world.request("DELETE", sliceOf("node-a")).code, 200);
  ASSERT_TRUE(eventually([&] { return !isThere("node-a"); }));
  EXPECT_TRUE(isTold("node-b"));
  world.machines().setHealth("node-a", 1, model::Health::Healthy);
  world.touch();
  ASSERT_TRUE(eventually([&] { return areTold(); })) << "the driver publishes again";
  world.machines().removeNode("node-b");
  world.touch();
  ASSERT_TRUE(eventually([&] { return !isThere("node-b"); }));
  world.run(1min);
  EXPECT_FALSE(isThere("node-b"));
}

// What a role of before allows: nothing else depends on it.
TEST_F(SliceStatusesOnly, WhereItMayNotBeWrittenAllElseGoesOn) {
  is_forbidden = true;
  startOne();
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  world.run(1h);
  EXPECT_FALSE(isThere("node-a"));
  EXPECT_LE(writes, 20);
  const auto& log = world.log();
  EXPECT_EQ(
      std::count_if(log.begin(), log.end(),
                    [](const auto& line) { return line.find("cannot be written") != std::string::npos; }),
      1);
  is_forbidden = false;
  EXPECT_TRUE(eventually([&] { return areTold(); }, 15min));
}

TEST_F(SliceStatusesOnly, ANewLeaderTakesAwayWhatNoDriverPublishesAnyMore) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  world.crash(*world.leader());
  ASSERT_EQ(world.request("DELETE", sliceOf("node-a")).code, 200);
  startOne();
  ASSERT_TRUE(eventually([&] { return !isThere("node-a"); }));
  EXPECT_TRUE(isTold("node-b"));
}

TEST_F(DraStatuses, AnAgentsObjectSaysWhatGivesItsGpusAndNobodyWritesOverIt) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold() && looked("node-a") && looked("node-b"); }));
  world.run(3min);
  ASSERT_TRUE(areTold());
  const int before = writes;
  EXPECT_FALSE(world.runUntil([&] { return !areTold(); }, 10min));
  EXPECT_EQ(writes, before);
  for (const char* node : {"node-a", "node-b"}) {
    EXPECT_EQ(keeperOf(node), "agent");
    EXPECT_FALSE(isContested(node));
  }
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  finish("a");
  expectSettled();
}

TEST_F(DraStatuses, AgentsAndDriversComeAndGoInAnyOrder) {
  const auto agentRuns = [this](bool runs) {
    world.machines().setAgentDown("node-a", !runs);
    world.touch();
  };
  agentRuns(false);
  startOne();
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "scheduler");
  EXPECT_FALSE(looked("node-a"));

  agentRuns(true);
  ASSERT_TRUE(eventually([&] { return looked("node-a") && isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "agent");
  EXPECT_FALSE(statusOf("node-a")["free"].isNull());
  EXPECT_FALSE(isContested("node-a")) << "what the scheduler kept was taken out before";

  ASSERT_EQ(world.request("DELETE", sliceOf("node-a")).code, 200);
  ASSERT_TRUE(eventually([&] { return enforcement("node-a") == "off"; }, 3min)) << "the agent's own word";
  world.machines().setHealth("node-a", 0, model::Health::Healthy);  // its driver publishes again
  world.touch();
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  world.run(3min);
  EXPECT_TRUE(isTold("node-a"));

  agentRuns(false);
  ASSERT_EQ(world.request("DELETE", pathOf("node-a")).code, 200);
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "scheduler");
  agentRuns(true);
  ASSERT_TRUE(eventually([&] { return looked("node-a") && isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "agent");
}

}  // namespace
}  // namespace gs::test
