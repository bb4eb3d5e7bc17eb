// Pods whose claims of volumes are not bound yet, through the whole scheduler (R93): their leases, then what
// is written to volumes and claims, then the wait, then the Binding. Controllers bind and make volumes.
// cut_points_test.cc has its leader die at each of these writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "test/world/volume_objects.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kZoneOfNode = "topology.kubernetes.io/zone";

/// Each node is in a zone of its own.
sandbox::World::Options inZones() {
  sandbox::World::Options options;
  options.controllers = true;
  for (auto& node : options.nodes) { node.labels[kZoneOfNode] = "zone-of-" + node.name.text; }
  return options;
}

class VolumeWorld : public Cluster {
 protected:
  VolumeWorld() : Cluster{inZones()} {
    world.create(claim("one", 1));
    world.create(localClass());
    world.create(storageClass("made"));
    world.create(storageClass("late", json::Object{{"late", "30s"}}));
    world.create(storageClass("nobody", {}, "nobody.example.com"));
  }
  /// A pod of one GPU, and a claim of its own.
  void comes(const std::string& name, const std::string& storage_class) {
    world.create(volumeClaim("data", storage_class));
    comesFor(name, "data");
  }
  void comesFor(const std::string& name, const std::string& volume_claim) {
    world.create(withVolumes(pod(name, "one"), {volume_claim}));
  }
  /// Until its claim was told a node, which is given.
  std::string told() {
    EXPECT_TRUE(eventually([&] { return !selected().empty(); }));
    return selected();
  }
  json::Value dataClaim() { return world.get(kVolumeClaims + "data"); }
  std::string selected() { return std::string{dataClaim()["metadata"]["annotations"][kSelectedNode].str()}; }
  bool runs(const std::string& name) { return !nodeOf(name).empty(); }
  bool isRunning(const std::string& name) { return podObject(name)["status"]["phase"].str() == "Running"; }
  /// As somebody does for whom no provisioner works.
  void makeByHand(const std::string& node) {
    json::Value volume = localVolume("by-hand", node);
    volume.child("spec").set("storageClassName", "nobody");
    volume.child("spec").set("claimRef", json::Object{{"namespace", "default"}, {"name", "data"}});
    world.create(volume);
  }
  /// Of leases, volumes and claims, and Bindings; without the names.
  std::vector<std::string> written() {
    std::vector<std::string> out;
    for (const std::string& write : world.writes()) {
      const bool counts = write.find(" leases ") != std::string::npos ||
                          write.find(" persistentvolume") != std::string::npos ||
                          write.find(" pods/binding ") != std::string::npos;
      if (counts) { out.push_back(write.substr(0, write.rfind(' '))); }
    }
    return out;
  }
  void expectLeaseOn(const std::string& node) {
    const auto held = readTruth(world).leases;
    ASSERT_EQ(held.size(), 1U);
    EXPECT_NE(held.begin()->first.find("gpu-" + node + "-"), std::string::npos) << held.begin()->first;
  }
};

TEST_F(VolumeWorld, AClaimIsToldItsNodeAfterTheLeasesAndBeforeTheBinding) {
  startOne();
  comes("p", "made");
  ASSERT_TRUE(eventually([&] { return runs("p"); })) << whyWaiting("p");
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  EXPECT_EQ(selected(), nodeOf("p"));
  EXPECT_EQ(written(),
            (std::vector<std::string>{"POST leases", "PATCH persistentvolumeclaims", "POST pods/binding"}));
  expectSettled();
}

TEST_F(VolumeWorld, AVolumeThatIsThereIsGivenAfterTheLeasesAndBeforeTheBinding) {
  startOne();
  world.create(localVolume("disk", "node-b"));
  comes("p", "local");
  ASSERT_TRUE(eventually([&] { return runs("p"); })) << whyWaiting("p");
  EXPECT_EQ(dataClaim()["spec"]["volumeName"].str(), "disk");
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  EXPECT_EQ(nodeOf("p"), "node-b");
  EXPECT_EQ(written(),
            (std::vector<std::string>{"POST leases", "PATCH persistentvolumes", "POST pods/binding"}));
  expectSettled();
}

TEST_F(VolumeWorld, TheBindingWaitsUntilTheVolumeIsMade) {
  startOne();
  comes("p", "late");
  (void)told();
  world.run(25s);
  EXPECT_FALSE(runs("p"));
  EXPECT_EQ(leases(), 1U);
  ASSERT_TRUE(eventually([&] { return runs("p"); }, 10s)) << whyWaiting("p");
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  EXPECT_EQ(leases(), 1U);
  expectSettled();
}

TEST_F(VolumeWorld, AfterTenMinutesTheLeasesAreGivenBack) {
  startOne();
  comes("p", "nobody");
  const std::string node = told();
  world.run(595s);
  EXPECT_EQ(leases(), 1U);
  ASSERT_TRUE(eventually([&] { return leases() == 0; }, 10s));
  ASSERT_TRUE(eventually([&] {
    return whyWaiting("p").find("was not bound within 600 s") != std::string::npos;
  })) << whyWaiting("p");
  EXPECT_FALSE(runs("p"));
  EXPECT_EQ(selected(), node) << "what was written stays";
  makeByHand(node);
  ASSERT_TRUE(eventually([&] { return runs("p"); }, 120s)) << whyWaiting("p");
  EXPECT_EQ(nodeOf("p"), node);
  expectSettled();
}

TEST_F(VolumeWorld, WhereTheProvisionerTakesTheNodeBackAnotherOneIsTold) {
  std::vector<std::string> nodes;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.kind == kapi::kPersistentVolumeClaim && call.verb == kapi::Verb::MergePatch) {
      nodes.emplace_back(call.body["metadata"]["annotations"][kSelectedNode].str());
    }
    return {};
  });
  world.create(storageClass("fails", json::Object{{"fails", "1"}, {"late", "1s"}}));
  startOne();
  comes("p", "fails");
  ASSERT_TRUE(eventually([&] { return runs("p"); }, 120s)) << whyWaiting("p");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_NE(nodes[0], nodes[1]);
  EXPECT_EQ(nodeOf("p"), nodes[1]);
  EXPECT_EQ(leases(), 1U) << "what it had on the first node was given back";
  expectSettled();
}

TEST_F(VolumeWorld, WhereTheVolumeIsMadeInAnotherZoneThePodGoesThere) {
  world.create(storageClass("wrong", json::Object{{"zone", "wrong"}}));
  startOne();
  comes("p", "wrong");
  ASSERT_TRUE(eventually([&] { return runs("p"); }, 120s)) << whyWaiting("p");
  EXPECT_NE(nodeOf("p"), selected());
  const json::Value volume = world.get(kVolumes + std::string{dataClaim()["spec"]["volumeName"].str()});
  const json::Value& term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"].at(0);
  EXPECT_EQ(term["matchExpressions"].at(0)["values"].at(0).str(), "zone-of-" + nodeOf("p"));
  expectLeaseOn(nodeOf("p"));
  expectSettled();
}

TEST_F(VolumeWorld, APodThatIsDeletedWhileItWaitsGivesItsLeasesBack) {
  startOne();
  comes("p", "nobody");
  const std::string node = told();
  world.run(20s);
  EXPECT_EQ(leases(), 1U);
  deletePod("p");
  ASSERT_TRUE(eventually([&] { return leases() == 0; }));
  EXPECT_EQ(selected(), node) << "its claim keeps its pods to that node";
  comesFor("next", "data");
  ASSERT_TRUE(eventually([&] { return leases() == 1; })) << whyWaiting("next");
  expectLeaseOn(node);
  makeByHand(node);
  ASSERT_TRUE(eventually([&] { return runs("next"); })) << whyWaiting("next");
  expectSettled();
}

TEST_F(VolumeWorld, AClaimThatIsDeletedMeanwhileIsWaitedForAnew) {
  startOne();
  comes("p", "nobody");
  (void)told();
  ASSERT_EQ(world.request("DELETE", kVolumeClaims + "data").code, 200);
  ASSERT_TRUE(eventually([&] { return leases() == 0; }));
  ASSERT_TRUE(eventually([&] { return whyWaiting("p").find("not found") != std::string::npos; }))
      << whyWaiting("p");
  EXPECT_FALSE(runs("p"));
  ASSERT_TRUE(eventually([&] { return world.request("GET", kVolumeClaims + "data").code == 404; }));
  world.create(volumeClaim("data", "made"));
  ASSERT_TRUE(eventually([&] { return runs("p"); })) << whyWaiting("p");
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  expectSettled();
}

TEST_F(VolumeWorld, TwoPodsOfOneClaimGoToOneNode) {
  startOne();
  comes("p", "late");
  comesFor("q", "data");
  ASSERT_TRUE(eventually([&] { return runs("p") && runs("q"); }, 120s)) << whyWaiting("q");
  EXPECT_EQ(nodeOf("p"), nodeOf("q"));
  expectSettled();
}

TEST_F(VolumeWorld, AClaimForOnePodIsOneAfterTheOthers) {
  startOne();
  world.create(volumeClaim("data", "late", "default", "ReadWriteOncePod"));
  comesFor("p", "data");
  (void)told();
  comesFor("q", "data");
  ASSERT_TRUE(eventually([&] { return isRunning("p") || isRunning("q"); }, 120s)) << whyWaiting("p");
  const std::string first = runs("p") ? "p" : "q";
  const std::string second = runs("p") ? "q" : "p";
  world.run(30s);
  EXPECT_FALSE(runs(second));
  EXPECT_EQ(leases(), 1U);
  finish(first);
  ASSERT_TRUE(eventually([&] { return runs(second); }, 120s)) << whyWaiting(second);
  expectSettled();
}

TEST_F(VolumeWorld, AVolumeThatIsFreeAgainIsForWhoeverWaitedForIt) {
  startOne();
  world.create(localVolume("disk", "node-b"));
  comes("p", "local");
  ASSERT_TRUE(eventually([&] { return isRunning("p"); })) << whyWaiting("p");
  world.create(volumeClaim("next", "local"));
  comesFor("q", "next");
  world.run(20s);
  EXPECT_FALSE(runs("q"));
  EXPECT_EQ(leases(), 1U);
  finish("p");
  ASSERT_TRUE(eventually([&] { return podObject("p")["status"]["phase"].str() == "Succeeded"; }));
  ASSERT_EQ(world.request("DELETE", kVolumeClaims + "data").code, 200);
  ASSERT_TRUE(
      eventually([&] { return world.get(kVolumes + "disk")["status"]["phase"].str() == "Released"; }));
  const json::Object nobody{{"claimRef", json::Value{}}};
  ASSERT_EQ(
      world
          .request("PATCH", kVolumes + "disk", json::Object{{"spec", nobody}}, "application/merge-patch+json")
          .code,
      200);
  ASSERT_TRUE(eventually([&] { return runs("q"); }, 10s)) << whyWaiting("q");
  EXPECT_EQ(world.get(kVolumeClaims + "next")["spec"]["volumeName"].str(), "disk");
  expectSettled();
}

// ---- leaders

TEST_F(VolumeWorld, TheNextLeaderGoesOnWaitingWithTheSameLeases) {
  startOne();
  world.startReplica();
  comes("p", "late");
  const std::string node = told();
  world.run(3s);
  const auto held = readTruth(world).leases;
  EXPECT_EQ(held.size(), 1U);
  world.crash(0);
  ASSERT_TRUE(eventually([&] { return world.scheduler(1).leading(); }));
  world.run(5s);
  EXPECT_FALSE(runs("p"));
  EXPECT_EQ(readTruth(world).leases, held);
  ASSERT_TRUE(eventually([&] { return runs("p"); })) << whyWaiting("p");
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  EXPECT_EQ(nodeOf("p"), node);
  EXPECT_EQ(readTruth(world).leases, held);
  const auto writes = written();
  EXPECT_EQ(std::count(writes.begin(), writes.end(), "PATCH persistentvolumeclaims"), 1);
  expectSettled();
}

// It stands still between its lease and the write of the claim, and goes on when another one leads.
TEST_F(VolumeWorld, ALeaderThatIsNoneAnyMoreWritesToNoVolume) {
  std::set<sandbox::ReplicaId> wrote;
  bool freezes = true;
  world.setJudge([&](sandbox::ReplicaId id, const kapi::Call& call) -> sandbox::CallFault {
    const bool is_of_volumes =
        call.kind == kapi::kPersistentVolumeClaim || call.kind == kapi::kPersistentVolume;
    if (is_of_volumes && !kapi::isRead(call.verb)) { wrote.insert(id); }
    const bool is_lease = call.leader_only && call.kind == kapi::kLease && call.verb == kapi::Verb::Create;
    if (is_lease && std::exchange(freezes, false)) {
      world.after({}, [this, id] { world.freeze(id, true); });
    }
    return {};
  });
  startOne();
  world.startReplica();
  comes("p", "late");
  ASSERT_TRUE(eventually([&] { return world.scheduler(1).leading(); }));
  EXPECT_FALSE(freezes);
  (void)told();
  world.freeze(0, false);
  world.run(20s);
  EXPECT_EQ(wrote, std::set<sandbox::ReplicaId>{1});
  ASSERT_TRUE(eventually([&] { return runs("p"); })) << whyWaiting("p");
  EXPECT_EQ(wrote, std::set<sandbox::ReplicaId>{1});
  EXPECT_TRUE(isBoundClaim(dataClaim()));
  expectSettled();
}

}  // namespace
}  // namespace gs::test
