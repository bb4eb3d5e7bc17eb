#include "engine/lease_memory.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using testing::PodBuilder;

const model::NodeName kMemoryNode{"node-a"};

/// A cache, and what is told of its changes, as the engine does it.
struct Remembers {
  void pod(const PodBuilder& pod) { cache.putPod(pod.make()); }
  void ends(const PodBuilder& pod) {
    cache.putPod(pod.make());
    memory.ended(pod.value().uid);
  }
  void comes(const model::Lease& lease) {
    cache.putLease(std::make_shared<const model::Lease>(lease));
    for (const auto& uid : lease.uids()) { memory.stands(uid, lease); }
  }
  void goes(const model::Lease& lease) {
    const auto before = cache.removeLease(lease.key, lease.uid, lease.revision + 1);
    ASSERT_NE(before, nullptr);
    memory.went(before);
  }
  [[nodiscard]] std::string uuid(int gpu, const char* pod = "uid-p") const {
    return memory.givenUuid(model::Uid{pod}, kMemoryNode, gpu);
  }
  [[nodiscard]] bool was(int gpu, const char* pod = "uid-p") const {
    return memory.wasLeased(model::Uid{pod}, kMemoryNode, gpu);
  }
  [[nodiscard]] std::optional<bool> shares() const { return memory.shares(model::Uid{"uid-p"}); }

  Cache cache;
  LeaseMemory memory{cache};
};

/// Of pod p, for that GPU, by that decision.
model::Lease leaseOfP(int gpu, const char* decision = "r1", model::Revision revision = 5) {
  model::Lease lease = testing::makeLease("node-a", gpu, PodBuilder("p").value(), decision, "");
  lease.uuid = "GPU-" + std::to_string(gpu);
  lease.revision = revision;
  return lease;
}

model::Lease sharedBy(model::Lease lease, const std::vector<std::pair<const char*, const char*>>& sharers) {
  lease.holder = "shared";
  lease.pod_uid = {};
  for (const auto& [name, decision] : sharers) {
    const model::Pod pod = PodBuilder(name).value();
    lease.holders.push_back({pod.uid, pod.key, 0, 0, model::ReservationId{decision}, ""});
  }
  return lease;
}

TEST(LeaseMemory, ALeaseIsForTheDeviceThatItNamesElseForTheOneUnderWhoseNameItWasFound) {
  Remembers r;
  const LeaseMemory::Device found{kMemoryNode, 3};
  model::Lease lease = leaseOfP(1);
  model::Lease no_node = lease;
  no_node.node = {};
  model::Lease no_gpu = lease;
  no_gpu.gpu = -1;
  EXPECT_EQ(r.memory.deviceOf(no_node), std::nullopt);
  EXPECT_EQ(r.memory.deviceOf(no_gpu), std::nullopt);
  r.memory.place(lease.key, found);
  EXPECT_EQ(r.memory.deviceOf(no_node), found);
  EXPECT_EQ(r.memory.deviceOf(no_gpu), found);
  EXPECT_EQ(r.memory.deviceOf(lease), (LeaseMemory::Device{kMemoryNode, 1}));
  EXPECT_EQ(r.memory.deviceOf(leaseOfP(2)), (LeaseMemory::Device{kMemoryNode, 2}));
}

/// Another one of that name may be for another device, or for none.
TEST(LeaseMemory, WhereALeaseWasFoundIsForgottenOnceItGoes) {
  Remembers r;
  model::Lease old = leaseOfP(1);
  old.node = {};
  old.gpu = -1;
  old.uuid = "";
  r.comes(old);
  r.memory.place(old.key, {kMemoryNode, 1});
  r.goes(old);
  EXPECT_EQ(r.memory.deviceOf(old), std::nullopt);
}

TEST(LeaseMemory, APodSharesAsItsLastLeaseSaidUntilItEnds) {
  Remembers r;
  r.pod(PodBuilder("p").on("node-a"));
  EXPECT_EQ(r.shares(), std::nullopt);
  r.comes(leaseOfP(0));
  EXPECT_EQ(r.shares(), false);
  const model::Lease shared = sharedBy(leaseOfP(0, "r1", 6), {{"p", "r1"}});
  r.comes(shared);
  EXPECT_EQ(r.shares(), true);
  r.goes(shared);
  EXPECT_EQ(r.shares(), true);
  r.ends(PodBuilder("p").revision(9).on("node-a").phase(model::PodPhase::Succeeded));
  EXPECT_EQ(r.shares(), std::nullopt);
}

TEST(LeaseMemory, TheUuidOutlivesALeaseThatGoesWhileItsPodLives) {
  Remembers r;
  r.pod(PodBuilder("p").on("node-a"));
  EXPECT_FALSE(r.was(1));
  r.comes(leaseOfP(1));
  EXPECT_EQ(r.uuid(1), "GPU-1");
  r.goes(leaseOfP(1));
  EXPECT_EQ(r.uuid(1), "GPU-1");
  EXPECT_TRUE(r.was(1));
  EXPECT_EQ(r.uuid(0), "") << "another GPU";
  EXPECT_EQ(r.memory.givenUuid(model::Uid{"uid-p"}, model::NodeName{"node-b"}, 1), "") << "another node";
  EXPECT_EQ(r.uuid(1, "uid-q"), "") << "another pod";
  r.ends(PodBuilder("p").revision(9).on("node-a").phase(model::PodPhase::Failed));
  EXPECT_EQ(r.uuid(1), "");
  EXPECT_FALSE(r.was(1));
}

/// Whoever is not there, or not any more, would be remembered for ever.
TEST(LeaseMemory, OfAPodThatHasEndedOrIsNotKnownNothingIsKept) {
  const auto finished = PodBuilder("p").on("node-a").phase(model::PodPhase::Succeeded);
  for (const bool is_known : {false, true}) {
    Remembers r;
    if (is_known) { r.pod(finished); }
    r.comes(leaseOfP(1));
    EXPECT_EQ(r.shares(), std::nullopt);
    EXPECT_EQ(r.uuid(1), "GPU-1") << "it stands";
    r.goes(leaseOfP(1));
    EXPECT_EQ(r.uuid(1), "");
    EXPECT_FALSE(r.was(1));
  }
}

TEST(LeaseMemory, WhatStandsCountsBeforeWhatWentAndTakesItsPlace) {
  Remembers r;
  r.pod(PodBuilder("p").on("node-a"));
  r.comes(leaseOfP(1));
  r.goes(leaseOfP(1));
  model::Lease again = leaseOfP(1, "r1", 10);
  again.uuid = "";
  r.comes(again);
  EXPECT_EQ(r.uuid(1), "GPU-1") << "one that says none takes none away";
  again.uuid = "GPU-new";
  again.revision = 11;
  r.comes(again);
  EXPECT_EQ(r.uuid(1), "GPU-new");
  std::size_t visited = 0;
  r.memory.eachLeaseOf(model::Uid{"uid-p"}, [&](const model::Lease& /*lease*/) { ++visited; });
  EXPECT_EQ(visited, 1U) << "not also the one that went";
}

TEST(LeaseMemory, ALeaseThatNamedNoUuidIsNotKept) {
  Remembers r;
  r.pod(PodBuilder("p").on("node-a"));
  model::Lease lease = leaseOfP(1);
  lease.uuid = "";
  r.comes(lease);
  EXPECT_TRUE(r.was(1));
  r.goes(lease);
  EXPECT_FALSE(r.was(1));
}

/// A pod that waits may be decided about for days. Of a bound one each lease may be what it runs with.
TEST(LeaseMemory, ANewerDecisionMakesEarlierOnesForgottenOfAPodThatIsNotBound) {
  for (const bool is_bound : {false, true}) {
    for (const bool stands : {false, true}) {  // the newer one, or it went
      Remembers r;
      r.pod(is_bound ? PodBuilder("p").on("node-a") : PodBuilder("p"));
      for (const int gpu : {0, 1}) {
        r.comes(leaseOfP(gpu, "r1"));
        r.goes(leaseOfP(gpu, "r1"));
      }
      EXPECT_EQ(r.uuid(0), "GPU-0") << "both are of one decision";
      EXPECT_EQ(r.uuid(1), "GPU-1");
      r.comes(leaseOfP(2, "r2"));
      if (!stands) { r.goes(leaseOfP(2, "r2")); }
      EXPECT_EQ(r.uuid(0), is_bound ? "GPU-0" : "");
      EXPECT_EQ(r.uuid(1), is_bound ? "GPU-1" : "");
      EXPECT_EQ(r.uuid(2), "GPU-2");
    }
  }
}

TEST(LeaseMemory, OfASharedLeaseEachSharerIsRememberedByItself) {
  Remembers r;
  r.pod(PodBuilder("p"));
  r.pod(PodBuilder("q"));
  r.pod(PodBuilder("over").on("node-a").phase(model::PodPhase::Succeeded));
  const model::Lease lease = sharedBy(leaseOfP(1), {{"over", "r0"}, {"p", "rp"}, {"q", "rq"}});
  r.comes(lease);
  r.goes(lease);
  EXPECT_EQ(r.uuid(1, "uid-p"), "GPU-1");
  EXPECT_EQ(r.uuid(1, "uid-q"), "GPU-1");
  EXPECT_EQ(r.uuid(1, "uid-over"), "");
  r.comes(sharedBy(leaseOfP(2), {{"q", "rq2"}}));
  EXPECT_EQ(r.uuid(1, "uid-q"), "") << "it was decided anew";
  EXPECT_EQ(r.uuid(1, "uid-p"), "GPU-1") << "it was not";
}

/// Whatever comes and goes: each lease that stands is visited, each that went, and none twice.
TEST(LeaseMemory, EachLeaseOfABoundPodIsVisitedOnceAsItIsOrWasLast) {
  Remembers r;
  Rng rng{11};
  r.pod(PodBuilder("p").on("node-a"));
  std::map<int, model::Lease> standing;
  std::map<int, std::string> last;  // UUIDs of all that were ever there
  for (model::Revision revision = 10; revision < 1'000; revision += 2) {
    const int gpu = static_cast<int>(rng.below(4));
    if (const auto it = standing.find(gpu); it != standing.end() && rng.chance(60)) {
      it->second.revision = revision;
      r.comes(it->second);
      r.goes(it->second);
      standing.erase(it);
    } else {
      model::Lease lease = leaseOfP(gpu, rng.chance(50) ? "r1" : "r2", revision);
      lease.uuid = "GPU-" + std::to_string(rng.below(3));
      r.comes(lease);
      last[gpu] = lease.uuid;
      standing[gpu] = lease;
    }
    std::map<int, std::string> visited;
    std::size_t visits = 0;
    r.memory.eachLeaseOf(model::Uid{"uid-p"}, [&](const model::Lease& lease) {
      visited[lease.gpu] = lease.uuid;
      ++visits;
    });
    ASSERT_EQ(visited, last) << revision;
    ASSERT_EQ(visits, last.size()) << revision;
  }
}

}  // namespace
}  // namespace gs::engine
