// What PodDevices says is held, as the ledger of an engine has it.
#include "engine/engine_hand_test.h"
#include "model/vcuda.h"

namespace gs::engine {
namespace {

class PodDevicesTest : public EngineTest {};

TEST_F(PodDevicesTest, LeaseAndBoundPodEachHoldTheDevice) {
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(leaseOf(pod, 1));
  EXPECT_EQ(use(1), DeviceUse::Held);
  comes(pod);
  goes(leaseOf(pod, 1));
  EXPECT_EQ(use(1), DeviceUse::Held) << "deleted by hand: the pod has it";
  comes(PodBuilder(pod).revision(9).phase(model::PodPhase::Succeeded).terminated());
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(PodDevicesTest, AnUnboundPodsAnnotationMeansNothing) {
  comes(PodBuilder("p").allocated("node-a:1"));
  EXPECT_EQ(use(1), DeviceUse::Free);
  EXPECT_EQ(node().used_pods, 0);
}

TEST_F(PodDevicesTest, AnAnnotationThatNamesAnotherNodeHoldsNothingThere) {
  comes(PodBuilder("p").on("node-a").allocated("node-b:1").gpus(1).running());
  EXPECT_EQ(node().anonymous, 1) << "it asks for one, and we do not know which";
  EXPECT_EQ(use(1), DeviceUse::Free);
}

TEST_F(PodDevicesTest, BareIdsCountOnThePodsNode) {
  comes(PodBuilder("p").on("node-a").allocated("2,3").scheduler("other").running());
  EXPECT_EQ(use(2), DeviceUse::Held);
  EXPECT_EQ(use(3), DeviceUse::Held);
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(PodDevicesTest, WhatTheAgentSeesInUseIsNoLongerAnonymous) {
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

/// GPU 1 was lost under a pod that was given 0 and 1, or two by number: its number may mean GPU 2 now.
class QuotaOfWhatMayBeTwoGpus : public EngineTest {
 protected:
  QuotaOfWhatMayBeTwoGpus() { sees(model::Health::Unhealthy, 2); }
  void sees(model::Health health, model::Revision revision) {
    auto seen = testing::makeStatus("node-a", 4);
    seen.revision = revision;
    for (const std::size_t id : {0U, 1U, 2U}) { seen.devices[id].in_use_by = {model::Uid{"uid-p"}}; }
    for (const std::size_t id : {1U, 2U, 3U}) { seen.devices[id].health = health; }
    statusComes(seen);
  }
  static PodBuilder bound() { return PodBuilder("p").on("node-a").running(); }
  [[nodiscard]] std::int64_t charged() const { return engine.ledger().gpuUse("default", ""); }
};

TEST_F(QuotaOfWhatMayBeTwoGpus, ChargesWhatWasGiven) {
  const auto pod = bound().allocated("node-a:0,1").annotate(model::kVisibleDevicesKey, "0,1");
  comes(pod);
  EXPECT_EQ(use(2), DeviceUse::Held) << "nobody else is given any of the three";
  EXPECT_EQ(charged(), 2000);
  comes(testing::makeLease("node-a", 0, pod.value(), "r1", "node-a:0,1"));
  EXPECT_EQ(charged(), 2000);
}

TEST_F(QuotaOfWhatMayBeTwoGpus, ChargesWhatWasAskedByNumber) {
  comes(bound().gpus(2));
  EXPECT_EQ(charged(), 2000);
}

TEST_F(QuotaOfWhatMayBeTwoGpus, ChargesAllThatIsSurelySeenWhateverAnybodyWrote) {
  sees(model::Health::Healthy, 3);
  model::Revision revision = 1;
  for (const char* told : {"0,1,2", "0", ""}) {
    comes(bound().revision(++revision).allocated("node-a:0").annotate(model::kVisibleDevicesKey, told));
    EXPECT_EQ(charged(), 3000) << told;
  }
  comes(bound().revision(++revision).gpus(1));
  EXPECT_EQ(charged(), 3000);
}

TEST_F(QuotaOfWhatMayBeTwoGpus, FollowsTheHealthOfWhatIsSeen) {
  comes(bound().allocated("node-a:0"));
  EXPECT_EQ(charged(), 1000);
  sees(model::Health::Healthy, 3);
  EXPECT_EQ(charged(), 3000);
  sees(model::Health::Unhealthy, 4);
  EXPECT_EQ(charged(), 1000);
}

TEST_F(QuotaOfWhatMayBeTwoGpus, ChargesWhatItsLeasesSay) {
  const auto pod = bound().allocated("node-a:0");
  comes(pod);
  EXPECT_EQ(charged(), 1000);
  comes(testing::makeLease("node-a", 0, pod.value(), "r1", "node-a:0,1"));
  EXPECT_EQ(charged(), 2000);
}

/// Who may edit its annotation would free a GPU that its containers have: a kubelet gave it one, and nobody
/// says which.
TEST_F(PodDevicesTest, NamingWhatAnotherHoldsTakesNothingOffACount) {
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

TEST_F(PodDevicesTest, AContestedNameTakesNothingOffWhatIsReclaimed) {
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

TEST_F(PodDevicesTest, ALeaseSaysThatAContestedNameIsTrue) {
  const auto pod = PodBuilder("p").on("node-a").gpus(1).allocated("node-a:0").running();
  comes(leaseOf(pod, 0));
  comes(pod);
  comes(PodBuilder("other").on("node-a").allocated("node-a:0").running());
  EXPECT_EQ(node().anonymous, 0);
  EXPECT_EQ(node().free_devices, 3);
}

/// The API server went back to a state in which it was not bound yet (a restored backup), and its kubelet
/// runs it still.
TEST_F(PodDevicesTest, WhatTheAgentSeesAPodUseThatIsNotBoundIsGivenToNobody) {
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
TEST_F(PodDevicesTest, WhatTheAgentSeesAPodUseThatAskedForSomeIsHeld) {
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
TEST_F(PodDevicesTest, ALeaseFollowsItsGpuThoughNoGpuHasItsIdAnyMore) {
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
TEST_F(PodDevicesTest, WhatTheAgentSeesAPodUseIsNotAnonymous) {
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

TEST_F(PodDevicesTest, TheLeaseSaysWhetherItIsShared) {
  const auto pod = PodBuilder("p").on("node-a").allocated("node-a:0").running();
  model::Lease lease = leaseOf(pod, 0);
  lease.holder = "shared";
  lease.holders = {{model::Uid{"uid-p"}, {"default", "p"}, 0, 0, model::ReservationId{"r1"}, "node-a:0"}};
  comes(lease);
  comes(pod);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared);
  goes(lease);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared) << "as its last lease said";
  EXPECT_EQ(engine.leaseMemory().shares(model::Uid{"uid-p"}), true);
}

TEST_F(PodDevicesTest, WithoutALeaseTheClaimSaysWhetherItIsShared) {
  comes(PodBuilder("p").claim("c").on("node-a").allocated("node-a:0").running());
  EXPECT_FALSE(node().devices[0].holders[0].amount.shared);
  auto claim = testing::makeClaim("c");
  claim.exclusivity = model::Exclusivity::Shared;
  engine.apply({kapi::kGpuClaim, claim.key, {}, shared(claim), 1}, now);
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared);
}

TEST_F(PodDevicesTest, WithoutALeaseAPodWithAMapSharesWhatItHas) {
  const auto mapped = PodBuilder("p-0").annotate("gpu-scheduling-map", "0=node-a:0").on("node-a").running();
  comes(PodBuilder(mapped).allocated("node-a:0"));
  EXPECT_TRUE(node().devices[0].holders[0].amount.shared);
  comes(leaseOf(mapped, 0));
  EXPECT_FALSE(node().devices[0].holders[0].amount.shared) << "its lease knows better";
}

TEST_F(PodDevicesTest, WhatAPodWithAMapUsesIsHeldThoughNothingElseSpeaksOfIt) {
  comes(PodBuilder("p-0").annotate("gpu-scheduling-map", "0=node-a:0").on("node-a").running());
  EXPECT_EQ(use(2), DeviceUse::Free);
  auto seen = testing::makeStatus("node-a", 4);
  seen.revision = 2;
  seen.devices[2].in_use_by = {model::Uid{"uid-p-0"}};
  statusComes(seen);
  EXPECT_EQ(use(2), DeviceUse::Held);
}

TEST_F(PodDevicesTest, AStatusThatShrinksTakesNothingFromHolders) {
  comes(PodBuilder("p").on("node-a").allocated("node-a:3").running());
  auto less = testing::makeStatus("node-a", 2);
  less.revision = 2;
  statusComes(less);
  EXPECT_EQ(use(3), DeviceUse::Held);
  EXPECT_FALSE(node().device(3)->listed);
  EXPECT_EQ(node().free_devices, 2);
}

TEST_F(PodDevicesTest, AnAncestorsLeaseHoldsTheDeviceItIsPlacedOn) {
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

TEST_F(PodDevicesTest, ABlockedDeviceIsHeldUntilUnblocked) {
  engine.blocks().block(model::NodeName{"node-a"}, 1);
  EXPECT_EQ(use(1), DeviceUse::Held);
  engine.blocks().unblockAll();
  EXPECT_EQ(use(1), DeviceUse::Free);
}

/// Whoever deleted it; it says where it stood.
TEST_F(PodDevicesTest, ADeviceIsFreeOnceTheLeaseThatCannotBeReadIsGone) {
  model::Lease odd;
  odd.key = {"default", "gpu-node-a-1"};
  odd.uid = model::Uid{"odd"};
  odd.revision = 3;
  odd.managed = true;
  odd.node = model::NodeName{"node-a"};
  odd.gpu = 1;
  odd.holder = "gone";
  odd.malformed = "annotation gpu.scheduling/reservation is missing";
  comes(odd);
  engine.blocks().block(model::NodeName{"node-a"}, 1);
  ASSERT_EQ(use(1), DeviceUse::Held);
  goes(odd);
  EXPECT_EQ(use(1), DeviceUse::Free);
  EXPECT_TRUE(engine.blocks().blocked().empty());
}

TEST_F(PodDevicesTest, ALeaseOfOursUnderItsNameUnblocksADevice) {
  engine.blocks().block(model::NodeName{"node-a"}, 1);
  const PodBuilder pod = PodBuilder("p").on("node-a").allocated("node-a:1").running();
  comes(pod);
  comes(leaseOf(pod, 1));
  ASSERT_EQ(node().device(1)->holders.size(), 1U);
  EXPECT_EQ(node().device(1)->holders[0].uid, pod.value().uid);
}

TEST_F(PodDevicesTest, SharesAreOnTheirWayUntilTakenAndWholeDevicesUntilTheyAreKnown) {
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

TEST_F(PodDevicesTest, PodsThatNameTheSameGpusHaveTheirOwnBesides) {
  std::string ids = "0";
  for (int id = 1; id < 400; ++id) { ids += "," + std::to_string(id); }
  comes(PodBuilder("p").on("node-a").gpus(1).allocated(ids).running());
  EXPECT_EQ(node().anonymous, 0) << "0 to 3 are there, and its own";
  comes(PodBuilder("q").on("node-a").gpus(1).allocated(ids).running());
  EXPECT_EQ(node().anonymous, 2);
}

/// Whoever may edit the annotation of a pod that has a GPU by its number frees none by what he writes.
TEST_F(PodDevicesTest, NamingWhatCannotBeGivenTakesNothingOffANumber) {
  struct Case {
    const char* what;
    std::function<void()> make;
    const char* named;
  };
  PodBuilder pod = PodBuilder("p").on("node-a").gpus(1).running();
  const PodBuilder other = PodBuilder("q").on("node-a").allocated("node-a:2").running();
  agentLooks();
  const Case cases[] = {
      {"a number that no GPU has", [] {}, "node-a:900"},
      {"one that is Unhealthy",
       [&] {
         auto status = testing::makeStatus("node-a", 4);
         status.revision = 3;
         status.observed_time = "t0";
         status.devices[3].health = model::Health::Unhealthy;
         statusComes(status);
       },
       "node-a:3"},
      {"another's", [&] { comes(other); }, "node-a:2"},
      {"one whose pod ended and whose containers may run", [&] { goes(other); }, "node-a:2"},
      {"one whose lease cannot be read", [&] { engine.blocks().block(model::NodeName{"node-a"}, 1); },
       "node-a:1"},
  };
  comes(pod);
  ASSERT_EQ(node().anonymous, 1);
  std::uint64_t revision = 10;
  for (const auto& c : cases) {
    c.make();
    comes(pod.allocated(c.named).revision(++revision));
    EXPECT_EQ(node().anonymous, 1) << c.what;
  }
  comes(pod.allocated("node-a:0").revision(++revision));
  EXPECT_EQ(node().anonymous, 0) << "what it alone holds is off what can be given";
}

/// A lease of one of the ids that an edited annotation names says nothing of the others.
TEST_F(PodDevicesTest, ALeaseOfOneNamedGpuSaysNothingOfAnother) {
  const PodBuilder other = PodBuilder("q").on("node-a").allocated("node-a:0").running();
  comes(other);
  comes(leaseOf(other, 0));
  const PodBuilder pod = PodBuilder("p").on("node-a").gpus(2).allocated("node-a:0,1").running();
  comes(pod);
  comes(testing::makeLease("node-a", 1, pod.value(), "r2", "node-a:0,1"));
  EXPECT_EQ(node().anonymous, 1);
  EXPECT_EQ(node().free_devices, 1);
}

/// Its author edited what it names, and then its node's status went: the lease says what it has. One that
/// went says nothing: a replica that starts now would not know of it.
TEST_F(PodDevicesTest, WithoutAStatusWhatItsLeasesNameIsKept) {
  const PodBuilder pod =
      PodBuilder("p").on("node-a").allocated("node-a:0").annotate(model::kReservationKey, "r1").running();
  comes(pod);
  comes(leaseOf(pod, 1));
  EXPECT_EQ(engine.podDevices().heldIds(pod.value(), {0}), (std::vector<int>{0}))
      << "the node says nothing of a lease of GPU 1";
  engine.apply({kapi::kGpuNodeStatus, {"", "node-a"}, model::Uid{"gns-node-a"}, {}, 9}, now);
  EXPECT_EQ(engine.podDevices().heldIds(pod.value(), {0}), (std::vector<int>{0, 1}));
  goes(leaseOf(pod, 1));
  EXPECT_EQ(engine.podDevices().heldIds(pod.value(), {0}), (std::vector<int>{0}));
}

}  // namespace
}  // namespace gs::engine
