// What a node says to a pod whose GPUs a DRA driver prepares, and what claims select there.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sched/placement/fit_cases_test.h"

namespace gs::sched {
namespace {

PodRequest shared(PodRequest r) {
  r.devices->shared = true;
  return r;
}
PodRequest theirs(PodRequest r) {
  r.theirs = true;
  return r;
}
PodRequest tooMany(PodRequest r) {
  r.too_many_results = 40;
  return r;
}
PodRequest mapped(PodRequest r) {
  r.mapped = true;
  return r;
}

class FitOfDra : public ::testing::TestWithParam<FitCase> {};
TEST_P(FitOfDra, Says) {
  Ledger l;
  GetParam().node.addTo(l);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), GetParam().request), GetParam().expect);
}

/// Takes the two highest of the free ones.
struct TwoHighest : DeviceSelection {
  [[nodiscard]] Picked pick(const model::NodeName& node, const std::vector<int>& free,
                            const std::vector<Joinable>& /*joinable*/) const override {
    if (free.size() < 2) {
      return {{}, "needs two of " + node.text, 2, static_cast<std::int64_t>(free.size()), 5};
    }
    return {{free.end() - 2, free.end()}, "", 0, 0, 5};
  }
  [[nodiscard]] std::int64_t most() const override { return 2; }
};
PodRequest selecting() {
  PodRequest r;
  r.door = &kDraDoor;
  r.devices.emplace().selection = std::make_shared<const TwoHighest>();
  r.devices->count = 2;
  return r;
}

TestNode draNode(const char* kubelet = "v1.36.3") { return testNode("a").gpus(4).dra(kubelet); }
/// Limits of this resource are not served.
TestNode amdNode(const char* kubelet = "v1.36.3") {
  TestNode node = draNode(kubelet);
  node.status.dra_resource = "amd.com/gpu";
  return node;
}
Misfit tooOld(const char* kubelet, int minor) { return {Reason::KubeletTooOld, kubelet, minor, 0}; }

// clang-format off
INSTANTIATE_TEST_SUITE_P(Dra, FitOfDra, ::testing::Values(
    FitCase{"PlainNeedsNoCountedResource", draNode(), testPlain(2), std::nullopt},
    FitCase{"ClaimWithALimit",   draNode(), asking(testClaim(2), model::kNvidiaGpu, 2), std::nullopt},
    FitCase{"ClaimWithoutLimit", draNode(), testClaim(2), Misfit{Reason::DraNeedsLimit, "nvidia.com/gpu", 2, 0}},
    FitCase{"ClaimWithASmallerLimit", draNode(), asking(testClaim(2), model::kNvidiaGpu, 1),
            Misfit{Reason::DraNeedsLimit, "nvidia.com/gpu", 2, 0}},
    FitCase{"SharedClaim",       draNode(), shared(testClaim(1)), bare(Reason::DraNotShared)},
    FitCase{"OfKubeScheduler",   draNode(), theirs(testPlain(1)), bare(Reason::DraIsTheirs)},
    FitCase{"OrdinaryOfKubeScheduler", draNode(), theirs(ordinary()), std::nullopt},
    FitCase{"Selecting",         draNode(), selecting(), std::nullopt},
    FitCase{"SelectingOnAnOldKubelet", draNode("v1.34.0"), selecting(), std::nullopt},
    FitCase{"SelectingOnOneThatIsTooOld", draNode("v1.33.13"), selecting(), tooOld("v1.33.13", 34)},
    FitCase{"SelectingOnOneThatSaysNothing", draNode(""), selecting(), tooOld("", 34)},
    FitCase{"SelectingWithoutADriver", testNode("a").gpus(4), selecting(), bare(Reason::NoDraDevices)},
    FitCase{"SelectingFromTooFew", testNode("a").gpus(1).dra(), selecting(),
            Misfit{Reason::ClaimsUnmet, "needs two of a", 2, 1}},
    FitCase{"SelectingBesideAPlugin", draNode().resource(model::kNvidiaGpu, 4), selecting(),
            bare(Reason::TwoMechanisms, "nvidia.com/gpu")},
    FitCase{"MappedBefore",      draNode(), mapped(testPlain(1)), std::nullopt},
    FitCase{"MappedAndNoDriver", testNode("a").gpus(4).resource(model::kNvidiaGpu, 4), mapped(testPlain(1)),
            bare(Reason::NoDraDriver)},
    FitCase{"PlainTooMany",      draNode(), testPlain(5), Misfit{Reason::TooFewGpus, "", 5, 4}},
    FitCase{"APluginBesideTheDriver", draNode().resource(model::kNvidiaGpu, 4), testPlain(1),
            bare(Reason::TwoMechanisms, "nvidia.com/gpu")},
    FitCase{"ForClaimsToo",      draNode().resource(model::kNvidiaGpu, 4), testClaim(1),
            bare(Reason::TwoMechanisms, "nvidia.com/gpu")},
    FitCase{"APluginThatOffersNone", draNode().resource(model::kNvidiaGpu, 0), testPlain(1), std::nullopt},
    FitCase{"APluginOfAnotherResource", draNode().resource("amd.com/gpu", 4), testPlain(1), std::nullopt},
    FitCase{"KubeletBefore",     draNode("v1.35.4"), testPlain(1), tooOld("v1.35.4", 36)},
    FitCase{"KubeletOfAVendor",  draNode("v1.37.2-eks-1a2b3c"), testPlain(1), std::nullopt},
    FitCase{"KubeletOfTheNextMajor", draNode("v2.0.0"), testPlain(1), std::nullopt},
    FitCase{"KubeletBeforeAll",  draNode("v0.99.0"), testPlain(1), tooOld("v0.99.0", 36)},
    FitCase{"KubeletUnknown",    draNode(""), testPlain(1), tooOld("", 36)},
    FitCase{"KubeletOddWords",   draNode("master"), testPlain(1), tooOld("master", 36)},
    FitCase{"TooManyForAClaim",  draNode(), tooMany(testPlain(2)), Misfit{Reason::DraTooMany, "", 40, 0}},
    FitCase{"TooManyForAClaimBesideAGpuClaim", draNode(), tooMany(asking(testClaim(2), model::kNvidiaGpu, 2)),
            Misfit{Reason::DraTooMany, "", 40, 0}},
    FitCase{"TooManyForAClaimByAPlugin", testNode("a").gpus(4).resource(model::kNvidiaGpu, 4),
            tooMany(testPlain(2)), std::nullopt},
    FitCase{"SelectingFromAmd",  amdNode(), selecting(), std::nullopt},
    FitCase{"SelectingFromAmdOnOneThatIsTooOld", amdNode("v1.33.13"), selecting(), tooOld("v1.33.13", 34)},
    FitCase{"ClaimOnAmd",        amdNode("v1.33.13"), testClaim(2), bare(Reason::DraClaimsOnly, "amd.com/gpu")},
    FitCase{"ClaimWithALimitOnAmd", amdNode().resource("amd.com/gpu", 0), asking(testClaim(2), "amd.com/gpu", 2),
            bare(Reason::DraClaimsOnly, "amd.com/gpu")},
    FitCase{"SharedClaimOnAmd",  amdNode(), shared(testClaim(1)), bare(Reason::DraClaimsOnly, "amd.com/gpu")},
    FitCase{"PlainOnAmd",        amdNode(), testPlain(1), bare(Reason::DraClaimsOnly, "amd.com/gpu")},
    FitCase{"MapOnAmd",          amdNode(), testMapped("a", {1}), bare(Reason::DraClaimsOnly, "amd.com/gpu")},
    FitCase{"AmdBesideItsPlugin", amdNode().resource("amd.com/gpu", 4), testClaim(2),
            bare(Reason::TwoMechanisms, "amd.com/gpu")},
    FitCase{"OrdinaryPodsRunThere", draNode("v1.20.0").resource(model::kNvidiaGpu, 4), ordinary(),
            std::nullopt}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

/// kube-scheduler, which may allocate them too, takes the first ones.
TEST(FitDra, TheLastOnesAreGivenFirst) {
  Ledger l;
  draNode().addTo(l);
  testNode("b").gpus(4).addTo(l);
  const model::NodeName a{"a"};
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(1))->ids, (std::vector{3}));
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(2))->ids, (std::vector{2, 3}));
  EXPECT_EQ(fitOn(stateOf(l, "b"), testClaim(2))->ids, (std::vector{0, 1}));
  l.hold(a, 3, model::Uid{"other"}, Source::Lease, {});
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(1))->ids, (std::vector{2}));
  EXPECT_EQ(fitOn(stateOf(l, "a"), testPlain(3))->ids, (std::vector{0, 1, 2}));
}

TEST(FitSelecting, PicksOutOfWhatIsFreeTheHealthyOnesFirst) {
  Ledger l;
  const model::NodeName a{"a"};
  TestNode node = draNode();
  node.addTo(l);
  const PodRequest request = selecting();
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{2, 3}));
  l.hold(a, 3, model::Uid{"other"}, Source::Lease, {});
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{1, 2}));
  EXPECT_EQ(fitOn(stateOf(l, "a"), request, model::Uid{"other"})->ids, (std::vector{2, 3})) << "its own";
  node.status.devices[2].health = model::Health::Unknown;
  node.addTo(l);
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{0, 1}));
  node.status.devices[0].health = model::Health::Unhealthy;
  node.addTo(l);
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{1, 2})) << "an Unknown one where it must be";
}

TEST(FitSelecting, TakesOverExactlyWhatItWouldPickOutOfThese) {
  Ledger l;
  draNode().addTo(l);
  const PodRequest request = selecting();
  const auto misfit = [&](std::vector<int> ids) { return misfitOn(stateOf(l, "a"), request, {}, &ids); };
  EXPECT_EQ(misfit({0, 1}), std::nullopt);
  EXPECT_EQ(misfit({0}), (Misfit{Reason::ClaimsUnmet, "needs two of a", 2, 1}));
  EXPECT_EQ(misfit({0, 1, 2}), bare(Reason::ClaimsUnmet, "the claims take fewer"));
  l.hold(model::NodeName{"a"}, 1, model::Uid{"other"}, Source::Lease, {});
  EXPECT_EQ(misfit({0, 1}), (Misfit{Reason::ClaimsUnmet, "needs two of a", 2, 1}));
}

/// Takes all that others have and would share.
struct Joins : DeviceSelection {
  [[nodiscard]] Picked pick(const model::NodeName& /*node*/, const std::vector<int>& /*free*/,
                            const std::vector<Joinable>& joinable) const override {
    Picked out;
    for (const auto& [id, holders] : joinable) {
      EXPECT_FALSE(holders.empty());
      out.ids.push_back(id);
    }
    if (out.ids.empty()) { out.lack = "nobody to join"; }
    return out;
  }
  [[nodiscard]] std::int64_t most() const override { return 2; }
};

TEST(FitSelecting, ShowsWhatOthersHaveSharedToWhoSharesIt) {
  Ledger l;
  draNode().addTo(l);
  const model::NodeName a{"a"};
  const Amount shared{true, 0, 0};
  PodRequest request = selecting();
  request.devices->selection = std::make_shared<const Joins>();
  l.hold(a, 0, model::Uid{"alone"}, Source::Lease, {});
  l.hold(a, 1, model::Uid{"one"}, Source::Lease, shared);
  l.hold(a, 2, model::Uid{"one"}, Source::Claim, shared);
  EXPECT_EQ(misfitOn(stateOf(l, "a"), request), bare(Reason::ClaimsUnmet, "nobody to join"))
      << "whoever wants devices for itself is not shown them";
  request.devices->shared = true;
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{1, 2}));
  std::vector<int> ids{1};
  EXPECT_EQ(misfitOn(stateOf(l, "a"), request, {}, &ids), std::nullopt) << "also to take it over";
  request.devices->max_sharers = 1;
  EXPECT_NE(misfitOn(stateOf(l, "a"), request), std::nullopt);
  request.devices->max_sharers = 2;
  l.hold(a, 2, model::Uid{"two"}, Source::BoundPod, {});
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{1}));
  // What is joined leaves as many free ones as before to pods that have some by their number.
  l.usePod(a, model::Uid{"old"}, Source::BoundPod, {}, 1, {});
  EXPECT_EQ(fitOn(stateOf(l, "a"), request)->ids, (std::vector{1}));
}

/// What the driver says besides of its devices may decide: when that changes, the node is looked at again.
TEST(FitSelecting, LooksAgainAtWhatIsPublishedAnew) {
  Ledger l;
  draNode().addTo(l);
  testNode("b").gpus(4).addTo(l);
  const PodRequest request = selecting();
  const auto before = stateOf(l, "a").versionFor(request);
  const auto of_b = stateOf(l, "b").versionFor(request);
  for (const char* name : {"a", "b", "unknown"}) { l.publishedAnew(model::NodeName{name}); }
  EXPECT_GT(stateOf(l, "a").versionFor(request), before);
  EXPECT_EQ(stateOf(l, "b").versionFor(request), of_b) << "no driver speaks of it";
}

/// Pods have as many of its GPUs by their number, and nobody knows which.
TEST(FitSelecting, LeavesAsManyAsAnonymousPodsHave) {
  Ledger l;
  draNode().addTo(l);
  const model::NodeName a{"a"};
  l.usePod(a, model::Uid{"old"}, Source::BoundPod, {}, 2, {});
  EXPECT_EQ(fitOn(stateOf(l, "a"), selecting())->ids.size(), 2U);
  l.hold(a, 0, model::Uid{"other"}, Source::Lease, {});
  EXPECT_EQ(misfitOn(stateOf(l, "a"), selecting()), (Misfit{Reason::TooFewFree, "", 2, 1}));
}

}  // namespace
}  // namespace gs::sched
