#include "scheduler/report/device_health.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

class DeviceHealthTest : public ::testing::Test {
 protected:
  void node(const char* uid) {
    model::Node n = testing::makeNode("n");
    n.uid = model::Uid{uid};
    apply(kapi::kNode, std::make_shared<const model::Node>(n));
  }
  void noNode() { apply(kapi::kNode, {}); }
  void status(model::Health health, const char* reason = "XID 79") {
    model::GpuNodeStatus s = testing::makeStatus("n", 2);
    s.revision = ++revision;
    s.devices[1].health = health;
    s.devices[1].health_reason = reason;
    apply(kapi::kGpuNodeStatus, std::make_shared<const model::GpuNodeStatus>(s));
  }
  void apply(kapi::Kind kind, model::Object object) {
    context.engine.apply({kind, {"", "n"}, {}, std::move(object), ++revision}, context.now.mono);
  }
  /// The events that this led to: about whom, and what they say.
  std::vector<std::string> told(const std::vector<int>& held = {1}) {
    health.see(*pod.make(), held);
    std::vector<std::string> lines;
    for (auto& effect : std::exchange(context.out, {})) {
      const auto& body = std::get<kapi::Call>(effect).body;
      EXPECT_EQ(body["reason"].str(), "GpuUnhealthy");
      EXPECT_EQ(body["type"].str(), "Warning");
      lines.push_back(std::string{body["regarding"]["kind"].str()} + ": " + std::string{body["note"].str()});
    }
    return lines;
  }

  model::Revision revision = 10;
  Context context{Config{}, Rng{1}};
  DeviceHealth health{context};
  testing::PodBuilder pod = testing::PodBuilder("p").on("n").allocated("n:1").running();
};

TEST_F(DeviceHealthTest, TellsPodAndNodeWhatHappenedAndTheRemedy) {
  node("u1");
  status(model::Health::Unhealthy);
  EXPECT_TRUE(told({0}).empty()) << "it has another GPU";
  EXPECT_EQ(
      told(),
      (std::vector<std::string>{
          "Pod: GPU 1 of node n is unhealthy (XID 79), and this pod still has it; delete the pod to have it "
          "placed on another GPU",
          "Node: GPU 1 is unhealthy (XID 79), and pod default/p still has it; nothing new is placed on it: "
          "repair it, or drain the node"}));
  EXPECT_TRUE(told().empty()) << "once";
}

TEST_F(DeviceHealthTest, WhatFailsAgainIsSaidAgainAndUnknownIsNotWell) {
  node("u1");
  status(model::Health::Unhealthy, "");
  EXPECT_EQ(told().size(), 2U);
  status(model::Health::Unknown);
  EXPECT_TRUE(told().empty());
  status(model::Health::Unhealthy, "XID 79");
  EXPECT_TRUE(told().empty()) << "it was not seen well";
  status(model::Health::Healthy);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(health.size(), 0U);
  status(model::Health::Unhealthy, "XID 13");
  EXPECT_EQ(told().size(), 2U);
}

TEST_F(DeviceHealthTest, ANewNodeOfTheNameIsTold) {
  node("u1");
  status(model::Health::Unhealthy);
  EXPECT_EQ(told().size(), 2U);
  noNode();
  node("u2");
  EXPECT_EQ(told().size(), 1U) << "the node; the pod knows";
}

TEST_F(DeviceHealthTest, OfWhatWentNothingIsKept) {
  node("u1");
  status(model::Health::Unhealthy);
  EXPECT_EQ(told().size(), 2U);
  EXPECT_EQ(health.size(), 2U);
  health.podEnded(pod.value().uid);
  EXPECT_EQ(health.size(), 1U);
  health.forgetGoneNodes();
  EXPECT_EQ(health.size(), 1U) << "it is there";
  noNode();
  health.forgetGoneNodes();
  EXPECT_EQ(health.size(), 0U);
}

}  // namespace
}  // namespace gs::scheduler
