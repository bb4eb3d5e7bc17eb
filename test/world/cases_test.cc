// Cases that broke other schedulers, by what they are about; docs/reference/promises.md says which test shows
// which.
#include <fmt/format.h>
#include <malloc.h>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

kapi::SimNode gpuNode(const std::string& name, int gpus) {
  kapi::SimNode node;
  node.name = model::NodeName{name};
  node.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "250"}};
  for (int id = 0; id < gpus; ++id) {
    model::Device d;
    d.id = id;
    d.uuid = fmt::format("GPU-{}-{}", name, id);
    d.health = model::Health::Healthy;
    d.island = "0";
    node.devices.push_back(std::move(d));
  }
  return node;
}

sandbox::World::Options nodesOf8(int count) {
  sandbox::World::Options options;
  options.nodes.clear();
  for (int i = 0; i < count; ++i) { options.nodes.push_back(gpuNode(fmt::format("n{}", i), 8)); }
  return options;
}

// ---- many at once

class Halves : public ::testing::TestWithParam<std::tuple<int, int, std::size_t>> {};

/// Two may share a GPU: so many pods at once on so many nodes of 8 GPUs.
TEST_P(Halves, ThatComeTogetherFillEachGpuToItsLimitAndNoFurther) {
  const auto [nodes, pods, placed] = GetParam();
  sandbox::World world{nodesOf8(nodes)};
  scheduler::Config config;
  config.max_sharers = 2;
  world.create(claim("half", 1, Object{{"exclusivity", "Shared"}}));
  for (int i = 0; i < pods; ++i) { world.create(pod(fmt::format("p{}", i), "half")); }
  world.startReplica(config);
  ASSERT_TRUE(world.runUntil([&, &all = placed] { return readTruth(world).bound.size() == all; }, 120s));
  world.run(10s);
  const Truth truth = readTruth(world);
  EXPECT_EQ(truth.bound.size(), placed);
  EXPECT_EQ(truth.waiting.size(), static_cast<std::size_t>(pods) - placed);
  std::size_t full = 0;
  for (const auto& [device, users] : truth.devices) {
    EXPECT_LE(users.size(), 2U) << device;
    full += users.size() == 2 ? 1 : 0;
  }
  EXPECT_EQ(full, placed / 2) << "exactly two a GPU";
}
INSTANTIATE_TEST_SUITE_P(Cases, Halves,
                         ::testing::Values(std::tuple{1, 16, 16U}, std::tuple{4, 64, 64U},
                                           std::tuple{4, 256, 64U}));

// ---- leaders

class Leaders : public Cluster {
 protected:
  void leadBy(sandbox::ReplicaId id) {
    ASSERT_TRUE(eventually([&] { return world.scheduler(id).leading(); }));
  }
};

TEST_F(Leaders, FromAToBToAGiveNothingTwice) {
  world.create(claim("one", 1));
  world.startReplica();
  leadBy(0);
  world.startReplica();
  int pods = 0;
  const auto come = [&](int count) {
    for (int i = 0; i < count; ++i) { world.create(pod(fmt::format("p{}", pods++), "one")); }
  };
  bool freezes = false;  // whoever sends the next Binding; it lands when the other one leads
  world.setJudge([&](sandbox::ReplicaId id, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || !std::exchange(freezes, false)) { return {}; }
    world.after({}, [&world = world, id] { world.freeze(id, true); });
    return {sandbox::CallFault::How::Late, 0, 7s, false, false};
  });
  for (const int frozen : {0, 1, 0}) {
    freezes = true;
    come(3);
    leadBy(1 - frozen);
    come(1);
    world.run(3s);
    EXPECT_FALSE(freezes);
    world.freeze(frozen, false);
    world.run(1s);
    EXPECT_EQ(readTruth(world).problems, std::vector<std::string>{});
  }
  come(4);
  EXPECT_TRUE(eventually([&] { return readTruth(world).bound.size() == 12; }));
  expectSettled();
  EXPECT_EQ(readTruth(world).waiting.size(), 4U) << "12 GPUs for 16 pods";
}

/// Which list it has to do without.
class HalfACache : public Leaders, public ::testing::WithParamInterface<kapi::Kind> {};

TEST_P(HalfACache, BindsNothing) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  world.create(pod("ordinary", ""));
  bool failing = true;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    const bool list = call.verb == kapi::Verb::List && call.kind == GetParam();
    if (failing && list) { return {sandbox::CallFault::How::Refused, 500, {}, false, false}; }
    return {};
  });
  world.startReplica();
  world.run(60s);
  EXPECT_EQ(nodeOf("p") + nodeOf("ordinary"), "");
  EXPECT_EQ(leases(), 0U);
  failing = false;
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty() && !nodeOf("ordinary").empty(); }));
}
INSTANTIATE_TEST_SUITE_P(Cases, HalfACache,
                         ::testing::Values(kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus,
                                           kapi::kLease),
                         [](const auto& info) { return std::string{info.param->name}; });

// ---- others on our nodes

class OneLeader : public Cluster {
 protected:
  explicit OneLeader(sandbox::World::Options options = {}) : Cluster{std::move(options)} { startOne(); }
};

sandbox::World::Options withAgents(bool agents) {
  sandbox::World::Options options;
  options.agents = agents;
  return options;
}

/// Agents see which GPUs such a pod uses; without them it is only counted.
class ForeignPods : public OneLeader, public ::testing::WithParamInterface<bool> {
 protected:
  ForeignPods() : OneLeader{withAgents(GetParam())} {}
};

TEST_P(ForeignPods, AreCounted) {
  Value theirs = pod("theirs", "", 3);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "node-a");
  world.create(theirs);
  world.run(5s);
  world.create(claim("two", 2, Object{}));
  Value two = pod("two", "two");
  two.child("spec").set("nodeSelector", Object{{"kubernetes.io/hostname", "node-a"}});
  Value one = pod("one", "", 1);
  one.child("spec").set("nodeSelector", Object{{"kubernetes.io/hostname", "node-a"}});
  world.create(two);
  world.run(10s);
  EXPECT_EQ(nodeOf("two"), "") << "one GPU is left";
  world.create(one);
  EXPECT_TRUE(eventually([&] { return nodeOf("one") == "node-a"; }));
  finish("theirs");
  EXPECT_TRUE(eventually([&] { return nodeOf("two") == "node-a"; }));
  expectSettled();
}
INSTANTIATE_TEST_SUITE_P(Cases, ForeignPods, ::testing::Bool());

// ---- leases that change under a placement

class Leased : public Cluster {
 protected:
  static constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

  [[nodiscard]] std::set<std::string> leaseNames() {
    std::set<std::string> names;
    for (const auto& [name, holder] : readTruth(world).leases) {
      names.insert(name.substr(name.find('/') + 1));
    }
    return names;
  }
  void deleteLease(const std::string& name) {
    ASSERT_EQ(world.request("DELETE", std::string{kLeases} + "/" + name).code, 200);
  }
  /// As a leader writes the first of two: GPUs 0 and 1 of node-a for pod p. Over what is there.
  void writeFirstLease(const std::string& reservation) { writeLease(0, reservation); }
  void writeLease(int gpu, const std::string& reservation) {
    model::Lease lease;
    lease.key = {"default", model::leaseName(model::NodeName{"node-a"}, gpu)};
    lease.node = model::NodeName{"node-a"};
    lease.gpu = gpu;
    lease.pod = {"default", "p"};
    lease.pod_uid = model::Uid{podObject("p")["metadata"]["uid"].str()};
    lease.holder = lease.pod_uid.text;
    lease.reservation = model::ReservationId{reservation};
    lease.devices = "node-a:0,1";
    const std::string path = std::string{kLeases} + "/" + lease.key.name;
    const Value there = world.get(path);
    if (there["kind"].str() != "Lease") {
      ASSERT_EQ(world.request("POST", kLeases, kapi::createLease(lease).body).code, 201);
      return;
    }
    lease.uid = model::Uid{there["metadata"]["uid"].str()};
    lease.revision = kapi::objectRevision(there);
    ASSERT_EQ(world.request("PUT", path, kapi::updateLease(lease).body).code, 200);
  }
  [[nodiscard]] std::string fence() {
    return std::string{podObject("p")["metadata"]["annotations"]["gpu.scheduling/fence"].str()};
  }
};

/// Another leader, who does not know yet that it is none, decides anew after our fence:
/// its Binding would land.
TEST_F(Leased, LeasesFromAfterAFenceAreNotDeletedByIt) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  writeFirstLease("r1");
  std::string fence_before;
  int deletes = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.verb != kapi::Verb::Delete || call.kind != kapi::kLease) { return {}; }
    if (++deletes > 1) {
      EXPECT_NE(fence(), fence_before) << "a lease from after the fence is deleted";
      return {};
    }
    fence_before = fence();
    writeFirstLease("r2");
    return {sandbox::CallFault::How::Refused, 500, {}, false, false};
  });
  startOne();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_FALSE(fence_before.empty());
  EXPECT_GE(deletes, 2);
  expectSettled();
}

/// It fenced the pod and decided on that, which whoever adopts its leases may not have heard yet.
TEST_F(Leased, AdoptedOnesAreNotGivenBackForAFenceOfWhoDecidedOnIt) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  writeLease(0, "r1");
  writeLease(1, "r1");
  bool fenced = false;
  int deletes = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.kind != kapi::kLease) { return {}; }
    if (call.verb == kapi::Verb::Update && call.key.name.starts_with("gpu-") &&
        !std::exchange(fenced, true)) {
      const Object theirs{{"metadata", Object{{"annotations", Object{{"gpu.scheduling/fence", "theirs"}}}}}};
      const auto answer = world.request("PATCH", "/api/v1/namespaces/default/pods/p/status", theirs,
                                        "application/merge-patch+json");
      EXPECT_EQ(answer.code, 200);
    }
    if (call.verb == kapi::Verb::Delete) {
      ++deletes;
      EXPECT_NE(fence(), "theirs") << "its Binding may be on its way";
    }
    return {};
  });
  startOne();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(deletes, 2);
  expectSettled();
}

/// It may be that leader who bound it, and its annotations were taken away since.
TEST_F(Leased, AdoptedOnesStayWhenThePodIsBoundWithoutNames) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  writeLease(0, "r1");
  writeLease(1, "r1");
  bool bound = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || std::exchange(bound, true)) { return {}; }
    const Object target{{"kind", "Node"}, {"name", "node-a"}};
    const Value binding = Object{{"metadata", Object{{"name", "p"}}}, {"target", target}};
    EXPECT_EQ(world.request("POST", "/api/v1/namespaces/default/pods/p/binding", binding).code, 201);
    return {};
  });
  startOne();
  EXPECT_TRUE(eventually([&] { return nodeOf("p") == "node-a"; }));
  world.run(60s);
  EXPECT_EQ(leases(), 2U);
}

TEST_F(Leased, WhoHadLeasesOfAnEarlierLeaderIsPlacedAsSoonAsTheyAreGone) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  writeFirstLease("r1");
  startOne();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 2s));
}

/// Somebody deletes them while the fence is on its way: then none is left to be given back.
TEST_F(Leased, SoIsOneWhoseLeasesGoBeforeItsFenceIsAnswered) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  writeFirstLease("r1");
  bool deleted = false;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    const bool fences = call.kind == kapi::kPod && call.body["metadata"]["annotations"].isObject();
    if (fences && !std::exchange(deleted, true)) { deleteLease("gpu-node-a-0"); }
    return {};
  });
  startOne();
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }, 2s));
  EXPECT_TRUE(deleted);
}

TEST_F(Leased, ALeaseThatWentBeforeTheBindingIsTakenAgain) {
  world.create(claim("two", 2));
  int leases_written = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource == "binding") {
      EXPECT_EQ(leaseNames().size(), 2U) << "a Binding without its leases";
    }
    const bool gpu_lease = call.verb == kapi::Verb::Create && call.body["metadata"]["labels"].isObject();
    if (!gpu_lease || call.kind != kapi::kLease || ++leases_written != 2) { return {}; }
    // The first one is there; while the second one waits, somebody deletes it.
    world.after(50ms, [&] { deleteLease(*leaseNames().begin()); });
    return {sandbox::CallFault::How::Refused, 429, {}, false, false};
  });
  startOne();
  world.create(pod("p", "two"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_GE(leases_written, 4);
  expectSettled();
}

TEST_F(Leased, ALeaseThatWentWhileTheServerWasBusyIsTakenAgain) {
  world.create(claim("two", 2));
  int bindings = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding") { return {}; }
    EXPECT_EQ(leaseNames().size(), 2U) << "a Binding without its leases";
    if (++bindings > 1) { return {}; }
    world.after(50ms, [&] { deleteLease(*leaseNames().begin()); });
    return {sandbox::CallFault::How::Refused, 429, {}, false, false};
  });
  startOne();
  world.create(pod("p", "two"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  EXPECT_EQ(bindings, 2);
  expectSettled();
}

// ---- names

TEST_F(OneLeader, KeepsPodsApartWhoseNamesBeginAlike) {
  world.create(claim("one", 1));
  world.create(claim("one-2", 2));
  for (const char* name : {"p", "p-1", "p-1-0"}) { world.create(pod(name, "one")); }
  world.create(pod("p-10", "one-2"));
  ASSERT_TRUE(eventually([&] { return readTruth(world).waiting.empty(); }));
  EXPECT_EQ(leases(), 5U);
  finish("p-1");
  EXPECT_TRUE(eventually([&] { return leases() == 4; }));
  world.run(40s);
  EXPECT_EQ(leases(), 4U);
  EXPECT_EQ(claimStatus("one")["allocationsTotal"].intOr(0), 2);
  EXPECT_EQ(claimStatus("one-2")["allocationsTotal"].intOr(0), 1);
  EXPECT_EQ(readTruth(world).problems, std::vector<std::string>{});
}

TEST_F(OneLeader, APodCreatedAgainWithTheSameNameIsAnotherPod) {
  world.create(claim("one", 1));
  std::set<std::string> uids;
  for (int round = 0; round < 5; ++round) {
    world.create(pod("again", "one"));
    ASSERT_TRUE(eventually([&] { return !nodeOf("again").empty(); }));
    uids.insert(std::string{podObject("again")["metadata"]["uid"].str()});
    deletePod("again", true);
  }
  world.create(pod("again", "one"));
  uids.insert(std::string{podObject("again")["metadata"]["uid"].str()});
  EXPECT_EQ(uids.size(), 6U);
  EXPECT_TRUE(eventually([&] { return !nodeOf("again").empty(); }));
  world.run(150s);
  EXPECT_EQ(leases(), 1U);
  EXPECT_EQ(readTruth(world).problems, std::vector<std::string>{});
  EXPECT_EQ(readTruth(world).unsettled, std::vector<std::string>{});
}

// ---- fairness

TEST_F(OneLeader, APodWhoseBindIsAlwaysRefusedStarvesNobody) {
  world.setJudge([](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || !call.key.name.starts_with("poison")) { return {}; }
    return {sandbox::CallFault::How::Refused, 403, {}, false, false};
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 12; ++i) {
    world.create(pod(fmt::format("poison-{}", i), "one"));
  }  // as many as there are GPUs
  world.run(10s);
  for (int i = 0; i < 6; ++i) { world.create(pod(fmt::format("p{}", i), "one")); }
  EXPECT_TRUE(eventually([&] { return readTruth(world).bound.size() == 6; }));
}

// ---- a long day

/// Bytes that are allocated and not freed; 0 under a sanitizer, which has an allocator of its own.
std::size_t liveBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class LongDay : public Cluster {
 protected:
  LongDay() : Cluster{{.records = false}} { startOne(); }

  /// A quarter of an hour: pods with much in their environment come, run and end.
  void quarter() {
    for (int i = 0; i < 60; ++i) {
      const std::string name = fmt::format("d{}", number_++);
      Value object = pod(name, i % 3 == 0 ? "shared" : "one");
      object.child("spec")
          .child("containers")
          .array()[0]
          .set("env", json::Array{Value{Object{{"name", "BIG"}, {"value", std::string(8'000, 'x')}}}});
      world.create(object);
      world.run(10s);
      finish(name);
      world.run(5s);
      deletePod(name);
    }
    world.run(150s);
    world.compact();
  }

 private:
  int number_ = 0;
};

TEST_F(LongDay, OfChurnWithLargeEnvironmentsLeavesMemoryFlat) {
  world.create(claim("one", 1));
  world.create(claim("shared", 1, Object{{"exclusivity", "Shared"}}));
  for (int i = 0; i < 5; ++i) { quarter(); }  // events are kept for an hour
  const std::size_t before = liveBytes();
  for (int i = 0; i < 6; ++i) { quarter(); }
  const std::size_t after = liveBytes();
  EXPECT_EQ(leases(), 0U);
  // What may stay are the uids that are known to be gone, at most 131,072 of a kind (engine/cache.h); an
  // environment is 8,000 bytes.
  EXPECT_LE(after, before + 360 * std::size_t{500}) << "360 pods later";
}

}  // namespace
}  // namespace gs::test
