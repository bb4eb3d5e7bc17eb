// Annotations of a running pod are edited: its leases stand (docs/reference/promises.md).
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

struct Edited : OneNode, ::testing::WithParamInterface<bool> {
  Edited() : OneNode{{"GPU-0", "GPU-1"}, GetParam()} {}
  void SetUp() override {
    startOne();
    world.create(claim("one", 1));
    world.create(pod("p", "one"));
    ASSERT_TRUE(eventually([&] { return running("p"); }));
    ASSERT_EQ(allocated("p"), "n:0");
  }
  void annotate(const std::string& name, json::Object what) {
    ASSERT_EQ(world
                  .request("PATCH", "/api/v1/namespaces/default/pods/" + name,
                           json::Object{{"metadata", json::Object{{"annotations", std::move(what)}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  [[nodiscard]] static json::Value withoutIdentity(json::Value object) {
    for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
      object.child("metadata").erase(key);
    }
    return object;
  }
  /// A second lease of the pod that has the lease of `from`: of `to`, as of its own decision.
  void copyLease(int from, int to, const std::string& reservation) {
    json::Value copy = withoutIdentity(lease(from));
    json::Value& meta = copy.child("metadata");
    meta.set("name", fmt::format("gpu-n-{}", to));
    meta.child("annotations").set("gpu.scheduling/gpu", std::to_string(to));
    meta.child("annotations").set("gpu.scheduling/uuid", fmt::format("GPU-{}", to));
    meta.child("annotations").set("gpu.scheduling/devices", fmt::format("n:{}", to));
    meta.child("annotations").set("gpu.scheduling/reservation", reservation);
    world.create(copy);
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

/// An agent need not see all that a pod has: a GPU that was away is listed again before who uses it.
struct EditedToFewer : OneNode {
  EditedToFewer() : OneNode{{"GPU-0", "GPU-1"}, false} {}
  void agentSees(int id, const std::string& uid) {
    const std::string path = "/apis/gpu.scheduling/v1/gpunodestatuses/n";
    json::Value status = world.get(path);
    status.child("status")
        .child("devices")
        .array()
        .at(static_cast<std::size_t>(id))
        .set("inUseBy", json::Array{uid});
    ASSERT_EQ(world.request("PUT", path + "/status", status).code, 200);
  }
};

TEST_F(EditedToFewer, ThoseThatItsAgentSeesAreNotAllThatItHas) {
  startOne();
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  ASSERT_TRUE(eventually([&] { return running("p"); }));
  agentSees(0, uidOf("p"));
  world.run(2s);
  ASSERT_EQ(world
                .request("PATCH", "/api/v1/namespaces/default/pods/p",
                         json::Object{{"metadata",
                                       json::Object{{"annotations",
                                                     json::Object{{"gpu.scheduling/allocated", "n:0"},
                                                                  {"gpu.scheduling/reservation", "mine"}}}}}},
                         "application/merge-patch+json")
                .code,
            200);
  world.run(40s);
  EXPECT_EQ(holder(0), uidOf("p"));
  EXPECT_EQ(holder(1), uidOf("p"));
}

/// Of three GPUs one is Unhealthy. p came past the scheduler and has some GPU by its number.
struct EditedOfACount : Edited {
  void SetUp() override {
    std::vector<model::Device> devices = gpusOf({"GPU-0", "GPU-1", "GPU-2"});
    devices[2].health = model::Health::Unhealthy;
    world.machines().setDevices("n", devices);
    world.touch();
    startOne();
    world.create(claim("one", 1));
    json::Value p = pod("p", "", 1);
    p.child("spec").set("nodeName", "n");
    world.create(p);
    ASSERT_TRUE(eventually([&] { return running("p"); }));
    world.run(6s);  // its agent looks every five
  }
  [[nodiscard]] std::int64_t free() {
    return world.scheduler(0).engine().ledger().find(model::NodeName{"n"})->free_devices;
  }
};

TEST_P(EditedOfACount, ToWhatCouldNotBeGivenItHasNoLeaseAndFreesNothing) {
  ASSERT_EQ(free(), 1);
  for (const int id : {2, 7}) {
    annotate("p", {{"gpu.scheduling/allocated", fmt::format("n:{}", id)}});
    world.run(70s);
    EXPECT_NE(lease(id)["kind"].str(), "Lease") << id;
    EXPECT_EQ(free(), 1) << id;
  }
  for (const char* name : {"q", "r"}) { world.create(pod(name, "one")); }
  world.run(10s);
  EXPECT_EQ(leases(), 1U) << "one of two";
}
INSTANTIATE_TEST_SUITE_P(Agents, EditedOfACount, ::testing::Bool());

/// The kubelet does not count what a claim's pod has.
TEST_P(Edited, ALeaseOfAGpuThatIsListedNoMoreIsWrittenAgain) {
  world.create(pod("q", "one"));
  ASSERT_TRUE(eventually([&] { return running("q"); }));
  ASSERT_EQ(allocated("q"), "n:1");
  world.machines().setDevices("n", gpusOf({"GPU-0"}));
  world.touch();
  world.run(2s);
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-1").code, 200);
  EXPECT_TRUE(eventually([&] { return holder(1) == uidOf("q"); }));
}

/// Two lead for a moment: what the other one decided for the pod lands late,
/// and its annotations are all taken away.
TEST_P(Edited, AllTakenAwayTheLeasesFromBeforeItsBindingStand) {
  world.create(pod("q", "one"));
  ASSERT_TRUE(eventually([&] { return running("q"); }));
  ASSERT_EQ(allocated("q"), "n:1");
  finish("p");
  ASSERT_TRUE(eventually([&] { return leases() == 1; }, 3min));
  annotate("q", {{"gpu.scheduling/allocated", nullptr},
                 {"gpu.scheduling/visible-devices", nullptr},
                 {"gpu.scheduling/reservation", nullptr}});
  copyLease(1, 0, "late");
  EXPECT_TRUE(eventually([&] { return lease(0)["kind"].str() != "Lease"; }));
  EXPECT_EQ(holder(1), uidOf("q"));
}

/// A new leader does not know the pod's own lease yet, and believes another that is as old as the Binding.
TEST_P(Edited, LeasesThatAreDoubtedAreNotMadeItsOwnAtOnce) {
  world.crash(0);
  const json::Value own = withoutIdentity(lease(0));
  copyLease(0, 1, "another-decision");
  ASSERT_EQ(world.request("DELETE", kLeases + "gpu-n-0").code, 200);
  startOne();
  world.run(8s);
  if (lease(0)["kind"].str() != "Lease") {
    world.create(own);
  }  // an agent sees what the pod has, and who leads writes it
  EXPECT_TRUE(eventually([&] { return lease(1)["kind"].str() != "Lease"; }));
  EXPECT_EQ(holder(0), uidOf("p"));
}

/// Its GPU is renumbered first: p, told "0", has what is called 1 now.
struct RenumberedAndEdited : Edited {
  void SetUp() override {
    startOne();
    world.create(claim("one", 1, {{"exclusivity", "Shared"}}));
    world.create(pod("p", "one"));
    ASSERT_TRUE(eventually([&] { return running("p"); }));
    world.machines().setDevices("n", gpusOf({"GPU-1", "GPU-0"}));
    world.touch();
    ASSERT_TRUE(eventually([&] { return names(1, "p"); }));
    world.run(40s);
  }
  /// Its lease, of which it is the only sharer.
  [[nodiscard]] bool names(int id, const std::string& pod) {
    const auto holders = std::string{lease(id)["metadata"]["annotations"]["gpu.scheduling/holders"].str()};
    return holders.find(uidOf(pod)) != std::string::npos;
  }
};

TEST_P(RenumberedAndEdited, AnotherReservationMovesNoLease) {
  annotate("p", {{"gpu.scheduling/reservation", "mine"}});
  EXPECT_FALSE(eventually([&] { return !names(1, "p"); }, 40s));
}

TEST_P(RenumberedAndEdited, NoReservationMovesNoLease) {
  annotate("p", {{"gpu.scheduling/reservation", nullptr}});
  EXPECT_FALSE(eventually([&] { return !names(1, "p"); }, 40s));
}
INSTANTIATE_TEST_SUITE_P(Agents, RenumberedAndEdited, ::testing::Bool());

}  // namespace
}  // namespace gs::test
