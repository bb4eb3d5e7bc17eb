#include "sched/ledger/ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sched/ledger/derive.h"
#include "sched/ledger/test_facts.h"
#include "sched/placement/decider.h"

namespace gs::sched {
namespace {

const model::NodeName kNodeA{"a"};
const model::Uid kPodP{"p"};
const model::Uid kPodQ{"q"};
constexpr Amount kSharer{true, 0, 0};

TEST(Ledger, AHoldingStaysWhileOneSourceSaysSo) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  l.hold(kNodeA, 0, kPodP, Source::Lease, {});
  l.hold(kNodeA, 0, kPodP, Source::BoundPod, {});
  l.release(kNodeA, 0, kPodP, Source::Lease);
  EXPECT_EQ(stateOf(l, "a").device(0)->use(), DeviceUse::Held);
  EXPECT_EQ(stateOf(l, "a").free_devices, 1);
  l.release(kNodeA, 0, kPodP, Source::Lease);
  EXPECT_EQ(stateOf(l, "a").free_devices, 1) << "released twice";
  l.release(kNodeA, 0, kPodP, Source::BoundPod);
  EXPECT_EQ(stateOf(l, "a").device(0)->use(), DeviceUse::Free);
  EXPECT_EQ(stateOf(l, "a").free_devices, 2);
}

TEST(Ledger, DrainingIsWhatOnlyAnEndedPodHolds) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  l.hold(kNodeA, 0, kPodP, Source::Lease, kSharer);
  l.hold(kNodeA, 0, kPodP, Source::Draining, {});
  EXPECT_EQ(stateOf(l, "a").device(0)->use(), DeviceUse::Held);
  l.release(kNodeA, 0, kPodP, Source::Lease);
  EXPECT_EQ(stateOf(l, "a").device(0)->use(), DeviceUse::Draining);
  l.hold(kNodeA, 0, kPodQ, Source::Lease, kSharer);
  EXPECT_EQ(stateOf(l, "a").device(0)->use(), DeviceUse::Held) << "another holder is not draining";
}

TEST(Ledger, TheLeasesWordOnTheAmountCounts) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  l.hold(kNodeA, 0, kPodP, Source::Draining, {});
  EXPECT_EQ(stateOf(l, "a").device(0)->holders[0].amount, Amount{});
  l.hold(kNodeA, 0, kPodP, Source::Lease, {true, 500, 1'024});
  l.hold(kNodeA, 0, kPodP, Source::BoundPod, kSharer);
  EXPECT_EQ(stateOf(l, "a").device(0)->holders[0].amount, (Amount{true, 500, 1'024}));
  l.hold(kNodeA, 0, kPodP, Source::Lease, {true, 250, 512});
  EXPECT_EQ(stateOf(l, "a").device(0)->holders[0].amount, (Amount{true, 250, 512})) << "changed";
  l.release(kNodeA, 0, kPodP, Source::Lease);
  EXPECT_EQ(stateOf(l, "a").device(0)->holders[0].amount, kSharer);
}

TEST(Ledger, FactsWinOverCapacity) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  l.hold(kNodeA, 0, kPodP, Source::BoundPod, {});
  l.hold(kNodeA, 0, kPodQ, Source::BoundPod, {});
  EXPECT_EQ(stateOf(l, "a").device(0)->holders.size(), 2U);
  EXPECT_EQ(stateOf(l, "a").free_devices, 0);
}

TEST(Ledger, HoldingsMayComeBeforeTheNodeAndOutliveIt) {
  Ledger l;
  l.hold(kNodeA, 1, kPodP, Source::Lease, {});
  EXPECT_EQ(l.existing(), 0U);
  testNode("a").gpus(2).addTo(l);
  EXPECT_EQ(l.existing(), 1U);
  EXPECT_EQ(stateOf(l, "a").free_devices, 1);
  l.removeStatus(kNodeA);
  l.removeNode(kNodeA);
  EXPECT_EQ(l.existing(), 0U);
  EXPECT_FALSE(stateOf(l, "a").device(1)->listed);
  EXPECT_EQ(stateOf(l, "a").device(0), nullptr);
  testNode("a").gpus(2).addTo(l);
  EXPECT_EQ(stateOf(l, "a").free_devices, 1);
}

TEST(Ledger, AStatusThatShrinksKeepsHolders) {
  Ledger l;
  testNode("a").gpus(4).addTo(l);
  l.hold(kNodeA, 3, kPodP, Source::Lease, {});
  testNode("a").gpus(2).addTo(l);
  EXPECT_EQ(stateOf(l, "a").whole, 2);
  EXPECT_EQ(stateOf(l, "a").device(2), nullptr);
  EXPECT_EQ(stateOf(l, "a").device(3)->holders.size(), 1U);
  EXPECT_EQ(stateOf(l, "a").free_devices, 2) << "a device that is not listed takes nothing away";
  l.release(kNodeA, 3, kPodP, Source::Lease);
  EXPECT_EQ(stateOf(l, "a").device(3), nullptr);
}

TEST(Ledger, APodIsCountedOnceAndAsTheBoundPodSays) {
  Ledger l;
  testNode("a").addTo(l);
  model::Resources small;
  small.cpu_milli = 100;
  model::Resources large;
  large.cpu_milli = 300;
  large.extended[model::kNvidiaGpu] = 2;
  l.usePod(kNodeA, kPodP, Source::Reservation, small, 0);
  EXPECT_EQ(stateOf(l, "a").used, small);
  l.usePod(kNodeA, kPodP, Source::BoundPod, large, 2);
  EXPECT_EQ(stateOf(l, "a").used, large);
  EXPECT_EQ(stateOf(l, "a").used_pods, 1);
  EXPECT_EQ(stateOf(l, "a").anonymous, 2);
  l.usePod(kNodeA, kPodP, Source::BoundPod, large, 0);
  EXPECT_EQ(stateOf(l, "a").anonymous, 0) << "its devices have names now";
  l.unusePod(kNodeA, kPodP, Source::BoundPod);
  EXPECT_EQ(stateOf(l, "a").used, small);
  l.unusePod(kNodeA, kPodP, Source::Reservation);
  EXPECT_EQ(stateOf(l, "a").used, model::Resources{});
  EXPECT_EQ(stateOf(l, "a").used_pods, 0);
}

TEST(Ledger, AbsurdRequestsDoNotBendTheSums) {
  Ledger l;
  testNode("a").addTo(l);
  const std::string before = l.dump();
  model::Resources absurd;
  absurd.memory = std::numeric_limits<std::int64_t>::max();
  absurd.cpu_milli = -7;
  for (const char* uid : {"p", "q", "r"}) {
    l.usePod(kNodeA, model::Uid{uid}, Source::BoundPod, absurd, absurd.memory);
  }
  EXPECT_EQ(stateOf(l, "a").used.cpu_milli, 0);
  EXPECT_EQ(stateOf(l, "a").free_devices, 0);
  for (const char* uid : {"p", "q", "r"}) { l.unusePod(kNodeA, model::Uid{uid}, Source::BoundPod); }
  EXPECT_EQ(l.dump(), before);
}

struct EnforcerCase {
  const char* name;
  std::string label;
  std::int64_t vcuda;
  bool status;
  Enforcer expect;
};
class LedgerEnforcer : public ::testing::TestWithParam<EnforcerCase> {};
TEST_P(LedgerEnforcer, Derived) {
  const auto& c = GetParam();
  Ledger l;
  auto t = testNode("a");
  if (!c.label.empty()) { t.label("gpu.scheduling/enforcer", c.label); }
  if (!c.status) { t.withoutStatus(); }
  t.node.share_capacity = {c.vcuda, 0};
  t.addTo(l);
  EXPECT_EQ(stateOf(l, "a").enforcer, c.expect);
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Table, LedgerEnforcer, ::testing::Values(
    //           name            label          vcuda status expected
    EnforcerCase{"Nothing",      "",            0,    false, Enforcer::Kubelet},
    EnforcerCase{"Status",       "",            0,    true,  Enforcer::Agent},
    EnforcerCase{"Vcuda",        "",            100,  true,  Enforcer::GpuManager},
    EnforcerCase{"LabelWins",    "kubelet",     100,  true,  Enforcer::Kubelet},
    EnforcerCase{"LabelAgent",   "agent",       0,    false, Enforcer::Agent},
    EnforcerCase{"LabelManager", "gpu-manager", 0,    true,  Enforcer::GpuManager},
    EnforcerCase{"LabelHami",    "hami",        0,    true,  Enforcer::Hami},
    EnforcerCase{"LabelShare",   "gpushare",    0,    true,  Enforcer::Gpushare},
    EnforcerCase{"UnknownLabel", "Agent",       0,    false, Enforcer::Kubelet}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

TEST(Ledger, TheEnforcerFollowsTheStatus) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  EXPECT_EQ(stateOf(l, "a").enforcer, Enforcer::Agent);
  l.removeStatus(kNodeA);
  EXPECT_EQ(stateOf(l, "a").enforcer, Enforcer::Kubelet);
}

TEST(Ledger, AStaleAgentMakesAllDevicesUnknown) {
  Ledger l;
  testNode("a").gpus(3).health(2, model::Health::Unhealthy).addTo(l);
  l.setAgentStale(kNodeA, true);
  EXPECT_EQ(stateOf(l, "a").healthy, 0U);
  EXPECT_EQ(stateOf(l, "a").unknown, 0b011U);
  l.setAgentStale(kNodeA, false);
  EXPECT_EQ(stateOf(l, "a").healthy, 0b011U);
}

TEST(Ledger, WhatNoDecisionLooksAtIsNoChange) {
  Ledger l;
  auto t = testNode("a").gpus(2);
  t.addTo(l);
  const std::uint64_t end = l.changesEnd();
  t.node.revision = 7;
  t.status.revision = 8;
  t.status.observed_time = "later";
  t.status.devices[0].in_use_by = {kPodP};
  t.addTo(l);
  l.removeNode(model::NodeName{"b"});
  l.removeStatus(model::NodeName{"b"});
  l.setAgentStale(kNodeA, false);
  l.release(kNodeA, 0, kPodP, Source::Lease);
  l.unusePod(kNodeA, kPodP, Source::BoundPod);
  EXPECT_EQ(l.changesEnd(), end);
  EXPECT_EQ(stateOf(l, "a").device(0)->facts.in_use_by.size(), 1U) << "known all the same";
  l.hold(kNodeA, 0, kPodP, Source::Reservation, {});
  EXPECT_EQ(l.changesEnd(), end + 1);
  l.hold(kNodeA, 0, kPodP, Source::BoundPod, {});
  l.release(kNodeA, 0, kPodP, Source::Reservation);
  EXPECT_EQ(l.changesEnd(), end + 1) << "the same holding by another source";
  l.hold(kNodeA, 0, kPodP, Source::Draining, {});
  l.release(kNodeA, 0, kPodP, Source::BoundPod);
  EXPECT_EQ(l.changesEnd(), end + 2) << "Held became Draining";
}

TEST(Ledger, TheChangeLogIsTrimmed) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  for (int i = 0; i < 100'000; ++i) {
    l.hold(kNodeA, 0, kPodP, Source::Lease, {});
    l.release(kNodeA, 0, kPodP, Source::Lease);
  }
  EXPECT_LE(l.changesEnd() - l.changesBegin(), 1024U);
  EXPECT_GT(l.changesBegin(), 100'000U);
  EXPECT_EQ(l.changedAt(l.changesEnd() - 1), 0U);
}

TEST(Ledger, AnIndexOfANodeThatIsForgottenIsGivenAgain) {
  Ledger l;
  for (int i = 0; i < 1'000; ++i) {
    const auto t = testNode("spot-" + std::to_string(i)).gpus(8);
    t.addTo(l);
    l.hold(t.node.name, 0, kPodP, Source::Lease, {});
    l.removeNode(t.node.name);
    l.removeStatus(t.node.name);
    EXPECT_NE(l.find(t.node.name), nullptr) << "its device is still held";
    l.release(t.node.name, 0, kPodP, Source::Lease);
    EXPECT_EQ(l.find(t.node.name), nullptr);
  }
  EXPECT_EQ(l.size(), 1U);
  EXPECT_EQ(l.dump(), "");
}

TEST(Ledger, AReservationGivesBackByItself) {
  Ledger l;
  testNode("a").gpus(4).addTo(l);
  const std::string before = l.dump();
  {
    Reservation first = l.reserve(kNodeA, kPodP, testClaim(2), {0, 1});
    EXPECT_TRUE(first.active());
    EXPECT_EQ(stateOf(l, "a").free_devices, 2);
    EXPECT_EQ(l.dump(false), before);
    Reservation second = std::move(first);
    EXPECT_FALSE(first.active());  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(second.ids(), (std::vector<int>{0, 1}));
    second = l.reserve(kNodeA, kPodQ, testClaim(1), {3});
    EXPECT_EQ(stateOf(l, "a").free_devices, 3) << "what was assigned over is given back";
  }
  EXPECT_EQ(l.dump(), before);
}

TEST(Ledger, ABoundPodTakesTheReservationsPlace) {
  Ledger l;
  testNode("a").gpus(4).addTo(l);
  PodRequest request = testClaim(1);
  request.resources.cpu_milli = 500;
  Reservation r = l.reserve(kNodeA, kPodP, request, {2});
  l.hold(kNodeA, 2, kPodP, Source::BoundPod, {});
  l.usePod(kNodeA, kPodP, Source::BoundPod, request.resources, 0);
  r.release();
  r.release();
  EXPECT_EQ(stateOf(l, "a").used.cpu_milli, 500);
  EXPECT_EQ(stateOf(l, "a").free_devices, 3);
}

TEST(Ledger, AdoptDoesNotAskWhoElseIsThere) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  l.hold(kNodeA, 0, kPodP, Source::Lease, {});
  l.hold(kNodeA, 0, kPodQ, Source::BoundPod, {});
  const Reservation r = l.adopt(kNodeA, kPodP, testClaim(1), {0});
  EXPECT_TRUE(r.active());
  EXPECT_EQ(stateOf(l, "a").device(0)->holders.size(), 2U);
}

TEST(LedgerDeathTest, ReservingWhatIsNotThereIsABug) {
  Ledger l;
  testNode("a").gpus(2).cpu(100).pods(1).addTo(l);
  l.hold(kNodeA, 0, kPodQ, Source::Lease, {});
  EXPECT_DEATH((void)l.reserve(kNodeA, kPodP, testClaim(1), {0}), "device 0 is held by q");
  EXPECT_DEATH((void)l.reserve(kNodeA, kPodP, testClaim(1), {5}), "device 5 is not there");
  EXPECT_DEATH((void)l.reserve(model::NodeName{"b"}, kPodP, testClaim(1), {0}), "node b is not there");
  PodRequest hungry = testClaim(1);
  hungry.resources.cpu_milli = 101;
  EXPECT_DEATH((void)l.reserve(kNodeA, kPodP, hungry, {1}), "no room for the resources of p");
  PodRequest web = testClaim(1);
  web.host_ports = {{80, "TCP", "0.0.0.0"}};
  Ledger taken;
  testNode("a").gpus(2).addTo(taken);
  taken.usePod(kNodeA, kPodQ, Source::BoundPod, {}, 0, {}, web.host_ports);
  EXPECT_DEATH((void)taken.reserve(kNodeA, kPodP, web, {1}), "port 80 that p asks for is taken");
  const Reservation r = l.reserve(kNodeA, kPodP, testClaim(1), {1});
  EXPECT_DEATH((void)l.reserve(kNodeA, kPodP, PodRequest{}, {}), "no room|reserved there already");
}

TEST(Ledger, DumpTellsEverything) {
  Ledger l;
  auto t = testNode("b").gpus(2, "x", 300).link(0, 1, 900).health(1, model::Health::Unhealthy).partitioned(0);
  t.label("zone", "east").taint("team", "research", "NoSchedule").resource(model::kNvidiaGpu, 2);
  t.status.devices[0].model = "H100";
  t.status.devices[0].in_use_by = {kPodP};
  t.status.devices[1].health_reason = "XID 79";
  t.addTo(l);
  l.setAgentStale(model::NodeName{"b"}, true);
  model::Resources r;
  r.cpu_milli = 500;
  l.usePod(model::NodeName{"b"}, kPodP, Source::BoundPod, r, 2, {"ml", 1500});
  l.usePod(model::NodeName{"b"}, kPodQ, Source::Reservation, r, 0);
  l.setInFlight(model::NodeName{"b"}, kPodP, Source::BoundPod, {{{0, 500, 256}, {1}}});
  l.hold(model::NodeName{"b"}, 0, kPodP, Source::BoundPod, {});
  l.hold(model::NodeName{"b"}, 0, kPodP, Source::Lease, {true, 500, 1'024});
  l.hold(kNodeA, 3, kPodQ, Source::Reservation, {});
  l.hold(kNodeA, 4, kPodQ, Source::Draining, {});
  EXPECT_EQ(l.dump(),
            "node a exists=false status=false stale=false enforcer=kubelet enforces=false\n"
            "  used pods=0 anonymous=0 cpu=0m memory=0 ephemeral=0\n"
            "  device 3 not listed\n"
            "    holder q by reservation: exclusive\n"
            "  device 4 not listed\n"
            "    holder q by draining: exclusive\n"
            "node b exists=true status=true stale=true enforcer=agent enforces=true\n"
            "  ready=true unschedulable=false pods=110 shares=0x0MiB cpu=64000m memory=1099511627776 "
            "ephemeral=1099511627776 nvidia.com/gpu=2\n"
            "  label zone=east\n"
            "  taint team=research:NoSchedule\n"
            "  used pods=2 anonymous=1 cpu=1000m memory=0 ephemeral=0\n"
            "  pod p bound cpu=500m memory=0 ephemeral=0 counted=2 charge=ml:1500\n"
            "  pod q reservation cpu=500m memory=0 ephemeral=0 counted=0 charge=:0\n"
            "  device 0 uuid=GPU-b-0 model=H100 memory=81920 health=Healthy reason= island=x gbps=300 "
            "partitioned=true 1:900 in-use-by=p\n"
            "    holder p by lease,bound: shared milli=500 mib=1024 exclusive\n"
            "  device 1 uuid=GPU-b-1 model= memory=81920 health=Unhealthy reason=XID 79 island=x gbps=300 "
            "partitioned=false 0:900\n"
            "  in flight p by bound: 0/500/256->1\n");
  const std::string others = l.dump(false);
  EXPECT_EQ(others.find("reservation"), std::string::npos);
  EXPECT_NE(others.find("used pods=1 anonymous=1 cpu=500m"), std::string::npos);
  EXPECT_EQ(others.find("device 3"), std::string::npos);
  EXPECT_NE(others.find("device 4"), std::string::npos);
  const std::string from_api = l.dumpWithout({Source::Reservation, Source::Draining});
  EXPECT_EQ(from_api, others.substr(others.find("node b"))) << "nothing else is known of node a";
  l.usePod(kNodeA, kPodP, Source::Reservation, {}, 0, {}, {{80, "TCP", "0.0.0.0"}, {81, "UDP", "10.0.0.1"}});
  EXPECT_NE(l.dump().find("  used pods=1 anonymous=0 cpu=0m memory=0 ephemeral=0\n"
                          "  port 0.0.0.0:80/TCP pods=1\n"
                          "  port 10.0.0.1:81/UDP pods=1\n"),
            std::string::npos);
  EXPECT_NE(l.dump().find("charge=:0 0.0.0.0:80/TCP 10.0.0.1:81/UDP\n"), std::string::npos);
  EXPECT_EQ(l.dump(false).find("port "), std::string::npos);
  l.release(kNodeA, 4, kPodQ, Source::Draining);
  EXPECT_EQ(from_api, l.dump(false));
  l.reclaimCounted(model::NodeName{"b"}, kPodQ, 2);
  EXPECT_NE(l.dump(false).find("used pods=1 anonymous=3 cpu=500m"), std::string::npos) << l.dump(false);
  EXPECT_EQ(from_api, l.dumpWithout({Source::Reservation, Source::Draining}));
}

// ---- Laws

/// The derived part of a node, as it follows from the rest.
void checkDerived(const NodeState& n) {
  Mask held = 0;
  Mask healthy = 0;
  Mask unknown = 0;
  std::int64_t whole = 0;
  for (const auto& d : n.devices) {
    RC_ASSERT(d.listed || !d.holders.empty());
    RC_ASSERT(std::is_sorted(d.holders.begin(), d.holders.end(),
                             [](const auto& a, const auto& b) { return a.uid < b.uid; }));
    if (!d.listed || d.facts.partitioned) { continue; }
    RC_ASSERT(d.bit == whole);
    RC_ASSERT(n.topology->id(d.bit) == d.facts.id);
    ++whole;
    if (!d.holders.empty()) { held |= bit(d.bit); }
    if (d.facts.health == model::Health::Healthy && !n.agent_stale) {
      healthy |= bit(d.bit);
    } else if (d.facts.health != model::Health::Unhealthy) {
      unknown |= bit(d.bit);
    }
  }
  NodeState anew = n;
  deriveAnonymous(anew);
  RC_ASSERT(anew.counted == n.counted && anew.anonymous == n.anonymous);
  RC_ASSERT(n.whole == whole);
  RC_ASSERT(n.held == held);
  RC_ASSERT(n.healthy == healthy);
  RC_ASSERT(n.unknown == unknown);
  const std::int64_t free =
      n.has_status ? countOf((healthy | unknown) & ~held) - n.anonymous
                   : std::min(n.node.allocatable.get(model::kNvidiaGpu) - n.used.get(model::kNvidiaGpu),
                              n.node.allocatable.get(model::kNvidiaGpu) -
                                  static_cast<std::int64_t>(n.devices.size()) - n.anonymous);
  RC_ASSERT(n.free_devices == std::max<std::int64_t>(0, free));
}

std::string nodeNamed(const Ledger& l, const std::string& name) {
  const auto i = l.named(name);
  return i ? l.at(*i).node.name.text : "none";
}

RC_GTEST_PROP(LedgerProperty, IsAFunctionOfTheFactsInWhateverOrder,
              (std::uint64_t seed, std::uint8_t steps)) {
  Ledger live;
  TestFacts facts{live, seed};
  for (int i = 0; i < steps; ++i) { facts.step(); }
  Ledger rebuilt;
  facts.retell(rebuilt, facts.rng());
  RC_ASSERT(live.dump() == rebuilt.dump());
  RC_ASSERT(live.dump(false) == rebuilt.dump(false));
  RC_ASSERT(live.existing() == rebuilt.existing());
  for (int i = 0; i < 20; ++i) {
    const std::string name = TestFacts::drawLogicalName(facts.rng());
    RC_ASSERT(nodeNamed(live, name) == nodeNamed(rebuilt, name));
    for (Ledger::NodeIndex n = 0; n < live.size(); ++n) {
      RC_ASSERT(live.at(n).answersTo(name) == (live.named(name) == n));
    }
  }
  for (Ledger::NodeIndex i = 0; i < live.size(); ++i) { checkDerived(live.at(i)); }
}

RC_GTEST_PROP(LedgerProperty, EveryChangeIsInTheLog, (std::uint64_t seed, std::uint8_t steps)) {
  Ledger l;
  TestFacts facts{l, seed};
  for (int i = 0; i < steps; ++i) {
    std::vector<std::uint64_t> versions;
    for (Ledger::NodeIndex n = 0; n < l.size(); ++n) { versions.push_back(l.at(n).version); }
    const std::uint64_t from = l.changesEnd();
    facts.step();
    std::set<Ledger::NodeIndex> logged;
    for (std::uint64_t p = std::max(from, l.changesBegin()); p < l.changesEnd(); ++p) {
      logged.insert(l.changedAt(p));
    }
    for (Ledger::NodeIndex n = 0; n < l.size(); ++n) {
      const bool differs = n >= versions.size() || versions[n] != l.at(n).version;
      RC_ASSERT(differs == logged.contains(n));
      RC_ASSERT(l.at(n).facts_version <= l.at(n).version);
    }
  }
}

RC_GTEST_PROP(LedgerProperty, WhatIsReservedAndReleasedLeavesNoTrace,
              (std::uint64_t seed, std::uint8_t steps)) {
  Ledger l;
  TestFacts facts{l, seed};
  facts.fill();
  for (int i = 0; i < steps % 64; ++i) { facts.step(); }
  Decider decider{l};
  const PodRequest request = drawRequest(facts.rng());
  const auto placed = decider.decide(decider.classOf(request));
  RC_CLASSIFY(placed.has_value(), "placed");
  if (!placed) { return; }
  const std::string before = l.dump();
  const std::string others = l.dump(false);
  {
    const Reservation r = l.reserve(placed->node, model::Uid{"new"}, request, placed->ids);
    RC_ASSERT(l.dump() != before);
    RC_ASSERT(l.dump(false) == others);
  }
  RC_ASSERT(l.dump() == before);
}

RC_GTEST_PROP(LedgerProperty, ReservationsNeverExceedADevice, (std::uint64_t seed)) {
  Ledger l;
  Rng rng{seed};
  for (const char* name : {"a", "b", "c"}) {
    auto t = testNode(name)
                 .gpus(static_cast<int>(1 + rng.below(3)), "x")
                 .gpus(static_cast<int>(rng.below(4)), "y");
    if (rng.chance(50)) { t.health(0, model::Health::Unknown); }
    t.addTo(l);
    if (rng.chance(50)) {
      l.usePod(t.node.name, model::Uid{"foreign"}, Source::BoundPod, {},
               static_cast<std::int64_t>(rng.below(3)));
    }
  }
  Decider decider{l};
  std::vector<Reservation> kept;
  for (int i = 0; i < 150; ++i) {
    if (!kept.empty() && rng.chance(25)) {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(rng.below(kept.size())));
    }
    PodRequest request = testClaim(static_cast<std::int64_t>(1 + rng.below(2)));
    request.devices->shared = rng.chance(60);
    const auto placed = decider.decide(decider.classOf(request));
    if (!placed) { continue; }
    RC_ASSERT(placed->ids.size() == static_cast<std::size_t>(request.devices->count));
    kept.push_back(l.reserve(placed->node, model::Uid{"uid-" + std::to_string(i)}, request, placed->ids));
    for (const char* name : {"a", "b", "c"}) {
      std::int64_t free = 0;
      for (const auto& d : stateOf(l, name).devices) {
        const bool exclusive =
            std::any_of(d.holders.begin(), d.holders.end(), [](const auto& h) { return !h.amount.shared; });
        RC_ASSERT(d.holders.size() <= (exclusive ? 1U : model::kMaxSharers));
        free += d.holders.empty() ? 1 : 0;
      }
      RC_ASSERT(free >= stateOf(l, name).anonymous || placed->node.text != name);
    }
  }
}

/// What is counted as holders come and go is what a look at each device counts.
RC_GTEST_PROP(LedgerProperty, FreeDevicesAreCountedRightWhateverComes, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  for (int i = 0; i < 80; ++i) {
    facts.step();
    for (Ledger::NodeIndex n = 0; n < l.size(); ++n) {
      const NodeState& node = l.at(n);
      const auto count = [&](const auto& is) {
        return std::count_if(node.devices.begin(), node.devices.end(), is);
      };
      RC_ASSERT(node.with_holders == count([](const DeviceState& d) { return !d.holders.empty(); }));
      RC_ASSERT(node.untouched ==
                count([](const DeviceState& d) { return d.givable() && d.holders.empty(); }));
      RC_ASSERT(std::is_sorted(node.devices.begin(), node.devices.end(),
                               [](const auto& a, const auto& b) { return a.facts.id < b.facts.id; }));
    }
  }
}

}  // namespace
}  // namespace gs::sched
