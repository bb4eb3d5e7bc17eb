#include "engine/engine.h"

#include <gtest/gtest.h>

#include <functional>

#include "kapi/kinds.h"
#include "model/vcuda.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using sched::DeviceUse;
using testing::PodBuilder;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    nodeComes("node-a");
    statusComes(testing::makeStatus("node-a", 4));
    engine.synced(now);
  }
  template <class T>
  static model::Ptr<T> shared(T value) {
    return std::make_shared<const T>(std::move(value));
  }
  void nodeComes(const char* name) {
    engine.apply({kapi::kNode, {"", name}, {}, shared(testing::makeNode(name)), 1}, now);
  }
  void statusComes(const model::GpuNodeStatus& status) {
    engine.apply({kapi::kGpuNodeStatus, {"", status.node.text}, {}, shared(status), status.revision}, now);
  }
  void comes(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), pod.value().revision}, now);
  }
  void goes(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, pod.value().revision + 1}, now);
  }
  void comes(const model::Lease& lease) {
    engine.apply({kapi::kLease, lease.key, {}, shared(lease), lease.revision}, now);
  }
  void goes(const model::Lease& lease) {
    engine.apply({kapi::kLease, lease.key, lease.uid, {}, lease.revision + 1}, now);
  }
  /// The watch says so, and how it was then.
  void goesAs(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, pod.value().revision, pod.make()}, now);
  }
  /// An ended pod's GPUs are free when the agent no longer sees it.
  void agentLooks() {
    auto seen = testing::makeStatus("node-a", 4);
    seen.revision = 2;
    seen.observed_time = "t0";
    statusComes(seen);
    const auto agent = PodBuilder("agent").on("node-a").agent(true).make();
    engine.apply({kapi::kPod, {"kube-system", "agent"}, {}, agent, 1}, now);
  }
  [[nodiscard]] static model::Lease leaseOf(const PodBuilder& pod, int gpu) {
    return testing::makeLease("node-a", gpu, pod.value(), "r1", "node-a:" + std::to_string(gpu));
  }
  [[nodiscard]] const sched::NodeState& node() const {
    return *engine.ledger().find(model::NodeName{"node-a"});
  }
  [[nodiscard]] DeviceUse use(int id) const { return node().device(id)->use(); }

  Engine engine;
  Mono now{1h};
};

TEST_F(EngineTest, LeaseAndBoundPodEachHoldTheDevice) {
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(leaseOf(pod, 1));
  EXPECT_EQ(use(1), DeviceUse::Held);
  comes(pod);
  goes(leaseOf(pod, 1));
  EXPECT_EQ(use(1), DeviceUse::Held) << "deleted by hand: the pod has it";
  comes(PodBuilder(pod).revision(9).phase(model::PodPhase::Succeeded).terminated());
  EXPECT_EQ(use(1), DeviceUse::Free);
}

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
  EXPECT_EQ(engine.givenUuid(uid, on, 0), "GPU-0") << "its Binding may be under way";
  tried(1, "r2");
  tried(2, "r2");
  EXPECT_EQ(engine.givenUuid(uid, on, 0), "");
  EXPECT_EQ(engine.givenUuid(uid, on, 1), "GPU-1");
  comes(PodBuilder(pod).revision(9).on("node-a").allocated("node-a:1,2"));
  tried(3, "r3");  // landed late
  EXPECT_EQ(engine.givenUuid(uid, on, 2), "GPU-2");
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
  EXPECT_FALSE(engine.drained(failed.value().uid)) << "nobody says that its containers have ended";
  goes(lease);
  EXPECT_EQ(use(1), DeviceUse::Draining);
  const auto ended = PodBuilder("q").on("node-a").phase(model::PodPhase::Failed).terminated();
  comes(ended);
  comes(leaseOf(ended, 2));
  EXPECT_TRUE(engine.drained(ended.value().uid)) << "they have";
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

TEST_F(EngineTest, AnUnboundPodsAnnotationMeansNothing) {
  comes(PodBuilder("p").allocated("node-a:1"));
  EXPECT_EQ(use(1), DeviceUse::Free);
  EXPECT_EQ(node().used_pods, 0);
}

TEST_F(EngineTest, AnAnnotationThatNamesAnotherNodeHoldsNothingThere) {
  comes(PodBuilder("p").on("node-a").allocated("node-b:1").gpus(1).running());
  EXPECT_EQ(node().anonymous, 1) << "it asks for one, and we do not know which";
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(EngineTest, BareIdsCountOnThePodsNode) {
  comes(PodBuilder("p").on("node-a").allocated("2,3").scheduler("other").running());
  EXPECT_EQ(use(2), DeviceUse::Held);
  EXPECT_EQ(use(3), DeviceUse::Held);
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(EngineTest, WhatTheAgentSeesInUseIsNoLongerAnonymous) {
  comes(PodBuilder("p").on("node-a").gpus(2).running());
  EXPECT_EQ(node().anonymous, 2);
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 2;
  seen.devices[3].in_use_by = {model::Uid{"uid-p"}};
  statusComes(seen);
  EXPECT_EQ(node().anonymous, 1);
  EXPECT_EQ(use(3), DeviceUse::Held);
  EXPECT_EQ(node().free_devices, 2);
  seen.revision = 3;
  seen.devices[3].in_use_by.clear();
  statusComes(seen);
  EXPECT_EQ(node().anonymous, 2);
  EXPECT_EQ(use(3), DeviceUse::Free);
}

/// Who may edit its annotation would free a GPU that its containers have: a kubelet gave it one, and nobody
/// says which.
TEST_F(EngineTest, NamingWhatAnotherHoldsTakesNothingOffACount) {
  const auto other = PodBuilder("other").on("node-a").allocated("node-a:0").running();
  const auto pod = PodBuilder("p").on("node-a").gpus(1).allocated("node-a:0").scheduler("theirs").running();
  comes(pod);
  EXPECT_EQ(node().anonymous, 0) << "nobody else has it";
  comes(leaseOf(other, 0));
  EXPECT_EQ(node().anonymous, 1);
  comes(other);
  EXPECT_EQ(node().anonymous, 1);
  EXPECT_EQ(node().free_devices, 2);
  comes(PodBuilder("third").on("node-a").allocated("node-a:0").running());
  goes(PodBuilder("third").on("node-a").allocated("node-a:0").running());
  EXPECT_EQ(node().anonymous, 1);
  comes(PodBuilder(other).revision(9).phase(model::PodPhase::Succeeded).terminated());
  goes(leaseOf(other, 0));
  EXPECT_EQ(node().anonymous, 0);
  EXPECT_EQ(node().free_devices, 3);
}

TEST_F(EngineTest, AContestedNameTakesNothingOffWhatIsReclaimed) {
  const auto other = PodBuilder("other").on("node-a").allocated("node-a:0").running();
  const auto pod = PodBuilder("p").on("node-a").gpus(1).allocated("node-a:0").scheduler("theirs").running();
  comes(leaseOf(other, 0));
  comes(other);
  agentLooks();
  comes(pod);
  EXPECT_EQ(node().anonymous, 1);
  goes(pod);
  EXPECT_EQ(node().anonymous, 1) << "its containers may run on";
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(EngineTest, ALeaseSaysThatAContestedNameIsTrue) {
  const auto pod = PodBuilder("p").on("node-a").gpus(1).allocated("node-a:0").running();
  comes(leaseOf(pod, 0));
  comes(pod);
  comes(PodBuilder("other").on("node-a").allocated("node-a:0").running());
  EXPECT_EQ(node().anonymous, 0);
  EXPECT_EQ(node().free_devices, 3);
}

/// The API server went back to a state in which it was not bound yet (a restored backup), and its kubelet
/// runs it still.
TEST_F(EngineTest, WhatTheAgentSeesAPodUseThatIsNotBoundIsGivenToNobody) {
  agentLooks();
  comes(PodBuilder("p").claim("c"));
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 3;
  seen.observed_time = "t1";
  seen.devices[1].in_use_by = {model::Uid{"uid-p"}};
  statusComes(seen);
  EXPECT_EQ(use(1), DeviceUse::Draining);
  comes(PodBuilder("p").claim("c").revision(4));
  EXPECT_EQ(use(1), DeviceUse::Draining);
  comes(PodBuilder("p").claim("c").revision(5).on("node-b").allocated("node-b:0"));
  EXPECT_EQ(use(1), DeviceUse::Draining) << "it runs there too";
  seen.revision = 5;
  seen.observed_time = "t2";
  seen.devices[1].in_use_by = {};
  statusComes(seen);
  EXPECT_EQ(use(1), DeviceUse::Free);
}

/// Its annotations were edited and its leases are gone; a pod that asks for no GPU (a monitor sees all) has
/// none.
TEST_F(EngineTest, WhatTheAgentSeesAPodUseThatAskedForSomeIsHeld) {
  comes(PodBuilder("claims").on("node-a").claim("one").running());
  comes(PodBuilder("has").on("node-a").claim("one").allocated("node-a:0").running());
  comes(PodBuilder("monitor").on("node-a").running());
  agentLooks();
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 3;
  seen.observed_time = "t1";
  seen.devices[1].in_use_by = {model::Uid{"uid-claims"}};
  seen.devices[2].in_use_by = {model::Uid{"uid-has"}};
  for (auto& device : seen.devices) { device.in_use_by.emplace_back("uid-monitor"); }
  statusComes(seen);
  EXPECT_EQ(use(0), DeviceUse::Held);
  EXPECT_EQ(use(1), DeviceUse::Held);
  EXPECT_EQ(use(2), DeviceUse::Held);
  EXPECT_EQ(use(3), DeviceUse::Free);
  EXPECT_EQ(node().anonymous, 0);
  engine.podGone(model::Uid{"uid-has"}, now);
  EXPECT_EQ(use(2), DeviceUse::Draining) << "until the agent sees its containers gone";
}

/// Its annotation was edited, and names another node: its lease alone says what it has, and the node has
/// fewer GPUs now.
TEST_F(EngineTest, ALeaseFollowsItsGpuThoughNoGpuHasItsIdAnyMore) {
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 2;
  statusComes(seen);
  comes(PodBuilder("p").on("node-a").claim("one").allocated("node-b:0").running());
  auto lease = leaseOf(PodBuilder("p"), 3);
  lease.uuid = seen.devices[3].uuid;
  comes(lease);
  auto fewer = testing::makeStatus("node-a", 2);
  fewer.revision = 3;
  fewer.devices[0].uuid = seen.devices[3].uuid;
  statusComes(fewer);
  EXPECT_EQ(use(0), DeviceUse::Held);
  EXPECT_EQ(use(1), DeviceUse::Free);
}

/// Its annotation was edited, and names one of the two that it asked for and has.
TEST_F(EngineTest, WhatTheAgentSeesAPodUseIsNotAnonymous) {
  comes(PodBuilder("p").on("node-a").gpus(2).allocated("node-a:0").running());
  EXPECT_EQ(node().anonymous, 1);
  agentLooks();
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 3;
  seen.observed_time = "t1";
  for (const std::size_t id : {0U, 1U}) { seen.devices[id].in_use_by = {model::Uid{"uid-p"}}; }
  statusComes(seen);
  EXPECT_EQ(node().anonymous, 0);
  EXPECT_EQ(use(1), DeviceUse::Held);
}

TEST_F(EngineTest, TheLeaseSaysWhetherItIsShared) {
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:0").running();
  model::Lease lease = leaseOf(pod, 0);
  lease.holder = "shared";
  lease.holders = {{model::Uid{"uid-p"}, {"default", "p"}, 0, 0, model::ReservationId{"r1"}, "node-a:0"}};
  comes(lease);
  comes(pod);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared);
  goes(lease);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared) << "as its last lease said";
  EXPECT_EQ(engine.shares(model::Uid{"uid-p"}), true);
}

TEST_F(EngineTest, WithoutALeaseTheClaimSaysWhetherItIsShared) {
  comes(PodBuilder("p").claim("c").on("node-a").allocated("node-a:0").running());
  EXPECT_FALSE(node().devices[0].holders[0].amount.shared);
  auto claim = testing::makeClaim("c");
  claim.exclusivity = model::Exclusivity::Shared;
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 1}, now);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared);
}

TEST_F(EngineTest, AStatusThatShrinksTakesNothingFromHolders) {
  comes(PodBuilder("p").on("node-a").allocated("node-a:3").running());
  auto less = testing::makeStatus("node-a", 2);
  less.revision = 2;
  statusComes(less);
  EXPECT_EQ(use(3), DeviceUse::Held);
  EXPECT_FALSE(node().device(3)->listed);
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(EngineTest, BeforeAllIsListedAnEndedPodsDeviceDrains) {
  Engine fresh;
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:0").running();
  fresh.apply({kapi::kNode, {"", "node-a"}, {}, shared(testing::makeNode("node-a")), 1}, now);
  fresh.apply({kapi::kPod, pod.value().key, {}, pod.make(), 1}, now);
  fresh.apply({kapi::kPod, pod.value().key, pod.value().uid, {}, 2}, now);
  EXPECT_FALSE(fresh.drained(pod.value().uid)) << "an agent may yet be listed";
  fresh.synced(now);
  EXPECT_TRUE(fresh.drained(pod.value().uid));
}

TEST_F(EngineTest, APodThatWasNeverSeenBoundMayHaveRun) {
  agentLooks();
  const auto pod = PodBuilder("p");
  comes(pod);
  comes(leaseOf(pod, 0));
  goes(pod);
  EXPECT_FALSE(engine.drained(pod.value().uid))
      << "bound and gone within a gap of the watch, for all we know";
  goes(leaseOf(pod, 0));
  EXPECT_EQ(use(0), DeviceUse::Draining);
}

TEST_F(EngineTest, AnAncestorsLeaseHoldsTheDeviceItIsPlacedOn) {
  model::Lease old;
  old.key = {"team", "gpu-node-a-2"};
  old.uid = model::Uid{"old"};
  old.revision = 3;
  old.managed = true;
  old.holder = "uid-p";
  comes(old);
  EXPECT_EQ(use(2), DeviceUse::Free) << "it says neither node nor device";
  engine.placeLease(old.key, model::NodeName{"node-a"}, 2);
  EXPECT_EQ(use(2), DeviceUse::Held);
  goes(old);
  EXPECT_EQ(use(2), DeviceUse::Free);
}

TEST_F(EngineTest, ABlockedDeviceIsHeldUntilUnblocked) {
  engine.blockDevice(model::NodeName{"node-a"}, 1);
  EXPECT_EQ(use(1), DeviceUse::Held);
  engine.unblockDevices();
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(EngineTest, ALeaseOfOursUnderItsNameUnblocksADevice) {
  engine.blockDevice(model::NodeName{"node-a"}, 1);
  const PodBuilder pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(pod);
  comes(leaseOf(pod, 1));
  ASSERT_EQ(node().device(1)->holders.size(), 1U);
  EXPECT_EQ(node().device(1)->holders[0].uid, pod.value().uid);
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

TEST_F(EngineTest, SharesAreOnTheirWayUntilTakenAndWholeDevicesUntilTheyAreKnown) {
  const auto flights = [&] { return engine.ledger().find(model::NodeName{"node-a"})->in_flight.size(); };
  for (const std::int64_t cores : {50, 100}) {
    const bool whole = cores == 100;
    model::Pod pod = PodBuilder("p" + std::to_string(cores)).on("node-a").value();
    pod.share_limits = {{cores, 1}};
    pod.annotations = model::printVcudaNote({model::NodeName{"node-a"}, {{0, {1}}}, 7, false});
    pod.revision = 10;
    const auto comesNow = [&] {
      ++pod.revision;
      engine.apply({kapi::kPod, pod.key, {}, shared(pod), pod.revision}, now);
    };
    comesNow();
    EXPECT_EQ(flights(), 1U) << cores;
    pod.taken_by_kubelet = true;
    comesNow();
    EXPECT_EQ(flights(), whole ? 1U : 0U) << "gpu-manager takes any device for a whole one";
    pod.annotations[model::kVcudaAssignedKey] = "true";
    comesNow();
    EXPECT_EQ(flights(), 0U) << cores;
  }
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
  ASSERT_TRUE(engine.wantsStatusRevision());
  engine.tellStatusRevision(*engine.wantsStatusRevision(), 100);  // later than the two looks that come now
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 3;
  seen.observed_time = "t1";
  seen.devices[1].in_use_by = {pod.value().uid};
  statusComes(seen);
  EXPECT_EQ(use(1), DeviceUse::Draining);
  seen.revision = 4;
  seen.observed_time = "t2";
  seen.devices[1].in_use_by = {};
  statusComes(seen);
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
