// What an attack by hand showed, and what holds now.
#include <unistd.h>

#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

model::Device gpuOf(int id, const std::string& uuid) {
  model::Device d;
  d.id = id;
  d.uuid = uuid;
  d.health = model::Health::Healthy;
  d.island = "0";
  d.bandwidth_gbps = 300;
  return d;
}

std::vector<model::Device> gpusOf(const std::vector<std::string>& uuids) {
  std::vector<model::Device> out;
  for (const auto& uuid : uuids) { out.push_back(gpuOf(static_cast<int>(out.size()), uuid)); }
  return out;
}

sandbox::World::Options oneNode(const std::vector<std::string>& uuids, bool agents = true) {
  sandbox::World::Options o;
  kapi::SimNode n;
  n.name = model::NodeName{"n"};
  n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  n.devices = gpusOf(uuids);
  o.nodes = {n};
  o.agents = agents;
  return o;
}

constexpr const char* kDefaultPods = "/api/v1/namespaces/default/pods/";
constexpr const char* kFirstLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/gpu-n-";

class Attack : public Cluster {
 protected:
  explicit Attack(sandbox::World::Options o) : Cluster{std::move(o)} {}
  std::string holder(int id) {
    return std::string{world.get(kFirstLeases + std::to_string(id))["spec"]["holderIdentity"].str()};
  }
  std::string uidOf(const std::string& name) { return std::string{podObject(name)["metadata"]["uid"].str()}; }
  bool running(const std::string& name) { return podObject(name)["status"]["phase"].str() == "Running"; }
  void annotate(const std::string& name, json::Object what) {
    ASSERT_EQ(world
                  .request("PATCH", kDefaultPods + name,
                           json::Object{{"metadata", json::Object{{"annotations", std::move(what)}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  /// Bound, unfinished pods that name id 0 of the node.
  int havingFirst() {
    int n = 0;
    for (const char* name : {"p", "q", "r", "s"}) { n += allocated(name) == "n:0" ? 1 : 0; }
    return n;
  }
};

// ---- a Binding of the earlier leader is on its way while the GPUs of an adopted decision are renumbered

struct Adopted : Attack {
  Adopted() : Attack{oneNode({"GPU-0"})} {}
};

TEST_F(Adopted, IsFencedBeforeItIsGivenBackForOtherNumbers) {
  std::optional<json::Value> late;
  bool renumbered = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFate {
    if (call.subresource != "binding" || call.key.name != "p") { return {}; }
    if (!late) {  // the first leader dies with it on its way
      late = call.body;
      return {sandbox::CallFate::How::LostBefore, 0, {}, false, true};
    }
    if (!std::exchange(renumbered, true)) {
      world.after(10ms, [&] {
        world.agents().setDevices("n", gpusOf({"GPU-9"}));  // replaced; the node came up again
        world.touch();
      });
    }
    return {sandbox::CallFate::How::Refused, 429, {}, false, false};
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
  const auto answer = world.request("POST", std::string{kDefaultPods} + "p/binding", *late);  // it arrives
  EXPECT_EQ(answer.code, 409) << "the pod was fenced";
  EXPECT_EQ(havingFirst(), 1) << allocated("p") << " " << allocated("q");
}

// ---- annotations of a running pod are edited: "its leases stand" (docs/promises.md)

struct Edited : Attack, ::testing::WithParamInterface<bool> {
  Edited() : Attack{oneNode({"GPU-0", "GPU-1"}, GetParam())} {}
  void SetUp() override {
    startOne();
    world.create(claim("one", 1));
    world.create(pod("p", "one"));
    ASSERT_TRUE(eventually([&] { return running("p"); }));
    ASSERT_EQ(allocated("p"), "n:0");
  }
  void expectStands() {
    world.run(40s);
    EXPECT_EQ(holder(0), uidOf("p"));
    world.create(pod("q", "one"));
    world.create(pod("r", "one"));
    world.run(60s);
    EXPECT_NE(allocated("q"), "n:0") << "p's container has it";
    EXPECT_NE(allocated("r"), "n:0");
  }
};

TEST_P(Edited, VisibleDevicesMoveNoLease) {
  annotate("p", {{"gpu.scheduling/visible-devices", "GPU-1"}});
  expectStands();
}

TEST_P(Edited, AllocatedAndReservationTogetherMoveNoLease) {
  annotate("p", {{"gpu.scheduling/allocated", "n:1"}, {"gpu.scheduling/reservation", "mine"}});
  expectStands();
}
INSTANTIATE_TEST_SUITE_P(Agents, Edited, ::testing::Bool());

// ---- a cluster without GpuNodeStatus: the kubelet's device plugin alone

/// No CRDs, or a role that may not list the statuses.
struct NoStatuses : Cluster, ::testing::WithParamInterface<bool> {
  static sandbox::World::Options options() {
    sandbox::World::Options o;
    o.crds = GetParam();
    o.agents = false;
    return o;
  }
  NoStatuses() : Cluster{options()} {}
};

TEST_P(NoStatuses, AForceDeletedGpuPodCausesNoCallsForEver) {
  int lists = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFate {
    if (call.kind != model::Kind::GpuNodeStatus) { return {}; }
    lists += kapi::tokenOwner(call.token) == 0 ? 1 : 0;  // neither the watch's nor the barrier's
    return {.how = GetParam() ? sandbox::CallFate::How::Refused : sandbox::CallFate{}.how, .http = 403};
  });
  world.startReplica();
  world.run(5s);
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "node-a");
  world.create(theirs);
  world.run(5s);
  deletePod("theirs", true);
  world.run(60s);
  lists = 0;
  world.run(60s);
  EXPECT_LE(lists, GetParam() ? 12 : 0);
}
INSTANTIATE_TEST_SUITE_P(Forbidden, NoStatuses, ::testing::Bool());

// ---- a webhook that is down means a few pods only, and others of their namespace do not match it

struct OneNamespace : Cluster {
  OneNamespace() { startOne(); }
};

TEST_F(OneNamespace, PodsThatCannotBeWrittenDoNotKeepOthersOfTheirNamespaceWaiting) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFate {
    const bool write = call.guarded && call.kind == model::Kind::Pod && call.key.name.starts_with("bad");
    if (!write) { return {}; }
    return {sandbox::CallFate::How::Refused, 500, {}, false, false};
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 6; ++i) { world.create(pod("bad" + std::to_string(i), "one")); }
  world.run(10s);
  world.create(pod("good", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 120s)) << "12 GPUs, 8 of them free";
}

// ---- one pod's webhook answers 429 and "in an hour"

struct OneGpu : Attack {
  OneGpu() : Attack{oneNode({"GPU-0"})} {}
};

TEST_F(OneGpu, IsOthersWhileAPodWaitsForAnHour) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFate {
    if (call.subresource != "binding" || call.key.name != "bad") { return {}; }
    return {.how = sandbox::CallFate::How::Refused, .http = 429, .retry_after = 1h};
  });
  startOne();
  world.create(claim("one", 1));
  world.create(pod("bad", "one"));
  world.run(5s);
  world.create(pod("good", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 5min));
}

// ---- one kind may not be listed (a role that lacks it) for more than five minutes, and a GPU pod ends meanwhile

struct Unlisted : Attack {
  Unlisted() : Attack{oneNode({"GPU-0"}, false)} {}
};

TEST_F(Unlisted, TheDecidingThreadGoesOn) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFate {
    if (call.kind != model::Kind::GpuClaim) { return {}; }
    return {.how = sandbox::CallFate::How::Refused, .http = 403};
  });
  world.startReplica();
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "n");
  world.create(theirs);
  world.run(5s);
  deletePod("theirs");
  EXPECT_EXIT(
      {
        alarm(10);
        world.run(6min);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gs::test
