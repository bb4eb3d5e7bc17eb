#include "engine/engine.h"

#include "base/random.h"
#include "engine/engine_hand_test.h"

namespace gs::engine {
namespace {

TEST_F(EngineTest, APodThatWasNeverBoundFreesItsDevicesAtOnce) {
  agentLooks();
  comes(PodBuilder("p"));
  comes(leaseOf(PodBuilder("p"), 1));
  goesAs(PodBuilder("p").revision(9));
  EXPECT_EQ(use(1), DeviceUse::Held) << "by its lease";
  goes(leaseOf(PodBuilder("p"), 1));
  EXPECT_EQ(use(1), DeviceUse::Free);
}

/// It landed after its pod was seen to go: the pod may have been bound with it, for all that we saw.
TEST_F(EngineTest, ALateLeaseOfAPodThatIsGoneDrains) {
  agentLooks();
  comes(PodBuilder("p"));
  goes(PodBuilder("p"));
  const auto lease = leaseOf(PodBuilder("p"), 1);
  comes(lease);
  goes(lease);
  EXPECT_EQ(use(1), DeviceUse::Draining);
}

TEST_F(EngineTest, ALateLeaseOfAPodThatEndedCleanlyDoesNot) {
  agentLooks();
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(pod);
  const auto ended = PodBuilder("p")
                         .on("node-a")
                         .allocated("node-a:1")
                         .revision(5)
                         .phase(model::PodPhase::Succeeded)
                         .terminated();
  comes(ended);
  goes(ended);
  ASSERT_EQ(use(1), DeviceUse::Free);
  const auto lease = leaseOf(PodBuilder("p"), 1);
  comes(lease);
  goes(lease);
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(EngineTest, APodThatWasBoundWhenItWentMayHaveRun) {
  agentLooks();
  comes(PodBuilder("p"));
  goesAs(PodBuilder("p").revision(9).on("node-a").allocated("node-a:1"));
  EXPECT_EQ(use(1), DeviceUse::Draining);
}

/// An answer to a write may have told a newer one than the watch knows when it goes.
TEST_F(EngineTest, WhatAPodHeldIsReadOfTheNewestVersion) {
  agentLooks();
  comes(PodBuilder("p").revision(9).on("node-a").allocated("node-a:2"));
  goesAs(PodBuilder("p").revision(5).on("node-a").allocated("node-a:1"));
  EXPECT_EQ(use(1), DeviceUse::Free);
  EXPECT_EQ(use(2), DeviceUse::Draining);
}

TEST_F(EngineTest, APodThatMayHaveRunDrainsEverywhereItMayHave) {
  agentLooks();
  comes(PodBuilder("p"));
  comes(leaseOf(PodBuilder("p"), 1));  // that of GPU 2 was deleted by hand
  goes(PodBuilder("p"));
  EXPECT_EQ(use(1), DeviceUse::Held);
  engine.mayHaveRun(PodBuilder("p").value().uid, model::NodeName{"node-a"}, {1, 2}, {"", ""}, now);
  EXPECT_EQ(use(2), DeviceUse::Draining);
}

TEST_F(EngineTest, AndWhatTheDevicesAreNowThatItMayHaveRunWith) {
  auto status = testing::makeStatus("node-a", 4);
  const std::string uuid = status.devices.at(1).uuid;
  std::swap(status.devices.at(1).uuid, status.devices.at(3).uuid);
  status.revision = 2;
  status.observed_time = "t0";
  statusComes(status);
  comes(PodBuilder("agent").on("node-a").agent(true));
  engine.mayHaveRun(PodBuilder("p").value().uid, model::NodeName{"node-a"}, {1}, {uuid}, now);
  EXPECT_EQ(use(3), DeviceUse::Draining);
  EXPECT_EQ(use(2), DeviceUse::Free);
}

TEST_F(EngineTest, OfAPodThatIsTriedForDaysOnlyTheLastLeasesAreRemembered) {
  const model::NodeName on{"node-a"};
  const PodBuilder pod{"p"};
  const auto tried = [&](int gpu, const std::string& reservation) {
    model::Lease lease =
        testing::makeLease("node-a", gpu, pod.value(), reservation, "node-a:" + std::to_string(gpu));
    lease.uuid = "GPU-" + std::to_string(gpu);
    comes(lease);
    goes(lease);
  };
  const model::Uid uid = pod.value().uid;
  comes(pod);
  tried(0, "r1");
  EXPECT_EQ(engine.leaseMemory().givenUuid(uid, on, 0), "GPU-0") << "its Binding may be under way";
  tried(1, "r2");
  tried(2, "r2");
  EXPECT_EQ(engine.leaseMemory().givenUuid(uid, on, 0), "");
  EXPECT_EQ(engine.leaseMemory().givenUuid(uid, on, 1), "GPU-1");
  comes(PodBuilder(pod).revision(9).on("node-a").allocated("node-a:1,2"));
  tried(3, "r3");  // landed late
  EXPECT_EQ(engine.leaseMemory().givenUuid(uid, on, 2), "GPU-2");
}

TEST_F(EngineTest, AnEndedPodDrainsWhatItsLeasesNameTooIfTheyAreOfItsNode) {
  agentLooks();
  nodeComes("node-b");
  statusComes(testing::makeStatus("node-b", 4));
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(pod);
  const auto lease = leaseOf(pod, 2);  // its annotation was edited
  comes(lease);
  goes(pod);
  goes(lease);
  EXPECT_EQ(use(1), DeviceUse::Draining);
  EXPECT_EQ(use(2), DeviceUse::Draining);
  EXPECT_EQ(use(3), DeviceUse::Free);
}

TEST_F(EngineTest, ALeaseThatIsListedAfterItsEndedPodDrainsAsTheOtherWayRound) {
  agentLooks();
  // As a new leader lists them: the pod failed while its node was silent, and its annotation was taken away.
  const auto failed = PodBuilder("p").on("node-a").running().phase(model::PodPhase::Failed);
  const auto lease = leaseOf(failed, 1);
  comes(failed);
  comes(lease);
  EXPECT_FALSE(engine.reclaim().reclaimed(failed.value().uid))
      << "nobody says that its containers have ended";
  goes(lease);
  EXPECT_EQ(use(1), DeviceUse::Draining);
  const auto ended = PodBuilder("q").on("node-a").phase(model::PodPhase::Failed).terminated();
  comes(ended);
  comes(leaseOf(ended, 2));
  EXPECT_TRUE(engine.reclaim().reclaimed(ended.value().uid)) << "they have";
}

TEST_F(EngineTest, AnEndIsNotJudgedAnewOnceLooksTookLongerThanItIsRemembered) {
  agentLooks();
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  const model::Uid uid = pod.value().uid;
  comes(leaseOf(pod, 1));
  engine.podGone(uid, now);
  ASSERT_TRUE(engine.reclaim().wantsFloor());
  engine.tellStatusRevision(*engine.reclaim().wantsFloor(), 2);
  auto seen = testing::makeStatus("node-a", 4);
  for (const char* time : {"t1", "t2"}) {
    EXPECT_FALSE(engine.reclaim().reclaimed(uid));
    now += 2 * Tombstones::kLife;
    seen.revision += 2;
    seen.observed_time = time;
    statusComes(seen);
  }
  EXPECT_TRUE(engine.reclaim().reclaimed(uid));
  engine.podGone(uid, now);  // whoever finds its lease asked again
  EXPECT_TRUE(engine.reclaim().reclaimed(uid));
}

/// What a pod that waits was seen to use is free again, as after a backup was restored. It may run yet, and
/// end uncleanly.
TEST_F(EngineTest, APodThatIsThereHasNotEndedThoughWhatItUsedWasReclaimed) {
  agentLooks();
  const auto pod = PodBuilder("p").claim("c");
  comes(pod);
  agentSeesOn1(3, {pod.value().uid});
  ASSERT_EQ(use(1), DeviceUse::Draining);
  agentSeesOn1(4, {});
  ASSERT_EQ(use(1), DeviceUse::Free);
  const auto lease = leaseOf(pod, 0);
  comes(lease);
  goes(pod);
  goes(lease);
  EXPECT_EQ(use(0), DeviceUse::Draining);
}

TEST_F(EngineTest, APodThatWasSeenToEndUnboundNeverRan) {
  agentLooks();
  comes(PodBuilder("p"));
  goesAs(PodBuilder("p").revision(9));
  engine.mayHaveRun(PodBuilder("p").value().uid, model::NodeName{"node-a"}, {1}, {""}, now);
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(EngineTest, WhatIsInUseOnANodeThatComesBackDrains) {
  agentLooks();
  engine.apply({kapi::kNode, {"", "node-a"}, model::Uid{"uid-node-a"}, {}, 5}, now);
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 3;
  seen.observed_time = "t1";
  seen.devices[1].in_use_by = {model::Uid{"gone"}};  // ended before this process knew it
  statusComes(seen);
  EXPECT_EQ(use(1), DeviceUse::Free) << "its node is deleted";
  nodeComes("node-a");
  EXPECT_EQ(use(1), DeviceUse::Draining);
}

TEST_F(EngineTest, SoDoesWhatIsInUseOnANodeThatComesAfterItsStatus) {
  auto seen = testing::makeStatus("node-b", 4);
  seen.observed_time = "t1";
  seen.devices[1].in_use_by = {model::Uid{"gone"}};
  statusComes(seen);
  nodeComes("node-b");
  const sched::NodeState* b = engine.ledger().find(model::NodeName{"node-b"});
  EXPECT_EQ(b->device(1)->use(), DeviceUse::Draining);
}

TEST_F(EngineTest, TheStatusOfANodeThatWentSaysNothingOfTheOneThatTookItsName) {
  auto status = testing::makeStatus("node-a", 4);
  status.node_uid = model::Uid{"uid-node-a"};
  status.revision = 2;
  statusComes(status);
  ASSERT_TRUE(node().has_status);
  engine.apply({kapi::kNode, {"", "node-a"}, model::Uid{"uid-node-a"}, {}, 5}, now);
  auto other = testing::makeNode("node-a");
  other.uid = model::Uid{"another"};
  engine.apply({kapi::kNode, {"", "node-a"}, {}, shared(other), 6}, now);
  EXPECT_FALSE(node().has_status) << "its deletion is not heard of yet";
  status.revision = 7;
  statusComes(status);  // what a list shows that is older than the deletion
  EXPECT_FALSE(node().has_status);
  status.node_uid = other.uid;
  status.revision = 8;
  statusComes(status);
  EXPECT_TRUE(node().has_status);
}

TEST_F(EngineTest, AStatusThatIsHeardOfBeforeItsNodeCountsFromThen) {
  auto status = testing::makeStatus("node-a", 2);
  status.node_uid = model::Uid{"another"};
  status.revision = 2;
  statusComes(status);
  EXPECT_FALSE(node().has_status) << "the Node that is known is on its way out";
  auto other = testing::makeNode("node-a");
  other.uid = model::Uid{"another"};
  engine.apply({kapi::kNode, {"", "node-a"}, {}, shared(other), 6}, now);
  ASSERT_TRUE(node().has_status);
  EXPECT_EQ(node().whole, 2);
  EXPECT_FALSE(node().device(0)->twice);
  engine.apply({kapi::kNode, {"", "node-a"}, other.uid, {}, 7}, now);
  engine.apply({kapi::kGpuNodeStatus, {"", "node-a"}, status.uid, {}, 8}, now);
  engine.apply({kapi::kNode, {"", "node-a"}, {}, shared(other), 9}, now);
  EXPECT_FALSE(node().has_status) << "and one that went does not come again";
}

// Whichever of the two is heard of first, and how often the Node is another one.
TEST_F(EngineTest, GpusOfANodeThatIsAnotherOneStandOnce) {
  Rng rng{7};
  for (model::Revision revision = 10; revision < 2'000; ++revision) {
    const model::Uid uid{std::to_string(rng.below(3))};
    auto status = testing::makeStatus("node-a", 1 + static_cast<int>(rng.below(4)));
    status.node_uid = uid;
    status.revision = revision;
    auto other = testing::makeNode("node-a");
    other.uid = uid;
    switch (rng.below(4)) {
      case 0: statusComes(status); break;
      case 1: engine.apply({kapi::kGpuNodeStatus, {"", "node-a"}, status.uid, {}, revision}, now); break;
      case 2: engine.apply({kapi::kNode, {"", "node-a"}, {}, shared(other), revision}, now); break;
      default: engine.apply({kapi::kNode, {"", "node-a"}, uid, {}, revision}, now);
    }
    const sched::NodeState* node = engine.ledger().find(model::NodeName{"node-a"});
    for (int id = 0; node != nullptr && id < 4; ++id) {
      const auto* device = node->device(id);
      ASSERT_TRUE(device == nullptr || !device->twice) << revision << ' ' << id;
    }
  }
}

TEST_F(EngineTest, BeforeAllIsListedAnEndedPodsDeviceDrains) {
  Engine fresh;
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:0").running();
  fresh.apply({kapi::kNode, {"", "node-a"}, {}, shared(testing::makeNode("node-a")), 1}, now);
  fresh.apply({kapi::kPod, pod.value().key, {}, pod.make(), 1}, now);
  fresh.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, 2}, now);
  EXPECT_FALSE(fresh.reclaim().reclaimed(pod.value().uid)) << "an agent may yet be listed";
  fresh.synced(now);
  EXPECT_TRUE(fresh.reclaim().reclaimed(pod.value().uid));
}

TEST_F(EngineTest, APodThatWasNeverSeenBoundMayHaveRun) {
  agentLooks();
  const auto pod = PodBuilder("p");
  comes(pod);
  comes(leaseOf(pod, 0));
  goes(pod);
  EXPECT_FALSE(engine.reclaim().reclaimed(pod.value().uid))
      << "bound and gone within a gap of the watch, for all we know";
  goes(leaseOf(pod, 0));
  EXPECT_EQ(use(0), DeviceUse::Draining);
}

TEST_F(EngineTest, ANewRuleOfABoundPodConcernsThoseWhoWaitAndAreMeant) {
  comes(PodBuilder("waits"));
  comes(PodBuilder("elsewhere", "other"));
  comes(PodBuilder("runs").on("node-a").running());
  (void)engine.takeTouched();
  model::Pod away = PodBuilder("away").on("node-a").running().value();
  away.keeps_away = {{"host", {"default"}, {}}};
  engine.apply({kapi::kPod, away.key, {}, shared(away), 1}, now);
  EXPECT_EQ(engine.takeTouched(), (std::set<model::Uid>{model::Uid{"uid-away"}, model::Uid{"uid-waits"}}));
  EXPECT_EQ(engine.antiAffinity().meaning("default", {}).size(), 1U);
  goes(PodBuilder("away").revision(5));
  EXPECT_TRUE(engine.antiAffinity().meaning("default", {}).empty());
}

TEST_F(EngineTest, AnswersThatAreOlderThanWhatIsKnownChangeNothing) {
  const auto pod = PodBuilder("p").revision(5).on("node-a").allocated("node-a:0").running();
  comes(pod);
  (void)engine.takeTouched();
  engine.learn(PodBuilder("p").revision(4).make(), now);
  EXPECT_EQ(use(0), DeviceUse::Held);
  EXPECT_TRUE(engine.takeTouched().empty());
  goes(pod);
  engine.learn(PodBuilder(pod).revision(90).make(), now);
  EXPECT_EQ(use(0), DeviceUse::Free) << "a uid never comes back";
}

TEST_F(EngineTest, AClaimsStatusWriteTouchesNoPod) {
  comes(PodBuilder("p").claim("c"));
  auto claim = testing::makeClaim("c");
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 1}, now);
  EXPECT_EQ(engine.takeTouched(), std::set<model::Uid>{model::Uid{"uid-p"}});
  (void)engine.takeTouchedClaims();
  claim.revision = 2;
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 2}, now);
  EXPECT_TRUE(engine.takeTouched().empty());
  EXPECT_EQ(engine.takeTouchedClaims(), std::set<model::ObjectKey>{claim.key});
  claim.revision = 3;
  claim.count = 2;
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 3}, now);
  EXPECT_EQ(engine.takeTouched(), std::set<model::Uid>{model::Uid{"uid-p"}});
}

/// They were written before its end, and the watch brings them after it.
TEST_F(EngineTest, LateLooksThatNameAnEndedPodDoNotFreeItsDevice) {
  agentLooks();
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(pod);
  goes(pod);  // by force
  ASSERT_EQ(use(1), DeviceUse::Draining);
  ASSERT_TRUE(engine.reclaim().wantsFloor());
  engine.tellStatusRevision(*engine.reclaim().wantsFloor(), 100);  // later than the two looks that come now
  agentSeesOn1(3, {pod.value().uid});
  EXPECT_EQ(use(1), DeviceUse::Draining);
  agentSeesOn1(4, {});
  EXPECT_EQ(use(1), DeviceUse::Draining) << "no look was written after the end";
}

/// One pod with 64 new terms is bound while many others wait.
class ManyWait : public EngineTest {
 protected:
  static constexpr int kWait = 2'000;
  using Requirement = model::LabelRequirement;
  void SetUp() override {
    for (int i = 0; i < kWait; ++i) {
      model::Pod waits = PodBuilder("w" + std::to_string(i)).value();
      waits.labels = {{"app", "training"}, {"team", "a"}, {"job", std::to_string(i)}};
      engine.apply({kapi::kPod, waits.key, {}, std::make_shared<const model::Pod>(waits), 1}, now);
    }
    (void)engine.takeTouched();
  }
  /// Those who were touched, but for the pod itself.
  std::size_t comesPodThatSays(const std::function<std::vector<Requirement>(std::string)>& about) {
    model::Pod pod = PodBuilder("p").on("node-a").value();
    for (int t = 0; t < 64; ++t) {
      pod.keeps_away.push_back({"kubernetes.io/hostname", {"default"}, {about(std::to_string(t))}});
    }
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), 1}, now);
    return engine.takeTouched().size() - 1;
  }
};

TEST_F(ManyWait, APodThatKeepsOthersAwayCostsLittleHoweverManyWait) {
  const auto touched = comesPodThatSays([](std::string value) {
    return std::vector{Requirement{"job", Requirement::Op::In, {std::move(value)}}};
  });
  EXPECT_EQ(touched, 64U);
  EXPECT_EQ(engine.work().compared, 64U);
}

TEST_F(ManyWait, WhereItTakesTooLongToFindOutWhomItMeansItMayMeanEverybody) {
  const auto touched = comesPodThatSays([](std::string value) {
    return std::vector{Requirement{"app", Requirement::Op::Exists, {}},
                       Requirement{"x" + value, Requirement::Op::Exists, {}}};
  });
  EXPECT_LT(engine.work().compared, 70'000U) << "not " << 64 * kWait;
  EXPECT_GT(touched, 500U);
  EXPECT_LT(touched, 1'500U);
}

/// The user of a claim that many running pods name changes it.
TEST_F(EngineTest, AClaimThatChangesCostsLittleHoweverManyPodsNameIt) {
  constexpr int kPods = 100;
  for (int i = 0; i < kPods; ++i) {
    comes(PodBuilder("p" + std::to_string(i)).claim("c").on("node-a").allocated("node-a:1").running());
  }
  auto claim = testing::makeClaim("c");
  const auto derived = [&] {
    ++claim.revision;
    const auto before = engine.work().derived;
    engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), claim.revision}, now);
    return engine.work().derived - before;
  };
  EXPECT_EQ(derived(), 0U) << "without it they had theirs Exclusive, and have so";
  claim.count = 2;
  EXPECT_EQ(derived(), 0U);
  claim.exclusivity = model::Exclusivity::Shared;
  EXPECT_EQ(derived(), 100U) << "no lease says whether they share";
  EXPECT_EQ(engine.takeTouched().size(), 100U);
}

TEST_F(EngineTest, AClaimThatNobodyNamesIsTouchedTooWhenItChanges) {
  auto claim = testing::makeClaim("c");
  const std::set<model::ObjectKey> touched{claim.key};
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 1}, now);
  EXPECT_EQ(engine.takeTouchedClaims(), touched);
  claim.revision = 2;
  claim.count = 2;
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 2}, now);
  EXPECT_EQ(engine.takeTouchedClaims(), touched);
}

}  // namespace
}  // namespace gs::engine
