// Pods with ResourceClaims of their own, on nodes whose GPUs a DRA driver prepares.
#include "test/world/dra_cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;

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

TEST_F(Dra, AMissingRightToListClassesIsSaid) {
  world.setJudge([](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    const bool is_it = call.verb == kapi::Verb::List && call.kind == kapi::kDeviceClass;
    return is_it ? CallFault{.how = CallFault::How::Refused, .http = 403, .is_status = true} : CallFault{};
  });
  startOne();
  world.create(gpuClass());
  world.create(resourceClaim("mine", gpuDevices(1)));
  world.create(withClaims(pod("a", ""), "resourceClaimName", {"mine"}));
  ASSERT_TRUE(eventually([&] { return whyWaiting("a") != ""; }));
  EXPECT_EQ(whyWaiting("a"),
            "gpu-scheduler may not list deviceclasses: give its ClusterRole a rule with apiGroups "
            "[resource.k8s.io], resources [deviceclasses] and verbs [list, watch]");
  world.setJudge({});
  EXPECT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
}

TEST_F(OwnClaims, AllOfANodeAreOnePods) {
  world.create(resourceClaim("all", allGpuDevices()));
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

/// By its name: it was made for the pod of the template, which waits and has it afterwards.
TEST_F(OwnClaims, OneOfATemplateThatAnotherPodNamesIsNotFoughtFor) {
  world.create(claimTemplate("one", gpuDevices(1)));
  Value gated = withClaims(pod("owner", ""), "resourceClaimTemplateName", {"one"});
  gated.child("spec").set("schedulingGates", Array{Object{{"name", "example.com/later"}}});
  world.create(gated);
  const auto its = [&] {
    return std::string{
        podObject("owner")["status"]["resourceClaimStatuses"].at(0)["resourceClaimName"].str()};
  };
  ASSERT_TRUE(eventually([&] { return !its().empty(); }));
  world.create(withClaims(pod("guest", ""), "resourceClaimName", {its()}));
  expectExact("guest", 1);
  std::size_t lease_writes = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
    lease_writes += call.kind == kapi::kLease && call.verb == kapi::Verb::Create ? 1 : 0;
    return {};
  });
  const auto opened =
      world.request("PATCH", "/api/v1/namespaces/default/pods/owner",
                    Object{{"spec", Object{{"schedulingGates", Array{}}}}}, "application/merge-patch+json");
  ASSERT_EQ(opened.code, 200) << json::print(opened.body);
  ASSERT_TRUE(eventually([&] {
    return whyWaiting("owner").find("another pod that names it uses it") != std::string::npos;
  })) << whyWaiting("owner");
  world.run(60s);
  EXPECT_EQ(lease_writes, 0U);
  EXPECT_TRUE(runs("guest"));
  finish("guest");
  ASSERT_TRUE(eventually([&] { return runs("owner"); })) << whyWaiting("owner");
  expectExact("owner", 1);
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

}  // namespace
}  // namespace gs::test
