// What is said of pods that wait, and when. (The queue itself: sched/placement.)
#include "scheduler/pending/pending_pods.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

/// Pods p and q share ResourceClaim c, and p may have begun to choose its devices.
class WhoSharesAClaim : public ::testing::Test {
 protected:
  WhoSharesAClaim() {
    t.deviceClass();
    t.resourceClaim("c");
    t.learn(testing::PodBuilder{"p"}.resourceClaim("c"));
    t.learn(testing::PodBuilder{"q"}.resourceClaim("c"));
  }
  void begins() { (void)t.c.engine.deviceClaims().begun(*t.known("p")); }
  void ends() { (void)t.c.engine.deviceClaims().over(TestParts::uid("p")); }
  /// q is looked at now; true: it is told something.
  bool isTold() {
    const auto before = t.pending.told();
    (void)t.pending.enqueue(*t.known("q"));
    return t.pending.told() > before;
  }

  TestParts t{Config{}};
};

/// Mostly it takes some ms.
TEST_F(WhoSharesAClaim, IsToldAfterASecondThatAnotherOneIsFirst) {
  begins();
  EXPECT_FALSE(isTold());
  t.c.now.mono += 999ms;
  EXPECT_FALSE(isTold());
  t.c.now.mono += 1ms;
  EXPECT_TRUE(isTold());
  EXPECT_EQ(t.pending.whyWaiting(TestParts::uid("q")),
            "resourceclaim \"c\" of spec.resourceClaims[c] is being allocated for another pod");
}

TEST_F(WhoSharesAClaim, HasThatSecondAgainOnceItStoodInTheQueue) {
  begins();
  EXPECT_FALSE(isTold());
  ends();
  EXPECT_FALSE(isTold());
  EXPECT_EQ(t.pending.blocked(), 0U) << "it stands in the queue";
  t.c.now.mono += 5s;
  begins();
  EXPECT_FALSE(isTold());
}

TEST_F(WhoSharesAClaim, HasThatSecondAgainAfterItWaitedForSomethingElse) {
  begins();
  EXPECT_FALSE(isTold());
  t.resourceClaimGone("c");
  EXPECT_TRUE(isTold());
  t.c.now.mono += 5s;
  t.resourceClaim("c");
  EXPECT_FALSE(isTold());
  t.c.now.mono += 1s;
  EXPECT_TRUE(isTold());
}

TEST_F(WhoSharesAClaim, LeavesNothingBehind) {
  begins();
  EXPECT_FALSE(isTold());
  t.pending.podEnded(TestParts::uid("q"));
  EXPECT_EQ(t.pending.size(), 0U);
}

/// What a driver prepares for it, its containers have, told or not. It has annotations of ours where an
/// earlier decision about it was fenced.
TEST(RequireInjection, IsNotForPodsOfResourceClaims) {
  Config config;
  config.requires_injection = true;
  TestParts t{config};
  t.deviceClass();
  t.resourceClaim("c");
  t.claim("one", 1);
  model::Pod pod = testing::PodBuilder{"p"}.resourceClaim("c").annotate(model::kFenceKey, "f").value();
  pod.untold = "main";
  EXPECT_TRUE(std::holds_alternative<sched::PodRequest>(t.pending.readDoor(pod)));
  pod = testing::PodBuilder{"q"}.claim("one").value();
  pod.untold = "main";
  const auto door = t.pending.readDoor(pod);
  ASSERT_TRUE(std::holds_alternative<sched::Blocked>(door));
  EXPECT_EQ(std::get<sched::Blocked>(door).kind, "GpuEnvMissing");
}

/// The reason that the pod's condition is given now.
std::string writtenReason(TestParts& t) {
  t.pending.pump([](const model::Uid&) { return false; });
  for (const auto& call : t.calls()) {
    if (call.kind == kapi::kPod && call.subresource == "status") {
      return std::string{call.body["status"]["conditions"].at(0)["reason"].str()};
    }
  }
  return "";
}

TEST(WhoIsTold, WhatKeepsItFromAllNodesHasTheReasonOfItsKind) {
  TestParts t{Config{}};
  t.learn(testing::PodBuilder{"p"}.claim("missing"));
  (void)t.pending.enqueue(*t.known("p"));
  EXPECT_EQ(writtenReason(t), "ClaimNotFound");
}

TEST(WhoIsTold, WhatNodesSayHasTheReasonThatTheySay) {
  TestParts t{Config{}};
  t.learn(testing::PodBuilder{"p"}.claim("one"));
  const auto text = std::make_shared<const std::string>("0/1 nodes are available: 1 ExceedsGPUQuota.");
  t.pending.tell(*t.known("p"), {"ExceedsQuota", text, sched::PodReason::QuotaExceeded});
  EXPECT_EQ(writtenReason(t), "QuotaExceeded");
}

TEST(WhoIsTold, WhatIsAlsoSaidFollows) {
  TestParts t{Config{}};
  t.learn(testing::PodBuilder{"p"}.claim("one"));
  AlsoSaid also{"Nobody can go.", ""};
  t.pending.alsoSaid([&](const model::Uid&) { return also; });
  const auto text = std::make_shared<const std::string>("0/1 nodes are available.");
  const auto told = [&](std::optional<sched::PodReason> by_nodes) {
    t.pending.tell(*t.known("p"), {"ClaimMissing", text, by_nodes});
    return t.pending.whyWaiting(TestParts::uid("p"));
  };
  EXPECT_EQ(told(sched::PodReason::Unschedulable), "0/1 nodes are available. Nobody can go.");
  EXPECT_EQ(told(std::nullopt), "0/1 nodes are available.") << "no node said that";
  also.kind = "Nominated";
  EXPECT_EQ(told(std::nullopt), "0/1 nodes are available. Nobody can go.");
}

/// However many are kept off: some are looked at, and the next time those after them.
TEST(KeptOff, NotAllAreLookedAtAtOnce) {
  TestParts t{Config{}};
  constexpr int kPods = 400;
  constexpr std::size_t kNodes = 128;
  std::vector<model::NodeName> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) { nodes.emplace_back("n" + std::to_string(i)); }
  for (int i = 0; i < kPods; ++i) {
    t.learn(testing::PodBuilder{"p" + std::to_string(i)}.claim("one"));
    t.pending.keepOff(TestParts::uid("p" + std::to_string(i)), nodes);
  }
  std::set<model::Uid> seen;
  std::size_t looks = 0;
  const auto look = [&] {
    looks = 0;
    t.pending.keepOffOnly([&](const model::Pod& pod, const model::NodeName&) {
      ++looks;
      seen.insert(pod.uid);
      return true;
    });
  };
  look();
  EXPECT_LE(looks, 33'000U);
  EXPECT_LT(seen.size(), static_cast<std::size_t>(kPods));
  look();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kPods));
}

}  // namespace
}  // namespace gs::scheduler
