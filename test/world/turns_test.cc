// What concerns very many pods is not done in one event.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/scheduler_drive.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "scheduler/pending/unschedulable.h"
#include "test/world/objects.h"
#include "testing/builders.h"

namespace gs::test {
namespace {

using kapi::Kind;

/// What the first lists bring.
template <class Object>
void put(bench::SchedulerDrive::Listed& listed, Kind kind, Object object) {
  listed[kind].emplace_back(std::make_shared<const Object>(std::move(object)));
}

TEST(Turns, AClaimOfVeryManyPodsIsFollowedAFewHundredPodsAtATime) {
  bench::SchedulerDrive::Listed listed;
  put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
  constexpr int kPods = 2'000;
  for (int i = 0; i < kPods; ++i) {
    put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim("c1").value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::seconds{5});
  const auto before = drive.scheduler().workForTest().reconciles;
  (void)drive.takeMostReviews();
  (void)drive.tellLine(kapi::kGpuClaim,
                       R"({"type":"MODIFIED","object":{"metadata":{"name":"c1","namespace":"default",
      "uid":"claim-c1","resourceVersion":"5000"},"spec":{"devices":{"count":2}}}})");
  drive.run(std::chrono::milliseconds{1});
  EXPECT_GE(drive.scheduler().workForTest().reconciles - before, std::uint64_t{kPods})
      << "everybody, and at once";
  EXPECT_LE(drive.takeMostReviews(), 1'000U);
  EXPECT_EQ(drive.scheduler().pending().unschedulable, std::size_t{kPods});
}

TEST(Turns, VeryManyAreToldOtherWordsAFewThousandAtATime) {
  bench::SchedulerDrive::Listed listed;
  put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
  put(listed, kapi::kNode, testing::makeNode("n"));
  constexpr int kPods = 20'000;
  for (int i = 0; i < kPods; ++i) {
    put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim("c1").value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{2});
  (void)drive.takeMostTold();
  const auto before = drive.scheduler().workForTest().told;
  (void)drive.tellLine(kapi::kNode, R"({"type":"ADDED","object":{"metadata":{"name":"m","uid":"m",
      "resourceVersion":"9000"},"status":{"allocatable":{"cpu":"8","pods":"9"},"conditions":[{"type":"Ready","status":"False"}]}}})");
  drive.run(std::chrono::seconds{2});
  EXPECT_GE(drive.scheduler().workForTest().told - before, std::uint64_t{kPods}) << "everybody, and at once";
  EXPECT_LE(drive.takeMostTold(), 1'200U);
  // Only numbers change: nothing is written, so nothing is answered, and still it goes on.
  drive.run(std::chrono::minutes{3});
  (void)drive.tellLine(kapi::kNode, R"({"type":"ADDED","object":{"metadata":{"name":"o","uid":"o",
      "resourceVersion":"999999"},"status":{"allocatable":{"cpu":"8","pods":"9"},"conditions":[{"type":"Ready","status":"False"}]}}})");
  const auto quiet = drive.scheduler().workForTest().told;
  for (int s = 0; s < 60 && drive.scheduler().workForTest().told == quiet; ++s) {
    drive.run(std::chrono::seconds{1});
  }
  EXPECT_GE(drive.scheduler().workForTest().told - quiet, std::uint64_t{kPods});
}

/// 1,024 GPUs, each its own island, and so many pods with a claim of their own for two of one island.
void putWide(bench::SchedulerDrive::Listed& listed, const std::string& name) {
  put(listed, kapi::kNode, testing::makeNode(name));
  put(listed, kapi::kGpuNodeStatus, testing::makeStatus(name, 1'024, 1));
}
constexpr std::uint64_t kLooksAtWide = 1'024 * sched::kStepsPerDevice / sched::kStepsPerLook;  // at least
/// For pods that wait and for ready ones, and one look more of each, perhaps to find out why not.
constexpr std::uint64_t kMostOfATurn = 2 * (scheduler::Unschedulable::kLooksPerTurn + 8 * kLooksAtWide);

TEST(Turns, AWideNodeIsLookedAtByWhatThatCosts) {
  bench::SchedulerDrive::Listed listed;
  putWide(listed, "wide");
  constexpr int kPods = 300;
  for (int i = 0; i < kPods; ++i) {
    const std::string name = "p" + std::to_string(i);
    model::GpuClaim claim = testing::makeClaim(name, 2);
    claim.topology = model::TopologyMode::Required;
    claim.min_bandwidth_gbps = 100 + i;
    put(listed, kapi::kGpuClaim, std::move(claim));
    put(listed, kapi::kPod, testing::PodBuilder(name).claim(name.c_str()).value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{2});
  ASSERT_EQ(drive.scheduler().pending().unschedulable, std::size_t{kPods});
  (void)drive.takeMostLooks();
  const auto before = drive.scheduler().engine().decider().looks();
  (void)drive.tellLine(kapi::kNode,
                       R"({"type":"MODIFIED","object":{"metadata":{"name":"wide","uid":"uid-wide",
      "resourceVersion":"9001","labels":{"any":"other"}},"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110"},
      "conditions":[{"type":"Ready","status":"True"}]}}})");
  drive.run(std::chrono::milliseconds{1});
  EXPECT_GE(drive.scheduler().engine().decider().looks() - before, kPods * kLooksAtWide)
      << "everybody, and at once";
  EXPECT_LE(drive.takeMostLooks(), kMostOfATurn);
}

/// To find the best node for one pod all of these have to be looked at.
TEST(Turns, OneDecisionAmongManyWideNodesIsSpreadOverEvents) {
  bench::SchedulerDrive::Listed listed;
  constexpr int kNodes = 300;
  for (int i = 0; i < kNodes; ++i) { putWide(listed, "wide-" + std::to_string(i)); }
  put(listed, kapi::kGpuClaim, testing::makeClaim("c2", 2));
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{1});
  (void)drive.takeMostLooks();
  const auto before = drive.scheduler().engine().decider().looks();
  (void)drive.tellLine(kapi::kPod, R"({"type":"ADDED","object":{"metadata":{"name":"p","namespace":"default",
      "uid":"p","resourceVersion":"9000","annotations":{"gpu.scheduling/claim":"c2"}},"spec":{"schedulerName":"gpu-scheduler"}}})");
  drive.run(std::chrono::milliseconds{1});
  EXPECT_GE(drive.scheduler().engine().decider().looks() - before, kNodes * kLooksAtWide);
  EXPECT_LE(drive.takeMostLooks(), kMostOfATurn);
  EXPECT_EQ(drive.calls(kapi::kLease, kapi::Verb::Create), 2);
}

/// However many kinds of pods wait: when a node changes, each of them looks at that node, and at no other.
TEST(Turns, AKindThatWaitsLooksOnlyAtTheNodeThatChanged) {
  constexpr int kNodes = 40;
  for (const int kinds : {250, 270, 10'000}) {
    bench::SchedulerDrive::Listed listed;
    put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
    for (int i = 0; i < kNodes; ++i) { put(listed, kapi::kNode, testing::makeNode("n" + std::to_string(i))); }
    for (int i = 0; i < kinds; ++i) {
      put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim("c1").cpu(i + 1).value());
    }
    bench::SchedulerDrive drive{{}, std::move(listed)};
    drive.run(std::chrono::minutes{2});
    ASSERT_EQ(drive.scheduler().pending().unschedulable, static_cast<std::size_t>(kinds));
    const auto before = drive.scheduler().engine().decider().looks();
    (void)drive.tellLine(kapi::kNode, R"({"type":"MODIFIED","object":{"metadata":{"name":"n7","uid":"n7",
        "resourceVersion":"900000"},"status":{"allocatable":{"cpu":"8","pods":"9"},"conditions":[{"type":"Ready","status":"True"}]}}})");
    drive.run(std::chrono::milliseconds{20});
    const auto looks = drive.scheduler().engine().decider().looks() - before;
    EXPECT_GE(looks, static_cast<std::uint64_t>(kinds)) << "everybody, and at once";
    EXPECT_LE(looks, static_cast<std::uint64_t>(4 * kinds)) << kinds;
  }
}

/// All nodes change at once: what every kind looks at then is spread over events.
/// Nearly every pod with a map is a kind of its own, and one node alone may take it.
TEST(Turns, AMapThatWaitsIsLookedAtWhenItsNodeChangesAndAtNoOtherTime) {
  constexpr int kNodes = 40;
  constexpr int kPods = 2'000;
  bench::SchedulerDrive::Listed listed;
  for (int i = 0; i < kNodes; ++i) {
    put(listed, kapi::kNode, testing::makeNode("n" + std::to_string(i)));
    put(listed, kapi::kGpuNodeStatus, testing::makeStatus("n" + std::to_string(i), 4, 4));
  }
  for (int i = 0; i < kPods; ++i) {
    put(listed, kapi::kPod,
        testing::PodBuilder(fmt::format("m-{}", i))
            .annotate(model::kMapKey, fmt::format("{}=n{}:{}", i, i % kNodes, 4 + i / kNodes))
            .value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{2});
  ASSERT_EQ(drive.scheduler().pending().unschedulable, std::size_t{kPods});
  const auto& decider = drive.scheduler().engine().decider();
  const auto before = decider.looks();
  (void)drive.tellLine(
      kapi::kPod, R"({"type":"ADDED","object":{"metadata":{"name":"guest","namespace":"default","uid":"guest",
      "resourceVersion":"9000"},"spec":{"nodeName":"n7","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}})");
  drive.run(std::chrono::milliseconds{1});
  EXPECT_EQ(decider.looks() - before, std::uint64_t{kPods / kNodes});
  (void)drive.tellLine(kapi::kNode, R"({"type":"MODIFIED","object":{"metadata":{"name":"n8","uid":"uid-n8",
      "resourceVersion":"9001","labels":{"gpu-node-name":"n7"}},"status":{"allocatable":{"cpu":"64","pods":"110"},
      "conditions":[{"type":"Ready","status":"True"}]}}})");
  const auto at_all = decider.looks();
  drive.run(std::chrono::milliseconds{1});
  EXPECT_EQ(decider.looks() - at_all, std::uint64_t{2 * kPods / kNodes}) << "it has that name, too";
}

/// What pods are told is read anew where something changed that it says. Where nothing did, it is read for
/// the part that each sweep has looked at again, and no more.
TEST(Turns, WhatMapsAreToldCostsAsMuchAsChanges) {
  constexpr int kNodes = 40;
  constexpr int kPods = 2'000;
  bench::SchedulerDrive::Listed listed;
  for (int i = 0; i < kNodes; ++i) {
    put(listed, kapi::kNode, testing::makeNode("n" + std::to_string(i)));
    put(listed, kapi::kGpuNodeStatus, testing::makeStatus("n" + std::to_string(i), 4, 4));
  }
  for (int i = 0; i < kPods; ++i) {
    put(listed, kapi::kPod,
        testing::PodBuilder(fmt::format("m-{}", i))
            .annotate(model::kMapKey, fmt::format("{}=n{}:{}", i, i % kNodes, 4 + i / kNodes))
            .value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{2});
  ASSERT_EQ(drive.scheduler().pending().unschedulable, std::size_t{kPods});
  const auto looksInAMinute = [&] {
    const auto before = drive.scheduler().engine().decider().looks();
    drive.run(std::chrono::minutes{1});
    return drive.scheduler().engine().decider().looks() - before;
  };
  constexpr std::uint64_t kOfOneNode = kPods / kNodes;
  constexpr std::uint64_t kLooksPerReason = 4;
  constexpr std::uint64_t kPerClass = 1 + kLooksPerReason;  // does it fit now, and why not
  constexpr std::uint64_t kAgain = 2 * (kPods / scheduler::Unschedulable::kSweepsForAll) * kPerClass;
  EXPECT_EQ(looksInAMinute(), kAgain) << "two sweeps";
  (void)drive.tellLine(
      kapi::kPod, R"({"type":"ADDED","object":{"metadata":{"name":"guest","namespace":"default","uid":"guest",
      "resourceVersion":"9000"},"spec":{"nodeName":"n7","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}})");
  EXPECT_EQ(looksInAMinute(), kOfOneNode * kPerClass + kAgain);
  const auto told = drive.scheduler().workForTest().told;
  (void)drive.tellLine(kapi::kNode, R"({"type":"ADDED","object":{"metadata":{"name":"o","uid":"o",
      "resourceVersion":"9001"},"status":{"allocatable":{"cpu":"8","pods":"9"},"conditions":[{"type":"Ready","status":"True"}]}}})");
  EXPECT_EQ(looksInAMinute(), kPods * 2 * kLooksPerReason + kAgain)
      << "they say how many nodes there are, by the sweep";
  EXPECT_EQ(drive.scheduler().workForTest().told - told, std::uint64_t{kPods});
}

TEST(Turns, KindsThatKeepAnOrderOfTheNodesCatchUpSomeAtATime) {
  constexpr int kNodes = 1'000;
  constexpr int kKinds = 200;
  bench::SchedulerDrive::Listed listed;
  put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
  for (int i = 0; i < kNodes; ++i) {
    auto node = testing::makeNode("n" + std::to_string(i));
    node.labels["all"] = "same";
    put(listed, kapi::kNode, std::move(node));
  }
  for (int i = 0; i < kKinds; ++i) {
    put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim("c1").cpu(i + 1).value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  const auto alone = [](const char* type, int revision) {
    return fmt::format(
        R"({{"type":"{}","object":{{"metadata":{{"name":"alone","namespace":"default","uid":"alone",
        "resourceVersion":"{}"}},"spec":{{"nodeName":"n7","containers":[{{"name":"c"}}],"affinity":{{"podAntiAffinity":{{
        "requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"all","labelSelector":{{}}}}]}}}}}}}}}})",
        type, revision);
  };
  drive.run(std::chrono::seconds{10});
  (void)drive.tellLine(kapi::kPod, alone("ADDED", 900'000));
  drive.run(std::chrono::minutes{2});
  (void)drive.takeMostLooks();
  const auto before = drive.scheduler().engine().decider().looks();
  (void)drive.tellLine(kapi::kPod, alone("DELETED", 900'001));
  drive.run(std::chrono::milliseconds{20});
  EXPECT_GE(drive.scheduler().engine().decider().looks() - before, std::uint64_t{kKinds} * kNodes / 2)
      << "everybody, and at once";
  EXPECT_LE(drive.takeMostLooks(), 40'000U);
}

/// GPUs come when most of them have not had their turn yet.
TEST(Turns, NobodyIsPlacedByWhatItsClaimAskedForBefore) {
  bench::SchedulerDrive::Listed listed;
  put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
  put(listed, kapi::kNode, testing::makeNode("n"));
  for (int i = 1'000; i < 3'000; ++i) {  // the last in the alphabet would be placed first
    put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim("c1").priority(i).value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::seconds{5});
  (void)drive.tellLine(kapi::kGpuClaim,
                       R"({"type":"MODIFIED","object":{"metadata":{"name":"c1","namespace":"default",
      "uid":"claim-c1","resourceVersion":"5000"},"spec":{"devices":{"count":2}}}})");
  std::string devices;
  for (int id = 0; id < 16; ++id) {
    devices += fmt::format(R"({}{{"id":{},"uuid":"GPU-{}","health":"Healthy"}})", id == 0 ? "" : ",", id, id);
  }
  (void)drive.tellLine(
      kapi::kGpuNodeStatus,
      R"({"type":"ADDED","object":{"metadata":{"name":"n","uid":"s","resourceVersion":"5001"},"status":{"devices":[)" +
          devices + "]}}}");
  drive.run(std::chrono::seconds{1});
  std::map<model::Uid, int> given;
  for (const auto& device : drive.scheduler().engine().ledger().find(model::NodeName{"n"})->devices) {
    for (const auto& holder : device.holders) { ++given[holder.uid]; }
  }
  EXPECT_EQ(given.size(), 8U);
  for (const auto& [uid, gpus] : given) { EXPECT_EQ(gpus, 2) << uid.text; }
}

/// An extender on the same engine was asked in the pod's name; an earlier leader had decided for it.
TEST(OneEngine, LeasesOfAPodThatSomebodyElseReservedForAreNotAdopted) {
  bench::SchedulerDrive::Listed listed;
  put(listed, kapi::kGpuClaim, testing::makeClaim("c1", 1));
  put(listed, kapi::kNode, testing::makeNode("n"));
  put(listed, kapi::kGpuNodeStatus, testing::makeStatus("n", 2));
  bench::SchedulerDrive drive{{}, std::move(listed)};
  const auto pod = testing::PodBuilder("p").uid("u-p").claim("c1");
  const auto theirs = drive.scheduler().engine().ledger().reserve(model::NodeName{"n"}, model::Uid{"u-p"},
                                                                  sched::PodRequest{}, {}, {});
  const auto tell = [&](Kind kind, json::Value object, const char* uid) {
    object.child("metadata").set("uid", uid);
    object.child("metadata").set("resourceVersion", std::to_string(drive.nextRevision()));
    (void)drive.tellLine(kind, fmt::format(R"({{"type":"ADDED","object":{}}})", json::print(object)));
    drive.run(std::chrono::milliseconds{10});
  };
  tell(kapi::kPod, test::pod("p", "c1"), "u-p");
  tell(kapi::kLease, kapi::createLease(testing::makeLease("n", 0, pod.value(), "r1", "n:0")).body, "u-lease");
  EXPECT_EQ(drive.calls(kapi::kLease, kapi::Verb::Update), 0) << "it would be written over";
  EXPECT_EQ(drive.calls(kapi::kPod, kapi::Verb::MergePatch), 1) << "it is fenced";
}

/// A node changes while more kinds of pods wait than orders are kept: to find out why takes a look at all
/// nodes for each.
TEST(Turns, WhatWaitingPodsAreToldIsReadAnewAPartAtATime) {
  bench::SchedulerDrive::Listed listed;
  for (int i = 0; i < 200; ++i) { put(listed, kapi::kNode, testing::makeNode("n" + std::to_string(i))); }
  for (int i = 1; i <= 400; ++i) {
    const std::string claim = "c" + std::to_string(i);
    put(listed, kapi::kGpuClaim, testing::makeClaim(claim.c_str(), i));
    put(listed, kapi::kPod, testing::PodBuilder("p" + std::to_string(i)).claim(claim.c_str()).value());
  }
  bench::SchedulerDrive drive{{}, std::move(listed)};
  drive.run(std::chrono::minutes{2});
  (void)drive.tellLine(kapi::kNode, R"({"type":"MODIFIED","object":{"metadata":{"name":"n7","uid":"uid-n7",
      "resourceVersion":"900000"},"status":{"allocatable":{"cpu":"8","pods":"9"},"conditions":[{"type":"Ready","status":"True"}]}}})");
  const auto looksIn = [&](Duration time) {
    const auto before = drive.scheduler().engine().decider().looks();
    drive.run(time);
    return drive.scheduler().engine().decider().looks() - before;
  };
  std::uint64_t looks = 0;
  for (int i = 0; i < 4'000 && looks < 1'000; ++i) { looks = looksIn(std::chrono::milliseconds{10}); }
  EXPECT_GE(looks, 1'000U) << "it has begun to read them";
  EXPECT_LE(looks, 20'000U);
  EXPECT_GE(looksIn(std::chrono::seconds{3}), 60'000U) << "and goes on";
}

}  // namespace
}  // namespace gs::test
