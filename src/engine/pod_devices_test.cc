// Which devices of a node are held, by whom, and how many nobody can name: of PodDevices alone. As the ledger
// has it: pod_devices_ledger_test.cc.
#include "engine/pod_devices.h"

#include <fmt/format.h>

#include "engine/engine_hand_test.h"

namespace gs::engine {
namespace {

using sched::Amount;
using sched::Source;

/// On a cache that is filled by hand.
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
  AllocatedClaims claims;
  ClaimMemory taken{cache};
  PodDevices devices{cache, leases, claims, taken, sched::kDoors};
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

}  // namespace
}  // namespace gs::engine
