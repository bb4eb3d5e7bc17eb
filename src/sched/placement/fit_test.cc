#include "sched/placement/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/placement/fit_cases_test.h"

namespace gs::sched {
namespace {

PodRequest selecting(PodRequest r, const std::string& key, const std::string& value) {
  r.node_selector[key] = value;
  return r;
}
PodRequest claiming(PodRequest r, const std::string& key, const std::string& value) {
  r.match_labels[key] = value;
  return r;
}
PodRequest tolerating(PodRequest r, model::Toleration t) {
  r.tolerations.push_back(std::move(t));
  return r;
}
TestNode tainted(const char* effect = "NoSchedule") {
  return testNode("a").gpus(4).taint("team", "research", effect);
}

class Fit : public ::testing::TestWithParam<FitCase> {};
TEST_P(Fit, Says) {
  Ledger l;
  GetParam().node.addTo(l);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), GetParam().request), GetParam().expect);
}

std::shared_ptr<const ClosedTerms> closedBy(std::initializer_list<model::TermId> terms) {
  auto closed = std::make_shared<ClosedTerms>();
  for (const auto& term : terms) { (*closed)[term] = 1; }
  return closed;
}

TEST(FitAntiAffinity, OnlyWhomATermMeansIsKeptAway) {
  constexpr model::TermId zone = 7;
  constexpr model::TermId host = 3;
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  PodRequest meant = testClaim(1);
  meant.kept_away_by = {zone};
  EXPECT_EQ(misfitOn(stateOf(l, "a"), meant), std::nullopt);
  const auto before = stateOf(l, "a").versionFor(meant);
  l.setClosedTo(*l.indexOf(model::NodeName{"a"}), {closedBy({host}), closedBy({zone})});
  EXPECT_GT(stateOf(l, "a").versionFor(meant), before);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), meant), bare(Reason::ExistingAntiAffinity));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1)), std::nullopt);
}

constexpr const char* kCordon = "node.kubernetes.io/unschedulable";

// clang-format off
INSTANTIATE_TEST_SUITE_P(Facts, Fit, ::testing::Values(
    //      name                    node                              request                       expected
    FitCase{"Fits",                 testNode("a").gpus(1), testClaim(1), std::nullopt},
    FitCase{"Unschedulable",        testNode("a").unschedulable(), ordinary(), bare(Reason::Unschedulable)},
    FitCase{"UnschedulableTolerated", testNode("a").unschedulable(),
            tolerating(ordinary(), {kCordon, "", "NoSchedule", true}), std::nullopt},
    FitCase{"UnschedulableToleratedByAll", testNode("a").unschedulable(),
            tolerating(ordinary(), {"", "", "", true}), std::nullopt},
    FitCase{"UnschedulableOtherToleration", testNode("a").unschedulable(),
            tolerating(ordinary(), {"x", "", "", true}), bare(Reason::Unschedulable)},
    FitCase{"UnschedulableOtherEffect", testNode("a").unschedulable(),
            tolerating(ordinary(), {kCordon, "", "NoExecute", true}), bare(Reason::Unschedulable)},
    FitCase{"NotReady",             testNode("a").notReady(), ordinary(), bare(Reason::NotReady)},
    FitCase{"Selector",             testNode("a").label("k", "v"), selecting(ordinary(), "k", "v"),
            std::nullopt},
    FitCase{"SelectorValue",        testNode("a").label("k", "w"), selecting(ordinary(), "k", "v"),
            bare(Reason::SelectorMismatch)},
    FitCase{"SelectorAbsent",       testNode("a"), selecting(ordinary(), "k", "v"),
            bare(Reason::SelectorMismatch)},
    FitCase{"ClaimSelector",        testNode("a").gpus(1), claiming(testClaim(1), "k", "v"),
            bare(Reason::ClaimSelectorMismatch, "k=v")},
    FitCase{"Taint",                tainted(), testClaim(1),
            bare(Reason::UntoleratedTaint, "team: research")},
    FitCase{"TaintNoExecute",       tainted("NoExecute"), testClaim(1),
            bare(Reason::UntoleratedTaint, "team: research")},
    FitCase{"TaintPreferNoSchedule", tainted("PreferNoSchedule"), testClaim(1), std::nullopt},
    FitCase{"ToleratedEqual",       tainted(),
            tolerating(testClaim(1), {"team", "research", "NoSchedule", false}), std::nullopt},
    FitCase{"ToleratedEqualAnyEffect", tainted(), tolerating(testClaim(1), {"team", "research", "", false}),
            std::nullopt},
    FitCase{"ToleratedExists",      tainted(), tolerating(testClaim(1), {"team", "", "", true}),
            std::nullopt},
    FitCase{"ToleratedEverything",  tainted(), tolerating(testClaim(1), {"", "", "", true}), std::nullopt},
    FitCase{"ToleratesAnotherValue", tainted(), tolerating(testClaim(1), {"team", "sales", "", false}),
            bare(Reason::UntoleratedTaint, "team: research")},
    FitCase{"ToleratesAnotherEffect", tainted(), tolerating(testClaim(1), {"team", "", "NoExecute", true}),
            bare(Reason::UntoleratedTaint, "team: research")},
    FitCase{"FirstUntoleratedTaint", tainted().taint("z", "1", "NoSchedule"),
            tolerating(testClaim(1), {"team", "", "", true}), bare(Reason::UntoleratedTaint, "z: 1")}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

TestNode managedBy(const char* who) {
  return testNode("a").gpus(2).resource(model::kNvidiaGpu, 2).label("gpu.scheduling/enforcer", who);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Enforcers, Fit, ::testing::Values(
    FitCase{"ClaimOnAgent",      managedBy("agent"), testClaim(1), std::nullopt},
    FitCase{"ClaimOnKubelet",    managedBy("kubelet"), testClaim(1), std::nullopt},
    FitCase{"ClaimOnGpuManager", managedBy("gpu-manager"), testClaim(1),
            bare(Reason::ManagedByOther, "gpu-manager")},
    FitCase{"ClaimOnHami",       managedBy("hami"), testClaim(1), bare(Reason::ManagedByOther, "hami")},
    FitCase{"PlainOnAgent",      managedBy("agent"), testPlain(1), std::nullopt},
    FitCase{"PlainOnGpushare",   managedBy("gpushare"), testPlain(1),
            bare(Reason::ManagedByOther, "gpushare")},
    FitCase{"OrdinaryAnywhere",  managedBy("hami"), ordinary(), std::nullopt}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

// clang-format off
INSTANTIATE_TEST_SUITE_P(Amounts, Fit, ::testing::Values(
    FitCase{"TooManyPods",       testNode("a").pods(0), ordinary(), bare(Reason::TooManyPods)},
    FitCase{"Cpu",               testNode("a").cpu(499), ordinary(),
            bare(Reason::InsufficientResource, "cpu")},
    FitCase{"CpuJustEnough",     testNode("a").cpu(500), ordinary(), std::nullopt},
    FitCase{"ZeroAlwaysFits",    testNode("a").cpu(-5), PodRequest{}, std::nullopt},
    FitCase{"Extended",          testNode("a").resource("rdma/hca", 1), asking(ordinary(), "rdma/hca", 2),
            bare(Reason::InsufficientResource, "rdma/hca")},
    FitCase{"ExtendedUnknown",   testNode("a"), asking(ordinary(), "rdma/hca", 1),
            bare(Reason::InsufficientResource, "rdma/hca")},
    FitCase{"ExtendedZero",      testNode("a"), asking(ordinary(), "rdma/hca", 0), std::nullopt},
    FitCase{"ClaimNeedsAStatus", testNode("a").withoutStatus(), testClaim(1), bare(Reason::NoGpuStatus)},
    FitCase{"ClaimNoGpu",        testNode("a"), testClaim(1), bare(Reason::NoGpu)},
    FitCase{"ClaimTooFewGpus",   testNode("a").gpus(8), testClaim(16), Misfit{Reason::TooFewGpus, "", 16, 8}},
    // With the limit the counted resource binds too; without it does not.
    FitCase{"ClaimWithLimit",    testNode("a").gpus(4).resource(model::kNvidiaGpu, 4),
            asking(testClaim(4), model::kNvidiaGpu, 4), std::nullopt},
    FitCase{"ClaimWithLimitPluginSeesLess", testNode("a").gpus(4).resource(model::kNvidiaGpu, 3),
            asking(testClaim(4), model::kNvidiaGpu, 4), Misfit{Reason::TooFewGpus, "", 4, 3}},
    FitCase{"ClaimWithLimitNoPlugin", testNode("a").gpus(4), asking(testClaim(1), model::kNvidiaGpu, 1),
            bare(Reason::InsufficientResource, "nvidia.com/gpu")},
    FitCase{"ClaimWithoutLimitNoPlugin", testNode("a").gpus(4).resource(model::kNvidiaGpu, 0), testClaim(4),
            std::nullopt},
    // Plain: counted where there is no status, exact where there is one.
    FitCase{"PlainCounted",      testNode("a").resource(model::kNvidiaGpu, 2).withoutStatus(), testPlain(2),
            std::nullopt},
    FitCase{"PlainNoGpu",        testNode("a").withoutStatus(), testPlain(1), bare(Reason::NoGpu)},
    FitCase{"PlainTooFewGpus",   testNode("a").resource(model::kNvidiaGpu, 2).withoutStatus(), testPlain(3),
            Misfit{Reason::TooFewGpus, "", 3, 2}},
    FitCase{"PlainStatusWithoutDevices", testNode("a").resource(model::kNvidiaGpu, 2), testPlain(1),
            bare(Reason::NoGpu)}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

TEST(FitOrder, TheFirstReasonOfTheListIsTold) {
  // One thing after the other is mended; the reason is always the next of the list.
  TestNode t = testNode("a")
                   .unschedulable()
                   .notReady()
                   .taint("k", "v", "NoSchedule")
                   .label("gpu.scheduling/enforcer", "hami")
                   .pods(0)
                   .cpu(1)
                   .withoutStatus();
  const PodRequest request = claiming(selecting(testClaim(4), "zone", "east"), "gpu", "h100");
  PodRequest asks_cpu = request;
  asks_cpu.resources.cpu_milli = 2;
  constexpr model::TermId kAway = 7;
  asks_cpu.kept_away_by = {kAway};
  bool kept_away = true;
  asks_cpu.host_ports = {{80, "TCP", "0.0.0.0"}};
  bool port_taken = true;
  const auto reason = [&] {
    Ledger l;
    t.addTo(l);
    if (port_taken) {
      l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, {}, 0, {}, asks_cpu.host_ports);
    }
    if (kept_away) { l.setClosedTo(*l.indexOf(model::NodeName{"a"}), {closedBy({kAway})}); }
    return misfitOn(stateOf(l, "a"), asks_cpu)->reason;
  };
  std::vector<Reason> told{reason()};
  const auto then = [&](auto mend) {
    mend();
    told.push_back(reason());
  };
  then([&] { t.node.unschedulable = false; });
  then([&] { t.node.taints.clear(); });
  then([&] { t.label("zone", "east"); });
  then([&] { t.node.ready = true; });
  then([&] { t.label("gpu", "h100"); });
  then([&] { t.node.labels["gpu.scheduling/enforcer"] = "agent"; });
  then([&] { port_taken = false; });
  then([&] { t.pods(1); });
  then([&] { t.cpu(2); });
  then([&] { kept_away = false; });
  then([&] { t.has_status = true; });
  then([&] { t.gpus(3); });
  then([&] { t.gpus(1).health(0, model::Health::Unhealthy); });
  EXPECT_EQ(told,
            (std::vector<Reason>{Reason::Unschedulable, Reason::UntoleratedTaint, Reason::SelectorMismatch,
                                 Reason::NotReady, Reason::ClaimSelectorMismatch, Reason::ManagedByOther,
                                 Reason::HostPortsTaken, Reason::TooManyPods, Reason::InsufficientResource,
                                 Reason::ExistingAntiAffinity, Reason::NoGpuStatus, Reason::NoGpu,
                                 Reason::TooFewGpus, Reason::TooFewHealthy}));
}

TEST(FitUse, CountsWhatOthersUse) {
  Ledger l;
  testNode("a").cpu(1'000).pods(2).resource(model::kNvidiaGpu, 4).withoutStatus().addTo(l);
  model::Resources used;
  used.cpu_milli = 600;
  used.extended[model::kNvidiaGpu] = 3;
  l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, used, 3);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), ordinary()), bare(Reason::InsufficientResource, "cpu"));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(2)), (Misfit{Reason::TooFewFree, "", 2, 1}));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), std::nullopt);
  used.extended[model::kNvidiaGpu] = 5;
  l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, used, 5);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), (Misfit{Reason::TooFewFree, "", 1, 0}))
      << "none is left, though one more is used than there are";
  used.extended[model::kNvidiaGpu] = 3;
  l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, used, 3);
  l.usePod(model::NodeName{"a"}, model::Uid{"q"}, Source::BoundPod, {}, 0);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), bare(Reason::TooManyPods));
}

/// Nobody says there which devices there are: as many as are allocatable, those that pods name among them.
TEST(FitUse, WithoutAStatusWhatIsHeldByIdIsNoOthers) {
  Ledger l;
  testNode("a").withoutStatus().resource(model::kNvidiaGpu, 4).addTo(l);
  const model::NodeName a{"a"};
  const model::Uid p{"p"};
  for (const int id : {0, 1, 2}) { l.hold(a, id, p, Source::Lease, {true, 0, 0}); }
  l.hold(a, 2, model::Uid{"q"}, Source::Lease, {true, 0, 0});
  EXPECT_EQ(stateOf(l, "a").free_devices, 1);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), std::nullopt);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(2)), (Misfit{Reason::TooFewFree, "", 2, 1}));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(3), p), std::nullopt)
      << "of its own only the one that it shares is another's too";
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(4), p), (Misfit{Reason::TooFewFree, "", 4, 3}));
  l.usePod(a, model::Uid{"n"}, Source::BoundPod, testPlain(1).resources, 1);
  EXPECT_EQ(stateOf(l, "a").free_devices, 0);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), (Misfit{Reason::TooFewFree, "", 1, 0}));
  EXPECT_FALSE(stateOf(l, "a").overcommitted);
  l.hold(a, 3, p, Source::Lease, {true, 0, 0});
  EXPECT_TRUE(stateOf(l, "a").overcommitted) << "one of the four is named, and used by its number";
}

TEST(FitUse, MoreNamedThanThereAreIsNobodysGpuByNumber) {
  Ledger l;
  testNode("a").withoutStatus().addTo(l);
  l.hold(model::NodeName{"a"}, 5, model::Uid{"p"}, Source::Lease, {true, 0, 0});
  EXPECT_FALSE(stateOf(l, "a").overcommitted);
  EXPECT_EQ(stateOf(l, "a").free_devices, 0);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), bare(Reason::NoGpu));
}

TEST(FitUse, FreeIsTheSmallerOfResourceAndDevices) {
  Ledger l;
  testNode("a").gpus(4).resource(model::kNvidiaGpu, 4).addTo(l);
  // A claim pod without limits holds two devices by id: the resource does not know.
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::BoundPod, {});
  l.hold(model::NodeName{"a"}, 1, model::Uid{"p"}, Source::BoundPod, {});
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(3)), (Misfit{Reason::TooFewFree, "", 3, 2}));
  // A plain pod that nobody gave ids: the devices do not know.
  model::Resources one;
  one.extended[model::kNvidiaGpu] = 1;
  l.usePod(model::NodeName{"a"}, model::Uid{"q"}, Source::BoundPod, one, 1);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(2)), (Misfit{Reason::TooFewFree, "", 2, 1}));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(2)), (Misfit{Reason::TooFewFree, "", 2, 1}));
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(1))->ids, (std::vector<int>{2}));
}

TEST(FitUse, OfTwoReasonsForGpusTheFirstAndTheSmallerIsTold) {
  const auto told = [](int gpus, int held, std::int64_t allocatable, std::int64_t used, std::int64_t asked) {
    Ledger l;
    testNode("a").gpus(gpus).resource(model::kNvidiaGpu, allocatable).addTo(l);
    for (int id = 0; id < held; ++id) {
      l.hold(model::NodeName{"a"}, id, model::Uid{"p"}, Source::Lease, {});
    }
    model::Resources r;
    r.extended[model::kNvidiaGpu] = used;
    l.usePod(model::NodeName{"a"}, model::Uid{"q"}, Source::BoundPod, r, 0);
    return misfitOn(stateOf(l, "a"), testPlain(asked));
  };
  EXPECT_EQ(told(4, 2, 4, 3, 3), (Misfit{Reason::TooFewFree, "", 3, 1}))
      << "the resource leaves one, the devices two";
  EXPECT_EQ(told(4, 3, 4, 2, 3), (Misfit{Reason::TooFewFree, "", 3, 1}))
      << "the devices leave one, the resource two";
  EXPECT_EQ(told(2, 0, 4, 3, 3), (Misfit{Reason::TooFewGpus, "", 3, 2}))
      << "two devices; the resource says only that one is free";
  EXPECT_EQ(told(4, 2, 2, 0, 3), (Misfit{Reason::TooFewGpus, "", 3, 2}))
      << "two in all by the resource; two free by the devices";
}

TEST(FitPlain, ExactIdsWhereTheAgentEnforcesThem) {
  Ledger l;
  testNode("a").gpus(4).resource(model::kNvidiaGpu, 4).addTo(l);
  testNode("b").resource(model::kNvidiaGpu, 4).withoutStatus().addTo(l);
  testNode("c").gpus(4).resource(model::kNvidiaGpu, 4).enforcement(model::Enforcement::Env).addTo(l);
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(2))->ids, (std::vector<int>{0, 1}));
  EXPECT_EQ(fitOn(stateOf(l, "b"), testPlain(2))->ids, std::vector<int>{});
  EXPECT_EQ(fitOn(stateOf(l, "c"), testPlain(2))->ids, std::vector<int>{});
  EXPECT_EQ(fitOn(stateOf(l, "c"), testClaim(2))->ids, (std::vector<int>{0, 1})) << "a claim says which";
}

/// Where nobody says which, as many as are asked for have to be free all the same: of what can be given, less
/// what is held by id, less what others have by their number.
TEST(FitPlain, WhereNothingIsEnforcedItNeedsAsManyThatAreFree) {
  Ledger l;
  testNode("c")
      .gpus(4)
      .health(3, model::Health::Unhealthy)
      .resource(model::kNvidiaGpu, 4)
      .enforcement(model::Enforcement::Off)
      .addTo(l);
  const model::NodeName c{"c"};
  EXPECT_TRUE(fitOn(stateOf(l, "c"), testPlain(3)));
  l.hold(c, 0, model::Uid{"claims"}, Source::Lease, {});
  EXPECT_EQ(misfitOn(stateOf(l, "c"), testPlain(3)), (Misfit{Reason::TooFewFree, "", 3, 2}));
  model::Resources one;
  one.extended[model::kNvidiaGpu] = 1;
  l.usePod(c, model::Uid{"counts"}, Source::BoundPod, one, 1);
  EXPECT_EQ(misfitOn(stateOf(l, "c"), testPlain(2)), (Misfit{Reason::TooFewFree, "", 2, 1}));
  const Reservation last = l.reserve(c, model::Uid{"p"}, testPlain(1), {});
  EXPECT_EQ(stateOf(l, "c").free_devices, 0) << "what is reserved by its number counts";
}

TEST(FitExact, IsForAdoption) {
  Ledger l;
  testNode("a").gpus(4).cpu(100).addTo(l);
  const model::Uid p{"p"};
  l.hold(model::NodeName{"a"}, 2, p, Source::Lease, {});
  const std::vector<int> own{2};
  const std::vector<int> none{7};
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1), p, &own), std::nullopt);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1), model::Uid{"q"}, &own),
            (Misfit{Reason::TooFewFree, "", 1, 0}));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1), p, &none), (Misfit{Reason::TooFewGpus, "", 1, 0}));
  PodRequest hungry = testClaim(1);
  hungry.resources.cpu_milli = 200;
  EXPECT_EQ(misfitOn(stateOf(l, "a"), hungry, p, &own), bare(Reason::InsufficientResource, "cpu"));
}

TEST(FitExact, ANodeThatIsGoneRefuses) {
  Ledger l;
  l.hold(model::NodeName{"a"}, 2, model::Uid{"p"}, Source::Lease, {});
  EXPECT_EQ(misfitOn(stateOf(l, "a"), ordinary()), bare(Reason::NotReady));
}

RC_GTEST_PROP(FitProperty, WhoIsRefusedEverywhereHasAReasonPerNode, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  for (int i = 0; i < 60; ++i) { facts.step(); }
  const PodRequest request = drawRequest(facts.rng());
  std::size_t fitting = 0;
  for (Ledger::NodeIndex i = 0; i < l.size(); ++i) {
    const bool fits = fitOn(l.at(i), request).has_value();
    RC_ASSERT(fits == !misfitOn(l.at(i), request).has_value());
    RC_ASSERT(!fits || l.at(i).exists);
    fitting += fits ? 1 : 0;
  }
  RC_ASSERT(misfits(l, request).size() == l.existing() - fitting);
}

TEST(FitAwaits, WhileALookIsDueNothingIsGivenById) {
  Ledger l;
  testNode("a").gpus(4).resource(model::kNvidiaGpu, 4).enforcement(model::Enforcement::Off).addTo(l);
  const model::NodeName a{"a"};
  l.setAwaitsLook(a, true);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1)), bare(Reason::AwaitsLook));
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(5)), (Misfit{Reason::TooFewGpus, "", 5, 4}))
      << "what never fits is said first";
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testPlain(1)), std::nullopt) << "nobody chooses which";
  EXPECT_EQ(misfitOn(stateOf(l, "a"), ordinary()), std::nullopt);
  const model::Uid p{"p"};
  const std::vector<int> own{2};
  l.hold(a, 2, p, Source::Lease, {});
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1), p, &own), std::nullopt) << "what was chosen before stays";
  l.setAwaitsLook(a, false);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), testClaim(1)), std::nullopt);
}

}  // namespace
}  // namespace gs::sched
