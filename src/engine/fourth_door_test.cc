// A convention that nothing in src/ knows becomes a door by an entry in a table: the engine reads its nodes
// and counts its pods, a request of it is placed, and what was decided is printed in its words.
#include <gtest/gtest.h>

#include <charconv>

#include "engine/engine.h"
#include "kapi/kinds.h"
#include "sched/ledger/shares.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using sched::Decision;
using sched::Holdings;
using testing::PodBuilder;

// Slices: a pod's annotation says how many thousandths of one GPU it wants and, once it was placed, of which
// one it has them. A node's label says how many GPUs it slices, of 1,000 MiB each.
constexpr const char* kWants = "slices.example/milli";
constexpr const char* kHas = "slices.example/gpu";
constexpr const char* kGpus = "slices.example/gpus";
constexpr std::array<const char*, 1> kWritten{kHas};

std::int64_t numberOf(const std::string* text) {
  std::int64_t n = 0;
  if (text != nullptr) { (void)std::from_chars(text->data(), text->data() + text->size(), n); }
  return n;
}

std::optional<sched::AskedBy> asked(const model::Pod& pod) {
  return pod.annotation(kWants) != nullptr ? std::optional{sched::AskedBy{"annotation", kWants}}
                                           : std::nullopt;
}

sched::DoorResult request(const model::Pod& pod, const sched::Objects& /*named*/, sched::PodRequest base) {
  const std::int64_t milli = numberOf(pod.annotation(kWants));
  if (milli <= 0) { return sched::Blocked{"NoSlice", "write how many thousandths"}; }
  base.shares = {{0, milli, milli}};
  base.only_certain = false;
  return base;
}

void addSlices(const model::Pod& pod, Holdings& holdings) {
  const std::int64_t milli = numberOf(pod.annotation(kWants));
  const std::string* gpu = pod.annotation(kHas);
  if (milli <= 0) { return; }
  holdings.milli += milli;
  if (gpu == nullptr) { return; }
  holdings.shares.push_back({{0, milli, milli}, {static_cast<int>(numberOf(gpu))}});
  holdings.on_the_way = pod.phase == model::PodPhase::Pending;
}

sched::Annotations slices(const Decision& decision) {
  return {{kHas, model::printIds(decision.shares.at(0).ids)}};
}

std::optional<sched::ShareNode> slicedNode(const model::Node& node) {
  const auto gpus = node.labels.find(kGpus);
  if (gpus == node.labels.end()) { return std::nullopt; }
  return sched::ShareNode{sched::Enforcer::Gpushare, numberOf(&gpus->second), 1000};
}

constexpr sched::Door kSliceDoor{.name = "slice",
                                 .kept_by = sched::bitOf(sched::Enforcer::Gpushare),
                                 .written = kWritten,
                                 .asked = asked,
                                 .request = request,
                                 .holdings = addSlices,
                                 .annotations = slices,
                                 .node = slicedNode};

constexpr std::array<const sched::Door*, 5> kWithSlices{&sched::kClaimDoor, &sched::kMapDoor,
                                                        &sched::kVcudaDoor, &sched::kPlainDoor, &kSliceDoor};

class FourthDoor : public ::testing::Test {
 protected:
  explicit FourthDoor(sched::Doors doors = kWithSlices) : engine{doors} {
    model::QuotaConfig quota;
    quota.labels.model = "model";
    engine.configureQuota(quota);
    auto node = testing::makeNode("node-a");
    node.labels = {{kGpus, "2"}, {"model", "t4"}};
    engine.apply({kapi::kNode, {"", "node-a"}, {}, std::make_shared<const model::Node>(node), 1}, now);
    engine.synced(now);
  }
  void comes(const PodBuilder& pod) {
    engine.apply({kapi::kPod, pod.value().key, {}, pod.make(), pod.value().revision}, now);
  }
  [[nodiscard]] const sched::NodeState& node() const {
    return *engine.ledger().find(model::NodeName{"node-a"});
  }

  Mono now{1h};
  Engine engine;
};
class FourthDoorUnknown : public FourthDoor {
 protected:
  FourthDoorUnknown() : FourthDoor{sched::kDoors} {}
};

PodBuilder sliced(const char* name, const char* milli) { return PodBuilder(name).annotate(kWants, milli); }

TEST_F(FourthDoor, ItsPodsArePlacedAndToldSoInItsWords) {
  comes(sliced("first", "700").annotate(kHas, "0").on("node-a").running());
  const auto read = sched::readPod(sliced("p", "400").value(), {}, engine.doors());
  const auto& request = std::get<sched::PodRequest>(read);
  ASSERT_EQ(request.door, &kSliceDoor);
  const auto choice = sched::fitShares(node(), request);
  ASSERT_TRUE(choice);
  const auto written = request.door->annotations(
      {.node = node().node.name, .ids = {}, .shares = sched::picksOf(request.shares, *choice)});
  EXPECT_EQ(written, (sched::Annotations{{kHas, "1"}}));
}

TEST_F(FourthDoor, ItsBoundPodsAreCounted) {
  EXPECT_EQ(node().enforcer, sched::Enforcer::Gpushare);
  EXPECT_EQ(node().free_milli, 2000);
  const auto pod = sliced("p", "400").annotate(kHas, "1").on("node-a");
  comes(pod);
  ASSERT_NE(node().device(1), nullptr);
  EXPECT_EQ(node().device(1)->holders.at(0).amount, (sched::Amount{true, 400, 400}));
  EXPECT_EQ(node().free_milli, 1600);
  EXPECT_EQ(node().free_mib, 1600);
  EXPECT_EQ(node().in_flight.size(), 1U);
  EXPECT_EQ(engine.ledger().gpuUse("default", "t4"), 400);
  comes(PodBuilder(pod).revision(2).running());
  EXPECT_TRUE(node().in_flight.empty());
  comes(PodBuilder(pod).revision(3).phase(model::PodPhase::Succeeded));
  EXPECT_EQ(node().free_milli, 2000);
  EXPECT_EQ(engine.ledger().gpuUse("default", "t4"), 0);
}

TEST_F(FourthDoor, BesideAnotherOneItIsRefusedByBothNames) {
  const auto read = sched::readPod(sliced("p", "400").claim("c").value(), {}, engine.doors());
  EXPECT_EQ(std::get<sched::Blocked>(read).text,
            "the pod asks for GPUs in 2 ways: annotation gpu.scheduling/claim and annotation "
            "slices.example/milli; keep one");
}

TEST_F(FourthDoor, WhatOthersWroteInItsWordsIsTakenBack) {
  const auto pod = PodBuilder("p").annotate(kHas, "0").allocated("node-a:1").value();
  EXPECT_EQ(sched::disowned(pod, engine.doors()),
            (sched::Annotations{{kHas, ""}, {model::kAllocatedKey, ""}}));
}

TEST_F(FourthDoorUnknown, NobodyReadsIt) {
  const auto read = sched::readPod(sliced("p", "400").value(), {}, engine.doors());
  EXPECT_EQ(std::get<sched::PodRequest>(read).door, nullptr);
  comes(sliced("p", "400").annotate(kHas, "1").on("node-a"));
  EXPECT_EQ(node().enforcer, sched::Enforcer::Kubelet);
  EXPECT_EQ(node().device(1), nullptr);
}

}  // namespace
}  // namespace gs::engine
