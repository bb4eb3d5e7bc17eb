#include "scheduler/report/contradictions.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using testing::PodBuilder;

class ContradictionsTest : public ::testing::Test {
 protected:
  ContradictionsTest() {
    node("n");
    uses(0, {});
    comes(ours);
    comes(theirs);
    auto lease = testing::makeLease("n", 0, ours.value(), "r1", "n:0");
    lease.uuid = "GPU-n-0";
    apply(kapi::kLease, lease.key, std::make_shared<const model::Lease>(lease));
  }
  void node(const char* name) {
    apply(kapi::kNode, {"", name}, std::make_shared<const model::Node>(testing::makeNode(name)));
  }
  void comes(PodBuilder& pod) { apply(kapi::kPod, pod.value().key, pod.revision(++revision).make()); }
  void apply(kapi::Kind kind, const model::ObjectKey& key, model::Object object,
             const model::Uid& last = {}) {
    context.engine.apply({kind, key, last, std::move(object), ++revision}, context.now.mono);
  }
  void lists(model::GpuNodeStatus s) {
    s.revision = ++revision;
    apply(kapi::kGpuNodeStatus, {"", s.node.text}, std::make_shared<const model::GpuNodeStatus>(s));
  }
  /// The agent says that they use this GPU of n.
  void uses(int id, const std::vector<const PodBuilder*>& pods) {
    auto s = testing::makeStatus("n", 2);
    for (const auto* pod : pods) {
      s.devices[static_cast<std::size_t>(id)].in_use_by.push_back(pod->value().uid);
    }
    lists(std::move(s));
  }
  /// The events since the last call: about whom, and why.
  std::vector<std::string> told() {
    contradictions.pump();
    std::vector<std::string> lines;
    for (auto& effect : std::exchange(context.out, {})) {
      const auto& body = std::get<kapi::Call>(effect).body;
      EXPECT_EQ(body["type"].str(), "Warning");
      lines.push_back(std::string{body["regarding"]["name"].str()} + " " + std::string{body["reason"].str()});
      note = body["note"].str();
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::vector<std::string> seen(const PodBuilder& pod) {
    contradictions.see(*pod.make());
    return told();
  }
  /// So much that the same event is one of its own, and no series.
  void later() { context.now.mono += std::chrono::minutes{7}; }
  using Lines = std::vector<std::string>;
  [[nodiscard]] std::size_t count(Contradictions::Kind kind) const {
    return contradictions.counts().at(static_cast<std::size_t>(kind));
  }

  model::Revision revision = 10;
  Context context{Config{}, Rng{1}};
  Contradictions contradictions{context};
  PodBuilder ours = PodBuilder("ours").on("n").allocated("n:0").running();
  PodBuilder theirs = PodBuilder("theirs").scheduler("other").on("n").gpus(1).running();
  std::string note;
};

TEST_F(ContradictionsTest, WhoUsesAGpuOfAnotherIsSaidOnceToAllUntilItIsOver) {
  EXPECT_EQ(seen(ours), Lines{});
  uses(0, {&ours});
  EXPECT_EQ(seen(ours), Lines{});
  uses(0, {&ours, &theirs});
  const Lines all{"n GpuInUseByOther", "ours GpuInUseByOther", "theirs GpuInUseByOther"};
  EXPECT_EQ(seen(ours), all);
  EXPECT_NE(
      note.find("GPU 0 of node n has its lease for pod default/ours, and containers of pod default/theirs "
                "use it"),
      std::string::npos)
      << note;
  EXPECT_EQ(seen(ours), Lines{});
  EXPECT_EQ(seen(theirs), Lines{});
  EXPECT_EQ(count(Contradictions::Kind::InUseByOther), 1U);
  EXPECT_NE(contradictions.example(), "");
  uses(0, {&ours});
  EXPECT_EQ(seen(ours), Lines{});
  EXPECT_EQ(contradictions.size(), 0U);
  EXPECT_EQ(contradictions.example(), "");
  later();
  uses(0, {&theirs});
  EXPECT_EQ(seen(theirs), all) << "whoever of them is looked at; the lease is enough";
}

TEST_F(ContradictionsTest, WhatAPodThatEndedStillUsesIsNone) {
  uses(0, {&ours, &theirs});
  EXPECT_EQ(seen(ours).size(), 3U);
  comes(theirs.phase(model::PodPhase::Succeeded));
  contradictions.podEnded(theirs.value().uid);
  EXPECT_EQ(contradictions.size(), 0U);
  EXPECT_EQ(seen(ours), Lines{});
}

TEST_F(ContradictionsTest, ALeaseThatIsOfAnotherGpuByNowIsNone) {
  auto s = testing::makeStatus("n", 2);
  std::swap(s.devices[0].uuid, s.devices[1].uuid);
  s.devices[0].in_use_by = {theirs.value().uid};
  s.devices[1].in_use_by = {ours.value().uid};
  lists(s);
  EXPECT_EQ(seen(ours), Lines{}) << "its GPU has id 1 now";
  EXPECT_EQ(seen(theirs), Lines{});
}

TEST_F(ContradictionsTest, AUuidThatStandsTwiceIsSaidToNodesAndToWhoHasIt) {
  auto s = testing::makeStatus("n", 2);
  s.devices[1].uuid = s.devices[0].uuid;
  lists(s);
  EXPECT_EQ(told(), (Lines{"n GpuUuidTwice", "ours GpuUuidTwice"}));
  EXPECT_EQ(count(Contradictions::Kind::UuidTwiceInNode), 1U);
  EXPECT_EQ(told(), Lines{});
  uses(0, {});
  EXPECT_EQ(told(), Lines{});
  EXPECT_EQ(contradictions.size(), 0U);
}

TEST_F(ContradictionsTest, SoIsOneOnTwoNodes) {
  node("m");
  auto s = testing::makeStatus("m", 1);
  s.devices[0].uuid = "GPU-n-1";
  lists(s);
  EXPECT_EQ(told(), (Lines{"m GpuUuidTwice", "n GpuUuidTwice"}));
  EXPECT_EQ(count(Contradictions::Kind::UuidOnTwoNodes), 1U);
  EXPECT_NE(contradictions.example().find("GPU-n-1 stands at m:0 and n:1"), std::string::npos);
  contradictions.reset();
  later();
  EXPECT_EQ(contradictions.size(), 0U);
  EXPECT_EQ(told().size(), 2U) << "who leads next says it too";
}

TEST_F(ContradictionsTest, ANodeIsToldOfFewAndAllAreCounted) {
  node("m");
  auto s = testing::makeStatus("m", 60);
  for (std::size_t i = 0; i < s.devices.size(); ++i) { s.devices[i].uuid = fmt::format("X{}", i / 2); }
  lists(s);
  std::size_t events = 0;
  for (const auto& line : told()) { events += line == "m GpuUuidTwice" ? 1 : 0; }
  EXPECT_EQ(events, 4U);
  EXPECT_EQ(count(Contradictions::Kind::UuidTwiceInNode), 30U);
}

/// Claims of a DRA driver that name GPU 0 of node n.
class AllocatedTwice : public ContradictionsTest {
 protected:
  AllocatedTwice() {
    auto s = testing::makeStatus("n", 2);
    for (auto& device : s.devices) {
      device.dra = {"gpu.nvidia.com", "n", "gpu-" + std::to_string(device.id)};
    }
    lists(std::move(s));
  }
  void allocated(const std::string& name, const std::string& device, const model::Uid& pod) {
    model::ResourceClaim claim;
    claim.key = {"default", name};
    claim.uid = model::Uid{"uid-" + name};
    claim.revision = ++revision;
    claim.allocated = true;
    claim.results = {{"r", {"gpu.nvidia.com", "n", device}}};
    if (!pod.empty()) { claim.reserved_for = {pod}; }
    apply(kapi::kResourceClaim, claim.key, std::make_shared<const model::ResourceClaim>(claim));
  }
  bool heard() { return context.engine.takeTouched().contains(ours.value().uid); }
};

TEST_F(AllocatedTwice, OneThatSomebodyElseIsAllocatedTooIsSaidOnceUntilItIsOver) {
  allocated("its", "gpu-0", ours.value().uid);
  EXPECT_EQ(seen(ours), Lines{});
  allocated("others", "gpu-1", {});
  EXPECT_EQ(seen(ours), Lines{}) << "another device";
  (void)heard();
  allocated("theirs", "gpu-0", {});
  EXPECT_TRUE(heard());
  EXPECT_EQ(seen(ours), Lines{"ours GpuHeldByOther"});
  EXPECT_NE(note.find("GPU 0 of node n, which this pod has, was allocated to ResourceClaim default/theirs"),
            std::string::npos)
      << note;
  EXPECT_EQ(seen(ours), Lines{}) << "once";
  EXPECT_EQ(count(Contradictions::Kind::AllocatedTwice), 1U);
  EXPECT_EQ(contradictions.example(),
            "GPU 0 of node n was allocated to pod default/ours, and to ResourceClaim default/theirs too");
  (void)heard();
  apply(kapi::kResourceClaim, {"default", "theirs"}, {}, model::Uid{"uid-theirs"});
  EXPECT_TRUE(heard());
  EXPECT_EQ(seen(ours), Lines{});
  EXPECT_EQ(contradictions.size(), 0U);
  later();
  allocated("again", "gpu-0", {});
  EXPECT_EQ(seen(ours), Lines{"ours GpuHeldByOther"});
  contradictions.podEnded(ours.value().uid);
  EXPECT_EQ(contradictions.size(), 0U);
}

TEST_F(AllocatedTwice, WithoutAClaimOfItsOwnNothingIsSaid) {
  allocated("theirs", "gpu-0", {});
  EXPECT_EQ(seen(ours), Lines{});
}

}  // namespace
}  // namespace gs::scheduler
