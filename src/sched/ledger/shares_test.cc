#include "sched/ledger/shares.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cpu_time_test.h"
#include "base/random.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {
namespace {

/// A node of gpu-manager with so many devices of 16 GiB each.
model::Node shareNode(const std::string& name, int devices) {
  model::Node n;
  n.name = model::NodeName{name};
  n.share_capacity = {100 * devices, 64 * devices};
  return n;
}

PodRequest shareRequest(std::vector<ContainerShare> shares) {
  PodRequest r;
  r.door = &kVcudaDoor;
  r.shares = std::move(shares);
  return r;
}

ContainerShare part(std::int64_t cores, std::int64_t memory) { return {0, cores * 10, memory * 256}; }

class Shares : public ::testing::Test {
 protected:
  Shares() { ledger.upsertNode(shareNode("n", 2)); }

  [[nodiscard]] const NodeState& node() const { return *ledger.find(model::NodeName{"n"}); }
  Verdict<ShareChoice> fit(std::vector<ContainerShare> shares) {
    return fitShares(node(), shareRequest(std::move(shares)));
  }
  /// As a bound pod that the kubelet has taken.
  void give(const char* uid, int id, const ContainerShare& share) {
    for (const auto& [device, amount] : amountsOf({{share, {id}}})) {
      ledger.hold(model::NodeName{"n"}, device, model::Uid{uid}, Source::BoundPod, amount);
    }
  }
  void send(const char* uid, int id, const ContainerShare& share) {
    give(uid, id, share);
    ledger.setInFlight(model::NodeName{"n"}, model::Uid{uid}, Source::BoundPod, {{share, {id}}});
  }

  Ledger ledger;
};

Reason reasonOf(const Verdict<ShareChoice>& verdict) { return verdict ? Reason{} : verdict.error().reason; }

TEST_F(Shares, DevicesComeFromTheCapacity) {
  EXPECT_EQ(freeShares(node()), (std::vector<FreeShare>{{0, 1000, 16'384}, {1, 1000, 16'384}}));
  EXPECT_EQ(node().free_milli, 2000);
  EXPECT_EQ(node().free_mib, 32'768);
}

TEST_F(Shares, ACapacityBelowOneGpuIsNoGpu) {
  model::Node n = shareNode("n", 0);
  n.share_capacity[0] = 99;
  ledger.upsertNode(n);
  EXPECT_EQ(reasonOf(fit({part(10, 1)})), Reason::NoGpu);
}

TEST_F(Shares, WhatPodsHoldIsNotFree) {
  give("a", 1, part(30, 3));
  EXPECT_EQ(freeShares(node()), (std::vector<FreeShare>{{0, 1000, 16'384}, {1, 700, 16'384 - 768}}));
  EXPECT_EQ(*fit({part(60, 1)}), (ShareChoice{{1}}));
  EXPECT_EQ(*fit({part(80, 1)}), (ShareChoice{{0}}));
}

TEST_F(Shares, ExclusiveHoldersAndSharersWithoutAmountsLeaveNothing) {
  ledger.hold(model::NodeName{"n"}, 0, model::Uid{"a"}, Source::Lease, {});
  ledger.hold(model::NodeName{"n"}, 1, model::Uid{"b"}, Source::Lease, {true, 0, 0});
  EXPECT_EQ(node().free_milli, 0);
  EXPECT_EQ(reasonOf(fit({part(1, 1)})), Reason::TooFewFree);
}

TEST_F(Shares, ADeviceGivenTwiceHasNothingLeftAndNoDebt) {
  give("a", 0, part(80, 1));
  give("b", 0, part(80, 1));
  EXPECT_EQ(freeShares(node())[0].milli, 0);
}

TEST_F(Shares, HoldingsOfOtherIdsDoNotCount) {
  give("a", 7, part(80, 1));
  EXPECT_EQ(node().free_milli, 2000);
}

TEST_F(Shares, AnUnhealthyDeviceIsNotGiven) {
  model::GpuNodeStatus status;
  status.node = model::NodeName{"n"};
  model::Device sick;
  sick.id = 0;
  sick.health = model::Health::Unhealthy;
  status.devices = {sick};
  ledger.upsertStatus(status);
  EXPECT_EQ(*fit({part(10, 1)}), (ShareChoice{{1}}));
  status.devices[0].health = model::Health::Healthy;
  status.devices[0].id_moved = true;
  ledger.upsertStatus(status);
  EXPECT_EQ(*fit({part(10, 1)}), (ShareChoice{{1}})) << "its id may reach another one";
  status.devices[0].id_moved = false;
  ledger.upsertStatus(status);
  EXPECT_EQ(*fit({part(10, 1)}), (ShareChoice{{0}}));
}

TEST_F(Shares, ANodeOfAnotherEnforcerIsRefused) {
  model::Node n = shareNode("n", 2);
  n.labels["gpu.scheduling/enforcer"] = "hami";
  ledger.upsertNode(n);
  EXPECT_EQ(reasonOf(fit({part(10, 1)})), Reason::ManagedByOther);
}

TEST_F(Shares, QuotaComesFirst) {
  PodRequest r = shareRequest({part(10, 1)});
  r.quota = QuotaBound{"ml", 0, {"model", {"M40"}, "pool", {}}};
  EXPECT_EQ(reasonOf(fitShares(node(), r)), Reason::ExceedsQuota);
  model::Node n = shareNode("n", 2);
  n.labels["model"] = "M40";
  ledger.upsertNode(n);
  EXPECT_TRUE(fitShares(node(), r));
}

// ---- What is certain

TEST_F(Shares, TheSameDeviceInAnyOrderIsCertain) {
  send("a", 0, part(30, 1));
  EXPECT_EQ(*fit({part(30, 1)}), (ShareChoice{{0}}));
}

TEST_F(Shares, ADeviceThatIsTightestOnlyAfterOthersWaits) {
  send("a", 0, part(60, 1));
  EXPECT_EQ(reasonOf(fit({part(60, 1)})), Reason::NotTakenYet);
  ledger.setInFlight(model::NodeName{"n"}, model::Uid{"a"}, Source::BoundPod, {});
  EXPECT_EQ(*fit({part(60, 1)}), (ShareChoice{{1}}));
}

TEST_F(Shares, ADeviceThatAnotherInFlightWouldThenPickWaits) {
  give("x", 1, part(50, 1));
  send("a", 1, part(20, 1));  // to the one that is tighter
  EXPECT_EQ(reasonOf(fit({part(60, 1)})), Reason::NotTakenYet) << "after it device 0 would be tighter for a";
  EXPECT_EQ(*fit({part(90, 1)}), (ShareChoice{{0}})) << "which leaves a no room there";
}

TEST_F(Shares, APodOfBothKindsIsTakenWhenNobodyIsInFlight) {
  EXPECT_EQ(*fit({{1, 0, 0}, part(80, 1)}), (ShareChoice{{0}, {1}}));
}

TEST_F(Shares, NoShareOfAnUntouchedDeviceBesideWholeOnesInFlight) {
  ledger.upsertNode(shareNode("n", 3));
  give("x", 2, part(50, 1));
  send("a", 0, {1, 0, 0});
  EXPECT_EQ(*fit({part(50, 1)}), (ShareChoice{{2}})) << "nobody takes a touched one whole";
  EXPECT_EQ(reasonOf(fit({part(60, 1)})), Reason::NotTakenYet);
  EXPECT_EQ(*fit({{1, 0, 0}}), (ShareChoice{{1}})) << "which ones are whole does not matter";
}

TEST_F(Shares, WhoIsBoundAndStillReservedIsInFlightOnce) {
  send("a", 0, {1, 0, 0});
  ledger.setInFlight(model::NodeName{"n"}, model::Uid{"a"}, Source::Reservation, {{{1, 0, 0}, {0}}});
  EXPECT_EQ(*fit({{1, 0, 0}}), (ShareChoice{{1}})) << "of two devices one is left";
}

TEST_F(Shares, NoWholeDeviceWhileAShareIsOnItsWayToAnUntouchedOne) {
  send("a", 0, part(30, 1));
  EXPECT_EQ(reasonOf(fit({{1, 0, 0}})), Reason::NotTakenYet);
}

TEST_F(Shares, APodOfSeveralContainersWaitsForOneItCouldBeMixedUpWith) {
  const auto sendTwo = [&](const char* uid, const ContainerShare& a, const ContainerShare& b) {
    give(uid, 0, a);
    give(uid, 0, b);
    ledger.setInFlight(model::NodeName{"n"}, model::Uid{uid}, Source::BoundPod, {{a, {0}}, {b, {0}}});
  };
  sendTwo("a", part(10, 1), part(20, 1));
  EXPECT_EQ(reasonOf(fit({part(20, 1)})), Reason::NotTakenYet) << "a's second could be served for it";
  EXPECT_EQ(reasonOf(fit({part(10, 1), part(30, 1)})), Reason::NotTakenYet);
  EXPECT_EQ(*fit({part(10, 2), part(20, 2)}), (ShareChoice{{0}, {0}})) << "one for the other, whole";
  EXPECT_EQ(*fit({part(15, 1), part(25, 1)}), (ShareChoice{{0}, {0}}));
}

TEST_F(Shares, APodInFlightWithoutAnnotationsMakesNothingCertain) {
  ledger.setInFlight(model::NodeName{"n"}, model::Uid{"a"}, Source::BoundPod, {{part(30, 1), {}}});
  EXPECT_EQ(reasonOf(fit({part(10, 1)})), Reason::NotTakenYet);
}

/// Its annotations may name anything.
TEST_F(Shares, NorDoesOneOnADeviceThatIsNotThere) {
  ledger.setInFlight(model::NodeName{"n"}, model::Uid{"a"}, Source::BoundPod, {{part(30, 1), {1'000'000}}});
  EXPECT_EQ(reasonOf(fit({part(10, 1)})), Reason::NotTakenYet);
}

TEST_F(Shares, APodCostsAsMuchAsThereAreOthersInFlight) {
  const auto costBeside = [&](int n) {
    for (int i = 0; i < n; ++i) { send(("in-flight-" + std::to_string(i)).c_str(), 0, part(1, 1)); }
    return cpuSecondsOf([&] { (void)fit({part(10, 1)}); });
  };
  const double few = costBeside(400);
  EXPECT_LT(costBeside(4'000), 40 * few);
}

TEST_F(Shares, WhoTakesUncertainOnesGetsThem) {
  send("a", 0, part(60, 1));
  PodRequest r = shareRequest({part(60, 1)});
  r.only_certain = false;
  EXPECT_EQ(*fitShares(node(), r), (ShareChoice{{1}}));
}

/// gpu-manager of one node, as it picks when the kubelet takes a pod:
/// what it gave so far is all that it knows.
class ManagerModel {
 public:
  explicit ManagerModel(int devices) {
    for (int id = 0; id < devices; ++id) { free_.push_back({id, kWholeMilli, 16'384}); }
  }
  /// What it really gives; any untouched devices where whole ones are asked for.
  SharePicks take(const SharePicks& told, Rng& rng) {
    SharePicks given = told;
    for (auto& pick : given) {
      pick.ids.clear();
      for (std::int64_t i = 0; i < pick.asked.whole; ++i) { pick.ids.push_back(anyUntouched(rng)); }
      if (pick.asked.milli > 0) { pick.ids = (*tightestFit(free_, {pick.asked}))[0]; }
      if (pick.asked.milli > 0) {
        free_[static_cast<std::size_t>(pick.ids[0])].milli -= pick.asked.milli;
        free_[static_cast<std::size_t>(pick.ids[0])].mib -= pick.asked.mib;
      }
    }
    return given;
  }
  void give(const SharePicks& back) {
    for (const auto& pick : back) {
      for (const int id : pick.ids) {
        auto& d = free_[static_cast<std::size_t>(id)];
        d.milli = pick.asked.whole > 0 ? kWholeMilli : d.milli + pick.asked.milli;
        d.mib = pick.asked.whole > 0 ? 16'384 : d.mib + pick.asked.mib;
      }
    }
  }

 private:
  int anyUntouched(Rng& rng) {
    std::vector<FreeShare*> untouched;
    for (auto& d : free_) {
      if (d.milli == kWholeMilli) { untouched.push_back(&d); }
    }
    FreeShare& d = *untouched.at(rng.below(untouched.size()));
    d.milli = d.mib = 0;
    return d.id;
  }
  std::vector<FreeShare> free_;
};

/// Pods come, and the kubelet takes them in any order; they end while none is in flight.
class ManagerPlay {
 public:
  explicit ManagerPlay(std::uint64_t seed)
      : rng_{seed}, devices_{static_cast<int>(1 + rng_.below(6))}, manager_{devices_} {
    ledger_.upsertNode(shareNode("n", devices_));
  }

  void step() {
    const auto what = rng_.below(100);
    if (what < 50) {
      come();
    } else if (what < 85) {
      take();
    } else if (flying_.empty() && !running_.empty()) {
      end();
    }
  }
  int placed = 0;

 private:
  struct Pod {
    model::Uid uid;
    SharePicks picks;
  };

  std::vector<ContainerShare> drawn() {
    if (rng_.chance(20)) { return {{static_cast<std::int64_t>(1 + rng_.below(2)), 0, 0}, {}}; }
    std::vector<ContainerShare> asked;
    const auto containers = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < containers; ++i) {
      asked.push_back(rng_.chance(10) ? ContainerShare{}
                                      : part(static_cast<std::int64_t>(10 * (1 + rng_.below(9))),
                                             static_cast<std::int64_t>(1 + rng_.below(40))));
    }
    return asked;
  }
  void hold(const Pod& pod, bool in_flight) {
    for (int id = 0; id < devices_; ++id) { ledger_.release(kNode, id, pod.uid, Source::BoundPod); }
    for (const auto& [id, amount] : amountsOf(pod.picks)) {
      ledger_.hold(kNode, id, pod.uid, Source::BoundPod, amount);
    }
    ledger_.setInFlight(kNode, pod.uid, Source::BoundPod, in_flight ? pod.picks : SharePicks{});
  }
  void come() {
    const auto asked = drawn();
    const auto choice = fitShares(*ledger_.find(kNode), shareRequest(asked));
    if (!choice) { return; }
    ++placed;
    flying_.push_back({model::Uid{"p" + std::to_string(next_++)}, picksOf(asked, *choice)});
    hold(flying_.back(), true);
  }
  void take() {
    if (flying_.empty()) { return; }
    const auto at = flying_.begin() + static_cast<std::ptrdiff_t>(rng_.below(flying_.size()));
    Pod pod = *at;
    flying_.erase(at);
    const SharePicks given = manager_.take(pod.picks, rng_);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].asked.whole == 0) { ASSERT_EQ(given[i].ids, pod.picks[i].ids) << pod.uid.text; }
    }
    pod.picks = given;
    hold(pod, false);
    running_.push_back(pod);
  }
  void end() {
    const auto at = running_.begin() + static_cast<std::ptrdiff_t>(rng_.below(running_.size()));
    manager_.give(at->picks);
    for (const auto& d : amountsOf(at->picks)) { ledger_.release(kNode, d.id, at->uid, Source::BoundPod); }
    running_.erase(at);
  }

  inline static const model::NodeName kNode{"n"};
  Rng rng_;
  int devices_;
  ManagerModel manager_;
  Ledger ledger_;
  std::vector<Pod> flying_;
  std::vector<Pod> running_;
  int next_ = 0;
};

TEST(SharesProperty, GpuManagerPicksWhatWasChosenInWhateverOrderTheKubeletTakesPods) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    ManagerPlay play{seed};
    for (int i = 0; i < 300; ++i) {
      play.step();
      if (HasFatalFailure()) { FAIL() << "seed " << seed; }
    }
    placed += play.placed;
  }
  EXPECT_GT(placed, 10'000);
}

// ---- Whole GPUs that somebody else has by now

class Moved : public Shares {
 protected:
  Moved() { ledger.upsertNode(shareNode("n", 4)); }

  [[nodiscard]] SharePicks moved(SharePicks picks) const {
    return movedToUntouched(node(), model::Uid{"self"}, std::move(picks));
  }
  const ContainerShare one_{1, 0, 0};
  const ContainerShare two_{2, 0, 0};
};

TEST_F(Moved, WhatIsUntouchedOrOnesOwnStays) {
  give("self", 3, one_);
  EXPECT_EQ(moved({{two_, {1, 3}}}), (SharePicks{{two_, {1, 3}}}));
}

TEST_F(Moved, ATakenOneIsReplacedByTheLowestThatIsUntouched) {
  give("other", 2, one_);
  give("sharer", 0, part(10, 1));
  EXPECT_EQ(moved({{two_, {2, 3}}}), (SharePicks{{two_, {1, 3}}}));
}

TEST_F(Moved, NotByOneThatAnotherContainerOfThePodHas) {
  give("other", 3, one_);
  const SharePicks picks{{one_, {0}}, {one_, {3}}, {part(10, 1), {1}}};
  EXPECT_EQ(moved(picks), (SharePicks{{one_, {0}}, {one_, {2}}, {part(10, 1), {1}}}));
}

TEST_F(Moved, ASharesDeviceIsWhereItIs) {
  give("other", 0, one_);
  EXPECT_EQ(moved({{part(10, 1), {0}}}), (SharePicks{{part(10, 1), {0}}}));
}

TEST_F(Moved, WhereNoneIsLeftItStaysTooAndHasNoRoom) {
  for (int id = 0; id < 3; ++id) { give("other", id, one_); }
  const SharePicks picks = moved({{two_, {0, 1}}});
  EXPECT_EQ(picks, (SharePicks{{two_, {1, 3}}}));
  EXPECT_FALSE(haveRoom(node(), model::Uid{"self"}, picks));
}

// ---- Sums

TEST(AmountsOf, SharesOfOneDeviceAddUpAndAWholeOneIsExclusive) {
  EXPECT_EQ(amountsOf({{part(10, 1), {0}}, {part(20, 2), {0}}, {{2, 0, 0}, {1, 2}}, {{}, {}}}),
            (std::vector<DeviceShare>{{0, {true, 300, 768}}, {1, {}}, {2, {}}}));
}

}  // namespace
}  // namespace gs::sched
