// What `kubectl get gns` says of nodes whose GPUs a DRA driver publishes.
#include "test/world/dra_cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;

class DraStatuses : public Dra {
 protected:
  explicit DraStatuses(sandbox::World::Options options = byDra()) : Dra{std::move(options)} {
    world.setJudge([this](sandbox::ReplicaId, const kapi::Call& call) -> CallFault {
      const bool is_it = call.leader_only && call.kind == kapi::kGpuNodeStatus;
      writes += is_it ? 1 : 0;
      return is_it && is_forbidden ? CallFault{.how = CallFault::How::Refused, .http = 403, .is_status = true}
                                   : CallFault{};
    });
  }
  static std::string pathOf(const std::string& node) {
    return "/apis/gpu.scheduling/v1/gpunodestatuses/" + node;
  }
  static std::string sliceOf(const std::string& node) {
    return fmt::format("/apis/resource.k8s.io/v1/resourceslices/{}-gpu.nvidia.com", node);
  }
  /// The driver goes for good, and a device plugin takes its place.
  void moves(const std::string& node) {
    world.machines().setPublishing(node, false);
    world.touch();
    const Object amounts{{"nvidia.com/gpu", "4"}};
    EXPECT_EQ(world
                  .request("PATCH", "/api/v1/nodes/" + node + "/status",
                           Object{{"status", Object{{"capacity", amounts}, {"allocatable", amounts}}}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  void movesBack(const std::string& node) {
    const Object amounts{{"nvidia.com/gpu", "0"}};
    EXPECT_EQ(world
                  .request("PATCH", "/api/v1/nodes/" + node + "/status",
                           Object{{"status", Object{{"capacity", amounts}, {"allocatable", amounts}}}},
                           "application/merge-patch+json")
                  .code,
              200);
    world.machines().setPublishing(node, true);
    world.touch();
  }
  Value statusOf(const std::string& node) { return world.get(pathOf(node))["status"]; }
  bool isThere(const std::string& node) { return world.get(pathOf(node))["kind"].str() == "GpuNodeStatus"; }
  std::string keeperOf(const std::string& node) {
    return std::string{world.get(pathOf(node))["metadata"]["labels"][model::kWrittenByKey].str()};
  }
  bool looked(const std::string& node) { return !statusOf(node)["observedTime"].str().empty(); }
  std::string enforcement(const std::string& node) {
    return isThere(node) ? std::string{statusOf(node)["enforcement"].str()} : "no object";
  }
  /// All GPUs of the node by their UUIDs, and what gives them.
  bool isTold(const std::string& node) {
    if (enforcement(node) != "dra") { return false; }
    std::set<std::string> has;
    std::set<std::string> says;
    for (const auto& device : world.machines().devicesOf(node)) { has.insert(device.uuid); }
    for (const auto& device : statusOf(node)["devices"].items()) { says.emplace(device["uuid"].str()); }
    return has == says;
  }
  bool areTold() { return isTold("node-a") && isTold("node-b"); }
  /// An agent complained of what another one wrote.
  bool isContested(const std::string& node) {
    const auto conditions = statusOf(node)["conditions"].items();
    return std::any_of(conditions.begin(), conditions.end(),
                       [](const Value& c) { return c["type"].str() == "OnlyWriter"; });
  }

  int writes = 0;
  bool is_forbidden = false;
};

class SliceStatusesOnly : public DraStatuses {
 protected:
  SliceStatusesOnly() : DraStatuses{byDra(false)} {}
};

TEST_F(SliceStatusesOnly, EachNodeHasOneThatSaysWhatItsDriverPublishes) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  for (const char* node : {"node-a", "node-b"}) {
    EXPECT_EQ(keeperOf(node), "scheduler");
    EXPECT_FALSE(looked(node)) << "nobody looks there";
    EXPECT_TRUE(statusOf(node)["free"].isNull());
    const auto gpus = static_cast<std::int64_t>(world.machines().devicesOf(node).size());
    EXPECT_EQ(statusOf(node)["total"].integer(), gpus);
    EXPECT_EQ(statusOf(node)["healthy"].integer(), gpus);
    for (const auto& device : statusOf(node)["devices"].items()) {
      EXPECT_TRUE(device["inUseBy"].isNull());
      EXPECT_EQ(device["health"].str(), "Healthy");
    }
  }
  EXPECT_EQ(writes, 4);
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  world.run(10min);
  EXPECT_EQ(writes, 4) << "what it wrote itself changes nothing";
}

TEST_F(SliceStatusesOnly, ItFollowsTheDriverAndGoesWithIt) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  world.machines().setHealth("node-a", 1, model::Health::Unhealthy, "XID 79");
  world.touch();
  ASSERT_TRUE(eventually([&] { return statusOf("node-a")["devices"].at(1)["health"].str() == "Unhealthy"; }));
  EXPECT_EQ(statusOf("node-a")["healthy"].integer(), 3);
  moves("node-a");
  ASSERT_TRUE(eventually([&] { return !isThere("node-a"); }));
  EXPECT_TRUE(isTold("node-b"));
  world.machines().setHealth("node-a", 1, model::Health::Healthy);
  movesBack("node-a");
  ASSERT_TRUE(eventually([&] { return areTold(); })) << "the driver publishes again";
  world.machines().removeNode("node-b");
  world.touch();
  ASSERT_TRUE(eventually([&] { return !isThere("node-b"); }));
  world.run(1min);
  EXPECT_FALSE(isThere("node-b"));
}

/// A kubelet that starts anew takes the slices of its node away.
TEST_F(SliceStatusesOnly, ItStaysThoughTheSlicesGoForAMoment) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  const std::string uid{world.get(pathOf("node-a"))["metadata"]["uid"].str()};
  ASSERT_EQ(world.request("DELETE", sliceOf("node-a")).code, 200);
  ASSERT_TRUE(eventually([&] { return statusOf("node-a")["healthy"].integer() == 0; }));
  world.run(5min);
  EXPECT_TRUE(isTold("node-a"));
  world.machines().setPublishing("node-a", true);
  world.touch();
  ASSERT_TRUE(eventually([&] { return statusOf("node-a")["healthy"].integer() == 4; }));
  EXPECT_EQ(world.get(pathOf("node-a"))["metadata"]["uid"].str(), uid);
}

// What a role of before allows: nothing else depends on it.
TEST_F(SliceStatusesOnly, WhereItMayNotBeWrittenAllElseGoesOn) {
  is_forbidden = true;
  startOne();
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  world.run(1h);
  EXPECT_FALSE(isThere("node-a"));
  EXPECT_LE(writes, 20);
  const auto& log = world.log();
  EXPECT_EQ(
      std::count_if(log.begin(), log.end(),
                    [](const auto& line) { return line.find("cannot be written") != std::string::npos; }),
      1);
  is_forbidden = false;
  EXPECT_TRUE(eventually([&] { return areTold(); }, 15min));
}

TEST_F(SliceStatusesOnly, ANewLeaderTakesAwayWhatNoDriverPublishesAnyMore) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold(); }));
  world.crash(*world.leader());
  moves("node-a");
  startOne();
  ASSERT_TRUE(eventually([&] { return !isThere("node-a"); }));
  EXPECT_TRUE(isTold("node-b"));
}

TEST_F(DraStatuses, AnAgentsObjectSaysWhatGivesItsGpusAndNobodyWritesOverIt) {
  startOne();
  ASSERT_TRUE(eventually([&] { return areTold() && looked("node-a") && looked("node-b"); }));
  world.run(3min);
  ASSERT_TRUE(areTold());
  const int before = writes;
  EXPECT_FALSE(world.runUntil([&] { return !areTold(); }, 10min));
  EXPECT_EQ(writes, before);
  for (const char* node : {"node-a", "node-b"}) {
    EXPECT_EQ(keeperOf(node), "agent");
    EXPECT_FALSE(isContested(node));
  }
  world.create(pod("a", "", 2));
  ASSERT_TRUE(eventually([&] { return runs("a"); })) << whyWaiting("a");
  expectOneThing("a");
  finish("a");
  expectSettled();
}

TEST_F(DraStatuses, AgentsAndDriversComeAndGoInAnyOrder) {
  const auto agentRuns = [this](bool runs) {
    world.machines().setAgentDown("node-a", !runs);
    world.touch();
  };
  agentRuns(false);
  startOne();
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "scheduler");
  EXPECT_FALSE(looked("node-a"));

  agentRuns(true);
  ASSERT_TRUE(eventually([&] { return looked("node-a") && isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "agent");
  EXPECT_FALSE(statusOf("node-a")["free"].isNull());
  EXPECT_FALSE(isContested("node-a")) << "what the scheduler kept was taken out before";

  moves("node-a");
  ASSERT_TRUE(eventually([&] { return enforcement("node-a") == "off"; }, 3min)) << "the agent's own word";
  movesBack("node-a");  // its driver publishes again
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  world.run(3min);
  EXPECT_TRUE(isTold("node-a"));

  agentRuns(false);
  ASSERT_EQ(world.request("DELETE", pathOf("node-a")).code, 200);
  ASSERT_TRUE(eventually([&] { return isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "scheduler");
  agentRuns(true);
  ASSERT_TRUE(eventually([&] { return looked("node-a") && isTold("node-a"); }));
  EXPECT_EQ(keeperOf("node-a"), "agent");
}

}  // namespace
}  // namespace gs::test
