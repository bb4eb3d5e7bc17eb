// Which devices of a node are held, by whom, and how many nobody can name: of PodDevices alone, and as the
// ledger of an engine has it.
#include "engine/pod_devices.h"

#include <fmt/format.h>

#include "engine/engine_hand_test.h"
#include "model/vcuda.h"

namespace gs::engine {
namespace {

using sched::Amount;
using sched::Source;

/// Alone, on a cache that is filled by hand.
class PodDevicesAlone : public ::testing::Test {
 protected:
  using Hold = PodDevices::Hold;
  using Holds = PodDevices::Holds;

  void comes(const PodBuilder& pod) { cache.putPod(pod.make()); }
  void comes(const model::Lease& lease) { cache.putLease(std::make_shared<const model::Lease>(lease)); }
  /// Four GPUs, those of 0 and 1 with each other's ids; p is seen to use 3.
  void swapped() {
    auto status = testing::makeStatus("node-a", 4);
    std::swap(status.devices[0].uuid, status.devices[1].uuid);
    status.devices[3].in_use_by = {model::Uid{"uid-p"}};
    cache.putStatus(std::make_shared<const model::GpuNodeStatus>(status));
  }
  static PodBuilder bound(const char* allocated = "node-a:1") {
    return PodBuilder("p").on("node-a").allocated(allocated).running();
  }
  /// `devices`: the whole reservation.
  static model::Lease lease(int gpu, const char* devices, const char* reservation = "r1",
                            const char* node = "node-a") {
    model::Lease lease = testing::makeLease(node, gpu, PodBuilder("p").value(), reservation, devices);
    lease.uuid = fmt::format("GPU-{}-{}", node, gpu);
    return lease;
  }
  /// 300 thousandths and 10 MiB of it.
  static model::Lease sharedLease(int gpu, const char* devices) {
    model::Lease shared = lease(gpu, devices);
    shared.holder = "shared";
    shared.pod_uid = {};
    shared.holders = {{model::Uid{"uid-p"}, {"default", "p"}, 300, 10, shared.reservation, devices}};
    return shared;
  }
  [[nodiscard]] Holds held() const { return devices.devices(model::Uid{"uid-p"}, nullptr); }
  static Hold by(Source source, int id) { return {model::NodeName{"node-a"}, id, source}; }
  [[nodiscard]] std::vector<int> heldIds(const PodBuilder& pod, const std::vector<int>& given) const {
    return devices.heldIds(pod.value(), given);
  }

  Cache cache;
  LeaseMemory leases{cache};
  PodDevices devices{cache, leases, sched::kDoors};
};

TEST_F(PodDevicesAlone, ALeaseHoldsUntilItGoesAndTheRestWhileThePodRunsThere) {
  struct Case {
    const char* what;
    std::optional<PodBuilder> pod;
    bool is_leased;
    std::vector<Source> held;  // of GPU 1
  };
  const PodBuilder waits = PodBuilder("p").allocated("node-a:1");
  const PodBuilder over = PodBuilder(bound()).phase(model::PodPhase::Succeeded).terminated();
  const Case cases[] = {
      {"not known", std::nullopt, false, {}},
      {"not known, leased", std::nullopt, true, {Source::Lease}},
      {"waits", waits, false, {}},
      {"waits, leased", waits, true, {Source::Lease}},
      {"bound", bound(), false, {Source::BoundPod}},
      {"bound, leased", bound(), true, {Source::Lease, Source::BoundPod}},
      {"bound, names another node", bound("node-b:1"), false, {}},
      {"over", over, false, {}},
      {"over, leased", over, true, {Source::Lease}},
  };
  for (const auto& c : cases) {
    cache = {};
    if (c.pod) { comes(*c.pod); }
    if (c.is_leased) { comes(lease(1, "node-a:1")); }
    Holds want;
    for (const Source source : c.held) { want[by(source, 1)] = Amount{}; }
    EXPECT_EQ(held(), want) << c.what;
  }
}

/// Who has read the pod hands that on: it must be the same, and it must be what counts.
TEST_F(PodDevicesAlone, WhatWasReadOfAPodIsTakenAsItIs) {
  comes(bound());
  const model::Uid uid{"uid-p"};
  sched::Holdings said = devices.read(*cache.pod(uid));
  EXPECT_EQ(devices.devices(uid, &said), held());
  said.ids = {2};
  EXPECT_EQ(devices.devices(uid, &said), (Holds{{by(Source::BoundPod, 2), Amount{}}}));
}

/// Another GPU has its id now: nobody may be given that one, not to share it either, for its lease has the
/// name. Its own GPU is held as the lease says.
TEST_F(PodDevicesAlone, ALeaseWhoseGpuHasAnotherIdHoldsBoth) {
  swapped();
  comes(sharedLease(0, "node-a:0"));
  EXPECT_EQ(held(), (Holds{{by(Source::Lease, 0), Amount{}}, {by(Source::Lease, 1), Amount{true, 300, 10}}}));
}

/// Each one's name stands for the other one's GPU.
TEST_F(PodDevicesAlone, TwoLeasesWhoseGpusChangedIdsHoldBothWholly) {
  swapped();
  for (const int gpu : {0, 1}) { comes(sharedLease(gpu, "node-a:0,1")); }
  EXPECT_EQ(held(), (Holds{{by(Source::Lease, 0), Amount{}}, {by(Source::Lease, 1), Amount{}}}));
}

TEST_F(PodDevicesAlone, WhatAPodWasToldSaysWhichDevicesItHasNow) {
  swapped();
  struct Case {
    const char* what;
    const char* told;
    const char* leased;  // the UUID on its lease; nullptr: it has none
    std::vector<int> held;
  };
  const Case cases[] = {
      {"a UUID", "GPU-node-a-0", nullptr, {1}},
      {"a UUID, and its lease says the same", "GPU-node-a-0", "GPU-node-a-0", {1}},
      {"a UUID, and its lease says another: one was edited", "GPU-node-a-0", "GPU-node-a-3", {0, 1, 3}},
      {"a UUID that is there no more", "GPU-gone", nullptr, {0}},
      {"an id: a container that starts again gets what has it", "0", nullptr, {0}},
      {"an id, and its lease says which GPU that was", "0", "GPU-node-a-0", {0, 1}},
  };
  for (const auto& c : cases) {
    if (const model::Lease old = lease(0, ""); cache.lease(old.key) != nullptr) {
      (void)cache.removeLease(old.key, {}, 0);
    }
    if (c.leased != nullptr) {
      model::Lease one = lease(0, "node-a:0");
      one.uid = model::Uid{c.what};
      one.uuid = c.leased;
      comes(one);
    }
    const auto pod = bound("node-a:0").annotate(model::kVisibleDevicesKey, c.told);
    EXPECT_EQ(heldIds(pod, {0}), c.held) << c.what;
  }
}

/// Leases of an earlier decision may land late.
TEST_F(PodDevicesAlone, OnlyLeasesOfItsReservationSayWhatAPodHas) {
  comes(lease(0, "node-a:2", "r1"));
  comes(lease(1, "node-a:1", "r2"));
  comes(lease(3, "node-a:3", "r3"));
  const auto says = [](const char* reservation) {
    return bound("node-a:2").annotate(model::kReservationKey, reservation);
  };
  EXPECT_EQ(heldIds(says("r2"), {2}), (std::vector<int>{1, 2}));
  EXPECT_EQ(heldIds(says("edited"), {2}), (std::vector<int>{0, 2})) << "those that were written for its ids";
  EXPECT_EQ(heldIds(bound("node-a:1"), {1}), (std::vector<int>{1})) << "that of the id";
}

TEST_F(PodDevicesAlone, AnEndedPodHadAllThatAnybodySaysOfItsNode) {
  swapped();
  comes(lease(0, "node-a:0"));
  comes(lease(5, "node-b:5", "r2", "node-b"));
  const auto over = bound("node-a:2").phase(model::PodPhase::Failed);
  const auto had = [&](const PodBuilder& pod) {
    return devices.ofEnded(pod.value(), devices.read(pod.value()));
  };
  EXPECT_EQ(had(over), (std::vector<int>{0, 1, 2, 3})) << "its lease says both 0 and 1, its agent 3";
  EXPECT_EQ(had(PodBuilder("p").on("node-a")), (std::vector<int>{0, 1})) << "of its leases alone";
  const auto leased = devices.leasedIds(model::Uid{"uid-p"});
  EXPECT_EQ(leased.at(model::NodeName{"node-a"}), (std::vector<int>{0, 1}));
  EXPECT_EQ(leased.at(model::NodeName{"node-b"}), (std::vector<int>{5})) << "nothing is known of its GPUs";
}

TEST_F(PodDevicesAlone, AQuotaIsChargedByTheLeasesOfThePodsNodeOnly) {
  const auto charged = [&](const PodBuilder& pod) {
    return devices.chargedCount(pod.value(), devices.read(pod.value()));
  };
  const auto pod = PodBuilder("p").on("node-a").gpus(1);
  EXPECT_EQ(charged(pod), 1U);
  comes(lease(0, "node-b:0,1,2", "r1", "node-b"));
  EXPECT_EQ(charged(pod), 1U) << "an earlier decision's";
  comes(lease(1, "node-b:0,1,2"));
  EXPECT_EQ(charged(pod), 1U) << "it names another node";
  comes(lease(2, "node-a:2,3", "r2"));
  EXPECT_EQ(charged(pod), 2U);
}

// ---- As the ledger has it

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
