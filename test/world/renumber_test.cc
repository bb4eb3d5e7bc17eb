// GPUs that are numbered anew under running pods: a device is its UUID.
#include <fmt/format.h>

#include "kapi/kinds.h"
#include "test/world/one_node.h"
#include "test/world/rebuilt.h"
#include "testing/builders.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

/// One node with three GPUs, GPU-0 to GPU-2.
class Renumbered : public OneNode {
 protected:
  explicit Renumbered(bool told_uuids, bool agents_know = false)
      : OneNode{{"GPU-0", "GPU-1", "GPU-2"}, true, model::Enforcement::Devices, agents_know} {
    scheduler::Config config;
    config.visible_uuids = told_uuids;
    world.startReplica(config);
    EXPECT_TRUE(eventually([&] { return world.leader().has_value(); }));
    world.create(claim("one", 1));
    for (const char* name : {"p", "r"}) {
      world.create(pod(name, "one"));
      EXPECT_TRUE(eventually([&] { return running(name); }));
    }
    EXPECT_EQ(allocated("p"), "n:0");
    EXPECT_EQ(allocated("r"), "n:1");
  }
  void nowThereAre(const std::vector<std::string>& uuids) {
    world.machines().setDevices("n", gpusOf(uuids));
    world.touch();
    world.run(5s);
  }
  /// One more pod waits for this GPU until r has ended.
  void expectFreeOnlyAfterR(const std::string& uuid) {
    world.create(pod("t", "one"));
    world.run(60s);
    EXPECT_EQ(nodeOf("t"), "");
    finish("r");
    ASSERT_TRUE(eventually([&] { return !nodeOf("t").empty(); }));
    EXPECT_EQ(podObject("t")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(), uuid);
  }
  void expectRebuilt() {
    world.run(5s);  // until it has seen all that was written
    EXPECT_EQ(world.scheduler(*world.leader()).engine().ledger().dump(false), rebuiltLedger(world));
  }
};

struct ToldUuids : Renumbered {
  ToldUuids() : Renumbered{true} {}
};
/// And agents know it.
struct ToldUuidsByAll : Renumbered {
  ToldUuidsByAll() : Renumbered{true, true} {}
};
struct ToldIds : Renumbered {
  ToldIds() : Renumbered{false} {}
};

TEST_F(ToldUuids, AGpuThatARunningPodHasIsNotGivenUnderItsNewId) {
  nowThereAre({"GPU-1", "GPU-2"});
  finish("p");
  world.create(pod("s", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("s").empty(); }, 120s)) << whyWaiting("s");
  EXPECT_EQ(podObject("s")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(), "GPU-2");
  EXPECT_EQ(allocated("s"), "n:1");
  // Its lease has followed the GPU.
  EXPECT_EQ(holder(0), uidOf("r"));
  EXPECT_EQ(lease(0)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-1");
  EXPECT_EQ(holder(1), uidOf("s"));
  expectRebuilt();
  expectFreeOnlyAfterR("GPU-1");
}

TEST_F(ToldUuids, ANewLeaderKnowsItToo) {
  nowThereAre({"GPU-1", "GPU-2"});
  world.crash(0);
  finish("p");
  world.create(pod("s", "one"));
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return !nodeOf("s").empty(); }, 120s)) << whyWaiting("s");
  EXPECT_EQ(podObject("s")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(), "GPU-2");
}

/// Then its lease alone says which GPU it has, for an id that this GPU has no more.
TEST_F(ToldUuids, ALeaseThatFollowedItsGpuStandsThoughAllAnnotationsWereTakenAway) {
  finish("p");
  ASSERT_TRUE(eventually([&] { return leases() == 1; }, 120s));
  nowThereAre({"GPU-1", "GPU-2"});
  ASSERT_EQ(holder(0), uidOf("r"));
  world.crash(0);
  const json::Object none{{"gpu.scheduling/allocated", nullptr},
                          {"gpu.scheduling/visible-devices", nullptr},
                          {"gpu.scheduling/reservation", nullptr}};
  const json::Value patch = json::Object{{"metadata", json::Object{{"annotations", none}}}};
  EXPECT_EQ(
      world.request("PATCH", "/api/v1/namespaces/default/pods/r", patch, "application/merge-patch+json").code,
      200);
  world.restart(0);
  world.run(60s);
  EXPECT_EQ(holder(0), uidOf("r"));
  EXPECT_EQ(lease(0)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-1");
  expectRebuilt();
}

/// The ids of its annotation are those of before; that its agent sees it use this GPU says that nobody edited
/// them.
TEST_F(ToldUuids, ALeaseOfAnotherDecisionIsNotWhatAPodHasWhoseGpuWasRenumbered) {
  finish("p");
  ASSERT_TRUE(eventually([&] { return leases() == 1; }, 120s));
  world.run(30s);
  world.setJudge([&, done = false](sandbox::ReplicaId, const kapi::Call& call) mutable {
    const bool deletes = call.verb == kapi::Verb::Delete && call.key.name == "gpu-n-2";
    if (deletes) { return sandbox::CallFault{.how = sandbox::CallFault::How::LostBefore}; }
    const bool creates = call.kind == kapi::kLease && call.verb == kapi::Verb::Create;
    if (!creates || std::exchange(done, true)) { return sandbox::CallFault{}; }
    EXPECT_EQ(call.body["metadata"]["name"].str(), "gpu-n-0");
    model::Pod of;
    of.key = {"default", "s"};
    of.uid = model::Uid{uidOf("s")};
    const auto lease = gs::testing::makeLease("n", 2, of, "theirs", "n:2");
    const std::string path = kLeases.substr(0, kLeases.size() - 1);
    EXPECT_EQ(world.request("POST", path, kapi::createLease(lease).body).code, 201);
    return sandbox::CallFault{};
  });
  world.create(pod("s", "one"));
  ASSERT_TRUE(eventually([&] { return running("s"); }));
  ASSERT_EQ(allocated("s"), "n:0");
  world.run(3s);
  world.crash(0);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-0", {}).code, 200);
  nowThereAre({"GPU-1", "GPU-0", "GPU-2"});
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return holder(1) == uidOf("s"); }, 120s));
  EXPECT_EQ(lease(1)["metadata"]["annotations"]["gpu.scheduling/devices"].str(), "n:0");
  EXPECT_FALSE(warned("GpuAnnotationChanged")) << "nobody changed any";
}

TEST_F(ToldUuids, WhatComesBackIsAsBefore) {
  nowThereAre({"GPU-1", "GPU-2"});
  world.run(60s);
  nowThereAre({"GPU-0", "GPU-1", "GPU-2"});
  world.run(60s);
  EXPECT_EQ(holder(0), uidOf("p"));
  EXPECT_EQ(holder(1), uidOf("r"));
  EXPECT_EQ(leases(), 2U);
  expectRebuilt();
  world.create(pod("s", "one"));
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:2"; }));
}

/// The lease of the number in between was to go, and could not be deleted in time.
TEST_F(ToldUuids, ALeaseThatIsToGoStaysWhenItsGpuComesBackToThatNumber) {
  nowThereAre({"GPU-0", "GPU-2", "GPU-1"});
  ASSERT_EQ(holder(2), uidOf("r"));
  int deletes = 0;
  bool refuses = true;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.verb != kapi::Verb::Delete || call.key.name != "gpu-n-2") { return {}; }
    ++deletes;
    return refuses ? sandbox::CallFault{sandbox::CallFault::How::Refused, 403, {}, false, false}
                   : sandbox::CallFault{};
  });
  nowThereAre({"GPU-0", "GPU-1", "GPU-2"});
  ASSERT_GT(deletes, 0);
  nowThereAre({"GPU-0", "GPU-2", "GPU-1"});
  refuses = false;
  deletes = 0;
  world.run(120s);
  EXPECT_EQ(deletes, 0) << "r has that GPU again";
  EXPECT_EQ(holder(2), uidOf("r"));
  expectRebuilt();
}

TEST_F(ToldUuids, AGpuThatIsSwappedIsNotGivenBeforeItsPodEnds) {
  nowThereAre({"GPU-0", "GPU-9", "GPU-2"});
  world.create(pod("s", "one"));
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:2"; }));
  expectFreeOnlyAfterR("GPU-9");
}

/// Its container may take what has its number, when it starts again.
TEST_F(ToldIds, TheIdIsHeldToo) {
  nowThereAre({"GPU-1", "GPU-2"});
  finish("p");
  world.create(pod("s", "one"));
  world.run(120s);
  EXPECT_EQ(nodeOf("s"), "") << "0 is the GPU that r has, and 1 what it was told";
  EXPECT_EQ(holder(0), uidOf("r"));
  EXPECT_EQ(holder(1), uidOf("r"));
  expectRebuilt();
  finish("r");
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:0"; }));
  expectSettled();
}

/// Its lease alone said which GPU its container has.
TEST_F(ToldIds, NothingIsForgottenWhenTheLeaseIsDeletedByHand) {
  nowThereAre({"GPU-1", "GPU-2"});
  for (int id = 0; id < 2; ++id) {
    EXPECT_EQ(world.request("DELETE", kLeases + "gpu-n-" + std::to_string(id)).code, 200);
  }
  finish("p");
  world.create(pod("s", "one"));
  world.run(120s);
  EXPECT_EQ(nodeOf("s"), "");
  EXPECT_EQ(holder(0), uidOf("r"));
  EXPECT_EQ(holder(1), uidOf("r"));
  EXPECT_EQ(lease(1)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-1");
  expectRebuilt();
}

/// Each says what its pod has: were it written for the other, a new leader would not know that.
TEST_F(ToldIds, LeasesOfSwappedGpusThatAreDeletedByHandComeBackToTheirPods) {
  nowThereAre({"GPU-1", "GPU-0", "GPU-2"});
  const std::vector<std::string> pods{"p", "r"};
  for (int id = 0; id < 2; ++id) {
    ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-" + std::to_string(id)).code, 200);
    ASSERT_TRUE(eventually([&] { return leases() == 2; }));
    const auto i = static_cast<std::size_t>(id);
    EXPECT_EQ(holder(id), uidOf(pods[i]));
    EXPECT_EQ(lease(id)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), fmt::format("GPU-{}", id));
  }
  expectRebuilt();
}

/// Nobody who remembers what its leases said is left.
TEST_F(ToldIds, WhatTheAgentSeesItUseIsHeldWhateverItsLeaseSays) {
  nowThereAre({"GPU-1", "GPU-2"});
  world.crash(0);
  for (int id = 0; id < 2; ++id) {
    EXPECT_EQ(world.request("DELETE", kLeases + "gpu-n-" + std::to_string(id)).code, 200);
  }
  finish("p");
  world.create(pod("s", "one"));
  world.restart(0);
  world.run(120s);
  EXPECT_EQ(nodeOf("s"), "") << "GPU-1, which r uses, is 0 now";
  expectRebuilt();
  finish("r");
  EXPECT_TRUE(eventually([&] { return !nodeOf("s").empty(); }, 120s));
}

/// Decided on one GPU, bound when its id means another one: it is decided anew.
TEST_F(ToldUuids, WhatIsRenumberedOnTheWayIsDecidedAnew) {
  bool busy = true;
  int bindings = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || !busy) { return {}; }
    ++bindings;
    return {sandbox::CallFault::How::Refused, 429, {}, false, false};
  });
  world.create(pod("s", "one"));
  ASSERT_TRUE(eventually([&] { return bindings > 0; }));
  nowThereAre({"GPU-0", "GPU-1", "GPU-3"});
  busy = false;
  ASSERT_TRUE(eventually([&] { return !nodeOf("s").empty(); }));
  EXPECT_EQ(podObject("s")["metadata"]["annotations"]["gpu.scheduling/visible-devices"].str(), "GPU-3");
  EXPECT_EQ(lease(2)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-3");
}

/// A map says ids, which reach another GPU once one below is lost: nothing else of the node changes.
TEST_F(ToldUuidsByAll, APodWithAMapIsNotToldAnIdThatMovedOnTheWay) {
  bool busy = true;
  int bindings = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || !busy) { return {}; }
    ++bindings;
    return {sandbox::CallFault::How::Refused, 429, {}, false, false};
  });
  const auto lose = [&](std::optional<sandbox::Machines::Loss> how) {
    world.machines().setLost("n", "GPU-1", how, false);
    world.touch();
    world.run(5s);
  };
  world.create(mappedPod("m-0", "0=n:2"));
  ASSERT_TRUE(eventually([&] { return bindings > 0; }));
  lose(sandbox::Machines::Loss::Called);
  busy = false;
  world.run(60s);
  EXPECT_EQ(nodeOf("m-0"), "") << allocated("m-0");
  EXPECT_NE(whyWaiting("m-0").find("indices moved"), std::string::npos) << whyWaiting("m-0");
  world.create(pod("s", "one"));
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:2"; })) << "who is told its UUID may have it";
  finish("s");
  lose(std::nullopt);
  EXPECT_TRUE(eventually([&] { return allocated("m-0") == "n:2"; }, 120s)) << whyWaiting("m-0");
}

/// A write of another decision that landed late, and was deleted again, says nothing of the GPU that comes to
/// have its id.
TEST_F(ToldUuids, WhatALateLeaseSaidIsNotWrittenForTheGpuThatMovesThere) {
  world.create(json::Object{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", json::Object{{"name", "gpu-n-2"},
                                {"namespace", "default"},
                                {"labels", json::Object{{"gpu.scheduling/managed", "true"}}},
                                {"annotations", json::Object{{"gpu.scheduling/format", "1"},
                                                             {"gpu.scheduling/node", "n"},
                                                             {"gpu.scheduling/gpu", "2"},
                                                             {"gpu.scheduling/uuid", "GPU-2"},
                                                             {"gpu.scheduling/pod-namespace", "default"},
                                                             {"gpu.scheduling/pod-name", "r"},
                                                             {"gpu.scheduling/pod-uid", uidOf("r")},
                                                             {"gpu.scheduling/reservation", "earlier"},
                                                             {"gpu.scheduling/devices", "n:2"}}}}},
      {"spec", json::Object{{"holderIdentity", uidOf("r")}}}});
  ASSERT_TRUE(eventually([&] { return leases() == 2; }));
  nowThereAre({"GPU-0", "GPU-2", "GPU-1"});
  EXPECT_EQ(holder(2), uidOf("r"));
  EXPECT_EQ(lease(2)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-1");
  world.create(pod("s", "one"));
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:1"; })) << "GPU-2 is nobody's";
  expectRebuilt();
}

/// It may be that of a GPU that went: the id that r was given is held beside what r has.
TEST_F(ToldUuids, AUuidThatSomebodyInventedTakesNothingFromItsPod) {
  const json::Object edit{
      {"metadata", json::Object{{"annotations", json::Object{{"gpu.scheduling/uuid", "X"}}}}}};
  ASSERT_EQ(world.request("PATCH", kLeases + "gpu-n-1", edit, "application/merge-patch+json").code, 200);
  nowThereAre({"GPU-0", "GPU-2", "GPU-1"});
  world.create(pod("s", "one"));
  world.run(60s);
  EXPECT_EQ(nodeOf("s"), "");
  EXPECT_EQ(holder(1), uidOf("r"));
  EXPECT_EQ(holder(2), uidOf("r"));
  EXPECT_EQ(lease(2)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-1");
  expectRebuilt();
  finish("r");
  EXPECT_TRUE(eventually([&] { return allocated("s") == "n:1"; }));
}

/// What it was told is the next best record: the GPU that has the id now is not its.
TEST_F(ToldUuids, AMissingLeaseIsWrittenForTheGpuThatItsPodWasTold) {
  finish("p");
  finish("r");
  ASSERT_TRUE(eventually([&] { return leases() == 0; }, 120s));
  world.run(6s);  // until its agent has seen them end
  world.create(pod("s", "one"));
  ASSERT_TRUE(eventually([&] { return allocated("s") == "n:0"; }));
  world.create(claim("two", 2));
  world.create(pod("w", "two"));
  ASSERT_TRUE(eventually([&] { return allocated("w") == "n:1,2"; })) << allocated("w");
  finish("s");
  ASSERT_TRUE(eventually([&] { return leases() == 2; }, 120s));
  world.crash(0);
  const json::Object edit{
      {"metadata", json::Object{{"annotations", json::Object{{"gpu.scheduling/uuid", "X"}}}}}};
  ASSERT_EQ(world.request("PATCH", kLeases + "gpu-n-1", edit, "application/merge-patch+json").code, 200);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-2").code, 200);
  nowThereAre({"GPU-2", "GPU-1", "GPU-0"});
  world.restart(0);
  ASSERT_TRUE(eventually([&] { return holder(2) == uidOf("w"); }));
  EXPECT_EQ(lease(2)["metadata"]["annotations"]["gpu.scheduling/uuid"].str(), "GPU-2");
  expectRebuilt();
}

/// No lease is written for who has a GPU by its number, and whose id means an Unhealthy one now, once nobody
/// remembers that it had one. The pod that the Unhealthy one is of waits for no such lease.
TEST_F(ToldIds, AMissingLeaseIsWrittenThoughAnotherWhoIsGivenNoneWasToldItsId) {
  world.create(pod("q", "", 1));
  ASSERT_TRUE(eventually([&] { return allocated("q") == "n:2" && running("q"); }));
  world.crash(0);
  auto devices = gpusOf({"GPU-0", "GPU-3", "GPU-1"});
  devices[2].health = model::Health::Unhealthy;
  world.machines().setDevices("n", devices);
  world.touch();
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-2").code, 200);
  world.restart(0);
  EXPECT_TRUE(eventually([&] { return holder(2) == uidOf("r"); }));
  expectRebuilt();
}

// ---- a Binding of the earlier leader is on its way while the GPUs of an adopted decision are renumbered

struct Adopted : OneNode {
  Adopted() : OneNode{{"GPU-0"}} {}
};

TEST_F(Adopted, IsFencedBeforeItIsGivenBackForOtherNumbers) {
  std::optional<json::Value> late;
  bool renumbered = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || call.key.name != "p") { return {}; }
    if (!late) {  // the first leader dies with it on its way
      late = call.body;
      return {sandbox::CallFault::How::LostBefore, 0, {}, false, true};
    }
    if (!std::exchange(renumbered, true)) {
      world.after(10ms, [&] {
        world.machines().setDevices("n", gpusOf({"GPU-9"}));  // replaced; the node came up again
        world.touch();
      });
    }
    return {sandbox::CallFault::How::Refused, 429, {}, false, false};
  });
  world.startReplica();
  ASSERT_TRUE(eventually([&] { return world.leader().has_value(); }));
  world.startReplica();
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return late.has_value(); }));
  world.create(pod("q", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("q").empty() || renumbered; }));
  ASSERT_TRUE(eventually([&] { return !nodeOf("q").empty(); }, 20s));
  EXPECT_EQ(allocated("q"), "n:0");
  const auto answer =
      world.request("POST", "/api/v1/namespaces/default/pods/p/binding", *late);  // it arrives
  EXPECT_EQ(answer.code, 409) << "the pod was fenced";
  EXPECT_TRUE(allocated("p").empty()) << allocated("p");
}

}  // namespace
}  // namespace gs::test
