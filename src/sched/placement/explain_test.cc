#include "sched/placement/explain.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string_view>

#include "sched/ledger/test_facts.h"

namespace gs::sched {
namespace {

TEST(RejectionText, WithoutNodes) {
  EXPECT_EQ(rejectionText(Ledger{}, testClaim(1)), "no nodes available to schedule pods");
  EXPECT_EQ(rejectionKind(Ledger{}, testClaim(1)), "NoNodes");
}

TEST(RejectionText, JoinsNodesByReasonWithTheLargestNumber) {
  Ledger l;
  for (const char* name : {"a", "b", "c"}) { testNode(name).gpus(4).addTo(l); }
  for (const char* name : {"d", "e"}) {
    testNode(name).gpus(4).taint("team", "research", "NoSchedule").addTo(l);
  }
  for (int id = 0; id < 4; ++id) { l.hold(model::NodeName{"a"}, id, model::Uid{"p"}, Source::Lease, {}); }
  for (int id = 0; id < 2; ++id) { l.hold(model::NodeName{"b"}, id, model::Uid{"p"}, Source::Lease, {}); }
  l.hold(model::NodeName{"c"}, 0, model::Uid{"p"}, Source::Lease, {});
  EXPECT_EQ(rejectionText(l, testClaim(4)),
            "0/5 nodes are available: 3 node(s) had too few free GPUs: need 4 and most free is 3, "
            "2 node(s) had untolerated taint {team: research}.");
  EXPECT_EQ(rejectionKind(l, testClaim(4)), "UntoleratedTaint,TooFewFree");
}

/// As kube-scheduler's filter of resources: all that a node lacks counts, each by itself.
TEST(RejectionText, ANodeThatLacksSeveralResourcesCountsForEach) {
  Ledger l;
  testNode("a").cpu(1'000).memory(1'000).pods(0).resource(model::kNvidiaGpu, 1).gpus(1).addTo(l);
  testNode("b")
      .cpu(1'000)
      .memory(9'000)
      .resource("rdma/hca", 1)
      .resource(model::kNvidiaGpu, 4)
      .gpus(4)
      .addTo(l);
  testNode("c").cpu(9'000).memory(1'000).gpus(0).addTo(l);
  testNode("d").cpu(1'000).memory(1'000).gpus(4).notReady().addTo(l);
  PodRequest hungry = testPlain(2);
  hungry.resources.cpu_milli = 4'000;
  hungry.resources.memory = 4'000;
  hungry.resources.extended["rdma/hca"] = 1;
  const std::string all =
      "0/4 nodes are available: 2 Insufficient cpu, 2 Insufficient memory, 2 Insufficient rdma/hca, "
      "1 Too many pods, 1 node(s) had no GPU, 1 node(s) had too few GPUs: need 2 and the largest has 1, "
      "1 node(s) were not ready.";
  EXPECT_EQ(rejectionText(l, hungry), all);
  RejectionBoard board;
  EXPECT_EQ(board.explain(l, hungry).text, all);
  EXPECT_EQ(board.explain(l, hungry), explainRejection(l, hungry));
  hungry.on_node = "a";
  EXPECT_EQ(
      explainNamed(l, hungry).text,
      "0/4 nodes are available: 3 node(s) were not named a, 1 Insufficient cpu, 1 Insufficient memory, "
      "1 Insufficient rdma/hca, 1 Too many pods, 1 node(s) had too few GPUs: need 2 and the largest has "
      "1.");
}

/// A claim pod's GPUs are no resource of kube-scheduler's: what it has too little of comes first.
TEST(RejectionText, OfAClaimItsResourcesAreNamedAll) {
  Ledger l;
  testNode("a").cpu(1'000).memory(1'000).gpus(1).addTo(l);
  PodRequest hungry = testClaim(2);
  hungry.resources.cpu_milli = 4'000;
  hungry.resources.memory = 4'000;
  EXPECT_EQ(rejectionText(l, hungry), "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.");
}

TEST(RejectionText, NamesTheQuotaWhereNoNodeComesToIt) {
  PodRequest poor = testClaim(1);
  poor.quota = QuotaBound{"default", 1000, {"model", {}, "pool", {}}};
  Ledger l;
  EXPECT_EQ(rejectionText(l, poor),
            "no nodes available to schedule pods. The quota of its namespace leaves it no GPU.");
  testNode("a").gpus(1).unschedulable().addTo(l);
  EXPECT_EQ(rejectionText(l, poor),
            "0/1 nodes are available: 1 node(s) were unschedulable. The quota of its namespace leaves it no "
            "GPU.");
  testNode("b").gpus(1).addTo(l);
  EXPECT_EQ(rejectionText(l, poor),
            "0/2 nodes are available: 1 ExceedsGPUQuota, 1 node(s) were unschedulable.");
}

TEST(RejectionText, SaysWhetherANewNodeCouldHelp) {
  Ledger l;
  EXPECT_EQ(explainRejection(l, testClaim(1)).pod_reason, PodReason::Unschedulable) << "there is none";
  testNode("a").gpus(1).addTo(l);
  EXPECT_EQ(explainRejection(l, testClaim(2)).pod_reason, PodReason::Unschedulable);
  EXPECT_EQ(explainNamed(l, testMapped("a", {5})).pod_reason, PodReason::WaitsForNode);
  EXPECT_EQ(explainNamed(l, testMapped("b", {0})).pod_reason, PodReason::WaitsForNode);
  PodRequest poor = testClaim(1);
  poor.quota = QuotaBound{"default", 1000, {"model", {}, "pool", {}}};
  RejectionBoard board;
  EXPECT_EQ(board.explain(l, poor).pod_reason, PodReason::QuotaExceeded);
  EXPECT_EQ(board.explain(l, poor), explainRejection(l, poor));
  EXPECT_EQ(explainMisfits({{Reason::AwaitsStatus, "", 0, 0}}, 1).pod_reason, PodReason::WaitsForAgent);
}

struct TextCase {
  const char* name;
  Misfit misfit;
  std::string expect;
};
class RejectionWords : public ::testing::TestWithParam<TextCase> {};
TEST_P(RejectionWords, Are) {
  EXPECT_EQ(explainMisfits({GetParam().misfit}, 2).text,
            "0/2 nodes are available: 1 " + GetParam().expect + ".");
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Table, RejectionWords, ::testing::Values(
    TextCase{"Unschedulable", {Reason::Unschedulable, "", 0, 0}, "node(s) were unschedulable"},
    TextCase{"InVain", {Reason::TriedInVain, "", 0, 0}, "node(s) did not take this pod a moment ago"},
    TextCase{"Kept", {Reason::RoomKept, "", 0, 0}, "node(s) had room that is kept for nominated pods"},
    TextCase{"NotReady", {Reason::NotReady, "", 0, 0}, "node(s) were not ready"},
    TextCase{"Selector", {Reason::SelectorMismatch, "", 0, 0},
             "node(s) didn't match Pod's node affinity/selector"},
    TextCase{"ClaimSelector", {Reason::ClaimSelectorMismatch, "gpu-type=a100", 0, 0},
             "node(s) didn't match the claim's selector gpu-type=a100"},
    TextCase{"Taint", {Reason::UntoleratedTaint, "k: v", 0, 0}, "node(s) had untolerated taint {k: v}"},
    TextCase{"EmptyTaint", {Reason::UntoleratedTaint, "k: ", 0, 0}, "node(s) had untolerated taint {k: }"},
    TextCase{"OneOfThoseThatAreThere", {Reason::OtherName, "n", 0, 0}, "node(s) were not named n"},
    TextCase{"NoSuch", {Reason::NoSuchGpus, "GPU 5", 0, 0}, "node(s) had no GPU 5"},
    TextCase{"Sick", {Reason::GpusUnhealthy, "GPU 5", 0, 0}, "node(s) had unhealthy GPU 5"},
    TextCase{"Held", {Reason::GpusHeld, "GPU 5 held in part by another pod", 0, 0},
             "node(s) had GPU 5 held in part by another pod"},
    TextCase{"TwoMechanisms", {Reason::TwoMechanisms, "nvidia.com/gpu", 0, 0},
             "node(s) offered nvidia.com/gpu by a device plugin and by a DRA driver: one of them must go"},
    TextCase{"KubeletTooOld", {Reason::KubeletTooOld, "v1.35.4", 36, 0},
             "node(s) had kubelet v1.35.4: one older than 1.36 starts pods without what a DRA driver prepared"},
    TextCase{"KubeletTooOldForClaims", {Reason::KubeletTooOld, "", 34, 0},
             "node(s) had kubelet of an unknown version: one older than 1.34 starts pods without what a DRA driver prepared"},
    TextCase{"DraTooMany", {Reason::DraTooMany, "", 40, 0},
             "node(s) had GPUs of a DRA driver: a ResourceClaim for the containers' limits would name 40 and may name 32"},
    TextCase{"DraClaimsOnly", {Reason::DraClaimsOnly, "amd.com/gpu", 0, 0},
             "node(s) had GPUs of a DRA driver for amd.com/gpu: only pods that name ResourceClaims get these"},
    TextCase{"DraIsTheirs", {Reason::DraIsTheirs, "", 0, 0},
             "node(s) had GPUs of a DRA driver: kube-scheduler gives these itself"},
    TextCase{"DraNotShared", {Reason::DraNotShared, "", 0, 0},
             "node(s) had GPUs of a DRA driver: these are not shared"},
    TextCase{"DraNeedsLimit", {Reason::DraNeedsLimit, "nvidia.com/gpu", 2, 0},
             "node(s) had GPUs of a DRA driver: write a limit nvidia.com/gpu: 2 into the pod too"},
    TextCase{"NoDraDevices", {Reason::NoDraDevices, "", 0, 0}, "node(s) had no GPUs of a DRA driver"},
    TextCase{"ClaimsUnmet", {Reason::ClaimsUnmet, "request a of claim c needs 2 devices", 2, 1},
             "node(s) had no devices for the pod's ResourceClaims: request a of claim c needs 2 devices and most free is 1"},
    TextCase{"ClaimsUnmetForOther", {Reason::ClaimsUnmet, "a selector fails", 0, 0},
             "node(s) had no devices for the pod's ResourceClaims: a selector fails"},
    TextCase{"NoDraDriver", {Reason::NoDraDriver, "", 0, 0},
             "node(s) had no DRA driver: the pod's limits are mapped to a ResourceClaim already"},
    TextCase{"Managed", {Reason::ManagedByOther, "gpu-manager", 0, 0}, "node(s) were managed by gpu-manager"},
    TextCase{"Features", {Reason::MissesFeatures, "", 0, 0}, "node(s) didn't match Pod's required features"},
    TextCase{"Ports", {Reason::HostPortsTaken, "", 0, 0},
             "node(s) didn't have free ports for the requested pod ports"},
    TextCase{"Pods", {Reason::TooManyPods, "", 0, 0}, "Too many pods"},
    TextCase{"Cpu", {Reason::InsufficientResource, "cpu", 0, 0}, "Insufficient cpu"},
    TextCase{"AntiAffinity", {Reason::ExistingAntiAffinity, "", 0, 0},
             "node(s) didn't satisfy existing pods anti-affinity rules"},
    TextCase{"NoStatus", {Reason::NoGpuStatus, "", 0, 0}, "node(s) had no GpuNodeStatus"},
    TextCase{"NoStatusYet", {Reason::AwaitsStatus, "", 0, 0},
             "node(s) had no GpuNodeStatus yet: its agent is waited for"},
    TextCase{"NoGpu", {Reason::NoGpu, "", 0, 0}, "node(s) had no GPU"},
    TextCase{"TooFew", {Reason::TooFewGpus, "", 16, 8},
             "node(s) had too few GPUs: need 16 and the largest has 8"},
    TextCase{"TooFewThere", {Reason::TooFewGpus, "", 65, 63},
             "node(s) had too few GPUs: need 65 and the largest has 63"},
    TextCase{"MoreThanAPodGets", {Reason::TooFewGpus, "", 65, 64},
             "node(s) had too few GPUs: need 65 and a pod gets at most 64 of one node"},
    TextCase{"Twice", {Reason::GpusTwice, "", 2, 1},
             "node(s) had too few GPUs whose UUID stands once: need 2 and most is 1"},
    TextCase{"NamedTwice", {Reason::GpusTwice, "GPU 5", 0, 0},
             "node(s) had GPU 5 with a UUID that stands at another GPU too"},
    TextCase{"LookIsDue", {Reason::AwaitsLook, "", 0, 0},
             "node(s) had pods with nvidia.com/gpu that have just come: its agent is to say which GPUs they "
             "have"},
    TextCase{"Healthy", {Reason::TooFewHealthy, "", 4, 3},
             "node(s) had too few healthy GPUs: need 4 and most healthy is 3"},
    TextCase{"Free", {Reason::TooFewFree, "", 4, 2},
             "node(s) had too few free GPUs: need 4 and most free is 2"},
    TextCase{"Island", {Reason::TopologyUnmet, "", 4, 3},
             "node(s) had too few free GPUs in one island: need 4 and most free is 3"},
    TextCase{"BandwidthFree", {Reason::TopologyUnmet, "4", 900, 600},
             "node(s) had no free GPUs with enough bandwidth: need 4 with 900 GB/s per pair in one island "
             "and best is 600"},
    TextCase{"IslandNever", {Reason::TopologyImpossible, "", 6, 4},
             "node(s) had too few GPUs in one island: need 6 and the largest has 4"},
    TextCase{"Bandwidth", {Reason::TopologyImpossible, "4", 900, 600},
             "node(s) had no island with enough bandwidth: need 4 GPUs with 900 GB/s per pair and best is "
             "600"},
    TextCase{"NoCommaInside", {Reason::UntoleratedTaint, "k: a,b", 0, 0},
             "node(s) had untolerated taint {k: a;b}"}),
    [](const auto& info) { return std::string{info.param.name}; });
// clang-format on

TEST(RejectionText, MostNodesFirstThenByText) {
  const std::vector<Misfit> misfits{{Reason::UntoleratedTaint, "b: 1", 0, 0},
                                    {Reason::InsufficientResource, "cpu", 0, 0},
                                    {Reason::UntoleratedTaint, "a: 1", 0, 0},
                                    {Reason::NotReady, "", 0, 0},
                                    {Reason::NotReady, "", 0, 0}};
  EXPECT_EQ(explainMisfits(misfits, 5).text,
            "0/5 nodes are available: 2 node(s) were not ready, 1 Insufficient cpu, 1 node(s) had "
            "untolerated taint {a: 1}, "
            "1 node(s) had untolerated taint {b: 1}.");
}

TEST(RejectionHolders, AreNamedWhereTheyAreFewAndKnown) {
  using Uids = std::vector<model::Uid>;
  Ledger l;
  for (const char* name : {"a", "b"}) { testNode(name).gpus(4).addTo(l); }
  testNode("cordoned").gpus(4).taint("team", "research", "NoSchedule").addTo(l);
  const auto hold = [&](const char* node, int id, const char* pod) {
    l.hold(model::NodeName{node}, id, model::Uid{pod}, Source::Lease, {});
  };
  const auto holders = [&](std::int64_t gpus) { return explainRejection(l, testClaim(gpus)).holders; };
  hold("cordoned", 0, "not asked");
  hold("a", 0, "q");
  hold("a", 1, "q");
  EXPECT_EQ(holders(8), Uids{}) << "too few GPUs: nobody's end helps";
  hold("b", 0, "p");
  EXPECT_EQ(holders(4), (Uids{model::Uid{"p"}, model::Uid{"q"}}));
  hold("b", 1, "r");
  EXPECT_EQ(holders(4).size(), kMostNamed);
  hold("b", 2, "s");
  EXPECT_EQ(holders(4), Uids{}) << "four of them";
}

TEST(RejectionHolders, NotBesidePodsThatAreOnlyCounted) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease, {});
  EXPECT_EQ(explainRejection(l, testClaim(2)).holders.size(), 1U);
  l.usePod(model::NodeName{"a"}, model::Uid{"q"}, Source::BoundPod, {}, 1);
  EXPECT_TRUE(explainRejection(l, testClaim(2)).holders.empty()) << "whose the other one is nobody knows";
}

TEST(RejectionHolders, NotWhereNobodySaysWhichGpusThereAre) {
  Ledger l;
  testNode("a").resource(model::kNvidiaGpu, 2).withoutStatus().addTo(l);
  model::Resources two;
  two.extended[model::kNvidiaGpu] = 2;
  l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, two, 0);
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::BoundPod, {});
  const Rejection rejection = explainRejection(l, testPlain(1));
  EXPECT_EQ(rejection.kind, "TooFewFree");
  EXPECT_TRUE(rejection.holders.empty());
}

TEST(RejectionKind, DoesNotChangeWithNumbersOrDetails) {
  const std::vector<Misfit> before{{Reason::TooFewFree, "", 4, 2}, {Reason::UntoleratedTaint, "a: 1", 0, 0}};
  const std::vector<Misfit> after{{Reason::UntoleratedTaint, "b: 1", 0, 0},
                                  {Reason::TooFewFree, "", 4, 3},
                                  {Reason::TooFewFree, "", 4, 0}};
  EXPECT_EQ(explainMisfits(before, 2).kind, explainMisfits(after, 3).kind);
  EXPECT_NE(explainMisfits(before, 2).kind, explainMisfits({before[0]}, 1).kind);
}

/// Reads "N text, N text" back; -1 where it has another form.
std::int64_t sumOfCounts(std::string_view parts) {
  std::int64_t sum = 0;
  while (!parts.empty()) {
    const std::size_t end = std::min(parts.find(", "), parts.size());
    const std::string_view part = parts.substr(0, end);
    const std::size_t digits = part.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || part[digits] != ' ' ||
        part.find(',') != std::string_view::npos) {
      return -1;
    }
    sum += std::stoll(std::string{part.substr(0, digits)});
    parts.remove_prefix(std::min(end + 2, parts.size()));
  }
  return sum;
}

/// How many reasons the nodes have.
std::int64_t reasonsOf(const Ledger& l, const PodRequest& request) {
  std::int64_t all = 0;
  for (Ledger::NodeIndex i = 0; i < l.size(); ++i) {
    const auto misfit = l.at(i).exists ? misfitOn(l.at(i), request) : std::nullopt;
    if (misfit) { all += 1 + static_cast<std::int64_t>(alsoShort(l.at(i), request, *misfit).size()); }
  }
  return all;
}

RC_GTEST_PROP(RejectionTextProperty, HasKubeSchedulersFormAndNamesEveryNode, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  facts.fill();
  PodRequest request = drawRequest(facts.rng());
  request.resources.extended["example.com/nobody-has-it"] = 1;
  const std::string text = rejectionText(l, request);
  const std::string head = "0/" + std::to_string(l.existing()) + " nodes are available: ";
  RC_ASSERT(text.starts_with(head));
  RC_ASSERT(text.ends_with("."));
  if (!request.on_node.empty() && !l.named(request.on_node)) {
    RC_ASSERT(text.starts_with(head + "no node carries the name " + request.on_node));
    return;
  }
  RC_ASSERT(sumOfCounts(std::string_view{text}.substr(head.size(), text.size() - head.size() - 1)) ==
            reasonsOf(l, request));
  RC_ASSERT(sumOfCounts(std::string_view{text}.substr(head.size(), text.size() - head.size() - 1)) >=
            static_cast<std::int64_t>(l.existing()));
}

}  // namespace
}  // namespace gs::sched
