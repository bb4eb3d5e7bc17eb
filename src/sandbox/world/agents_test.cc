#include "sandbox/world/agents.h"

#include <gtest/gtest.h>

#include "sandbox/world/world.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

constexpr const char* kApply = "application/apply-patch+yaml";

/// A World of the two default nodes, without a scheduler.
class AgentsTest : public testing::Test {
 protected:
  AgentsTest() {
    EXPECT_TRUE(world_.runUntil([&] { return !status("node-b").isNull(); }, 5s));
    world_.run(1s);
  }

  [[nodiscard]] Value object(const std::string& node) {
    return world_.get("/apis/gpu.scheduling/v1/gpunodestatuses/" + node);
  }
  [[nodiscard]] Value status(const std::string& node) { return object(node)["status"]; }
  [[nodiscard]] Value device(std::size_t id) { return status("node-a")["devices"].at(id); }
  [[nodiscard]] std::string users(std::size_t id) { return json::print(device(id)["inUseBy"]); }
  [[nodiscard]] std::string observed() { return std::string{status("node-a")["observedTime"].str()}; }
  /// A pod bound to node-a with these annotations; its containers start half a second later.
  std::string bound(const std::string& name, Object annotations, int gpus = 0) {
    Object container{{"name", "c"}, {"image", "i"}};
    if (gpus > 0) {
      container["resources"] = Object{{"limits", Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
    }
    world_.create(Object{
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", Object{{"name", name}}},
        {"spec", Object{{"restartPolicy", "Never"}, {"containers", Array{Value{std::move(container)}}}}}});
    const auto answer =
        world_.request("POST", "/api/v1/namespaces/default/pods/" + name + "/binding",
                       Object{{"metadata", Object{{"name", name}, {"annotations", std::move(annotations)}}},
                              {"target", Object{{"kind", "Node"}, {"name", "node-a"}}}});
    EXPECT_EQ(answer.code, 201);
    return std::string{world_.get("/api/v1/namespaces/default/pods/" + name)["metadata"]["uid"].str()};
  }
  static std::string onlyUser(const std::string& uid) { return "[\"" + uid + "\"]"; }
  bool soon(const std::function<bool()>& fact) { return world_.runUntil(fact, 8s); }
  /// The next call that writes a status meets this.
  void nextWriteIs(CallFault fault) {
    world_.agentWire().setJudge([fault, done = false](ReplicaId, const kapi::Call& call) mutable {
      const bool is_it = call.subresource == "status" && !std::exchange(done, true);
      return is_it ? fault : CallFault{};
    });
  }

  World world_{World::Options{}};
};

TEST_F(AgentsTest, PublishTheirDevicesOwnedByTheNode) {
  const Value node_b = object("node-b");
  EXPECT_EQ(node_b["status"]["total"].intOr(0), 8);
  EXPECT_EQ(node_b["status"]["islands"].intOr(0), 2);
  EXPECT_EQ(node_b["spec"]["nodeName"].str(), "node-b");
  EXPECT_EQ(node_b["metadata"]["ownerReferences"].at(0)["uid"],
            world_.get("/api/v1/nodes/node-b")["metadata"]["uid"]);
  EXPECT_EQ(node_b["status"]["driverVersion"].str(), "simulated");
  EXPECT_FALSE(observed().empty());
  ASSERT_NE(world_.agents().of("node-a"), nullptr);
  EXPECT_EQ(world_.agents().of("node-a")->readiness().text(),
            "status: ok\npods: ok\ncontainers: ok\ndriver: ok\n");
  EXPECT_EQ(world_.agents().of("nowhere"), nullptr);
}

TEST_F(AgentsTest, InUseByNamesWhoseContainersHoldADevice) {
  const std::string uid = bound("p", Object{{"gpu.scheduling/allocated", "node-a:1,2"}});
  ASSERT_TRUE(soon([&] { return users(1) == onlyUser(uid); }));
  EXPECT_EQ(users(0), "[]");
  EXPECT_EQ(users(2), onlyUser(uid));
  const std::string plain = bound("plain", {}, 2);
  ASSERT_TRUE(soon([&] { return users(0) == onlyUser(plain) && users(3) == onlyUser(plain); }));
  world_.kubelet().finish("default", "p");
  world_.touch();
  EXPECT_TRUE(soon([&] { return users(1) == "[]" && users(2) == "[]"; }));
}

/// Its number is that of another GPU by the time that its container starts.
TEST_F(AgentsTest, InUseByNamesTheGpuThatANumberMeansWhenTheContainerStarts) {
  world_.kubelet().setConfig({.start_after = 4s});
  const std::string uid = bound("p", Object{{"gpu.scheduling/allocated", "node-a:0"}});
  world_.run(1s);
  auto devices = world_.machines().devicesOf("node-a");
  std::swap(devices[0].uuid, devices[1].uuid);
  world_.machines().setDevices("node-a", devices);
  world_.touch();
  ASSERT_TRUE(soon([&] { return !world_.machines().heldBy(uid).empty(); }));
  EXPECT_EQ(world_.machines().heldBy(uid), std::set<std::string>{devices[0].uuid});
  ASSERT_TRUE(soon([&] { return users(0) == onlyUser(uid); }));
  EXPECT_EQ(device(0)["uuid"].str(), devices[0].uuid);
  EXPECT_EQ(users(1), "[]") << "which the number meant when the pod was bound";
}

/// A status that is under way when the next one is written lands after it, or is refused.
TEST_F(AgentsTest, AStatusThatLandsLateChangesNothing) {
  nextWriteIs({.how = CallFault::How::Late, .delay = 7s});
  world_.machines().failGpu("node-a", 0, 48);
  world_.touch();
  ASSERT_TRUE(soon([&] { return device(0)["health"].str() == "Unhealthy"; }));
  world_.machines().setHealth("node-a", 0, model::Health::Healthy);
  world_.touch();
  ASSERT_TRUE(soon([&] { return device(0)["health"].str() == "Healthy"; }));
  const Value after = object("node-a")["metadata"]["resourceVersion"];
  world_.run(8s);
  EXPECT_EQ(device(0)["health"].str(), "Healthy");
  EXPECT_EQ(object("node-a")["metadata"]["resourceVersion"], after);
}

TEST_F(AgentsTest, ContainersOfAPodDeletedByForceAreSeenWhileTheyLinger) {
  world_.kubelet().setConfig({.linger = 45s});
  const std::string uid = bound("p", Object{{"gpu.scheduling/visible-devices", "0"}});
  ASSERT_TRUE(soon([&] { return users(0) == onlyUser(uid); }));
  EXPECT_EQ(
      world_.request("DELETE", "/api/v1/namespaces/default/pods/p", Object{{"gracePeriodSeconds", 0}}).code,
      200);
  world_.run(12s);
  const std::string first = observed();
  world_.run(12s);
  EXPECT_NE(observed(), first) << "a device that may be Draining is looked at every 10 s";
  EXPECT_EQ(users(0), onlyUser(uid));
  world_.run(30s);
  EXPECT_EQ(users(0), "[]");
}

TEST_F(AgentsTest, ObservedTimeMovesEveryMinuteWhenAllIsQuiet) {
  world_.run(5s);
  const std::string first = observed();
  world_.run(40s);
  EXPECT_EQ(observed(), first);
  world_.run(30s);
  EXPECT_NE(observed(), first);
}

TEST_F(AgentsTest, OneThatIsDownSaysNothingAndItsPodIsNotReady) {
  world_.machines().setAgentDown("node-a", true);
  world_.machines().failGpu("node-a", 0, 48);
  world_.touch();
  world_.run(5min);
  EXPECT_EQ(world_.agents().of("node-a"), nullptr);
  EXPECT_EQ(device(0)["health"].str(), "Healthy");
  const auto ready = [&] {
    const Value pod = world_.get("/api/v1/namespaces/kube-system/pods/gpu-scheduler-agent-node-a");
    for (const Value& c : pod["status"]["conditions"].items()) {
      if (c["type"].str() == "Ready") { return std::string{c["status"].str()}; }
    }
    return std::string{};
  };
  EXPECT_EQ(ready(), "False");
  world_.machines().setAgentDown("node-a", false);
  world_.touch();
  EXPECT_TRUE(soon([&] { return device(0)["healthReason"].str() == "XID 48"; }));
  EXPECT_EQ(ready(), "True");
}

/// Who comes anew knows what is there by its looks, and what was there by what it reads.
TEST_F(AgentsTest, AnUnpluggedGpuStaysListedUntilNobodyHasItsNumber) {
  auto devices = world_.machines().devicesOf("node-a");
  devices.pop_back();
  world_.machines().plugDevices("node-a", devices);
  world_.touch();
  ASSERT_TRUE(soon([&] { return device(3)["health"].str() == "Unhealthy"; }));
  EXPECT_EQ(status("node-a")["total"].intOr(0), 4);
  world_.agents().crash("node-a");
  EXPECT_EQ(world_.agents().of("node-a"), nullptr);
  world_.run(8s);
  EXPECT_NE(world_.agents().of("node-a"), nullptr);
  EXPECT_EQ(status("node-a")["total"].intOr(0), 4);
  world_.run(agent::Agent::kQuiet);
  EXPECT_EQ(status("node-a")["total"].intOr(0), 3);
}

/// Whichever of both ways programs count it in, a number that may reach another GPU is given to nobody.
TEST_F(AgentsTest, NumbersOfALostGpuAndAboveAreGivenToNobodyAfterARestartToo) {
  const auto gpus = world_.machines().devicesOf("node-a");
  for (const auto how : {Machines::Loss::Called, Machines::Loss::Unnamed}) {
    for (const bool is_counted : {false, true}) {
      world_.machines().setLost("node-a", gpus.at(1).uuid, how, is_counted);
      world_.touch();
      const auto healths = [&] {
        std::string out;
        for (std::size_t i = 0; i < 4; ++i) {
          const std::string health{device(i)["health"].str()};
          out += health == "Unhealthy" ? 'U' : health == "Healthy" ? 'H' : '?';
        }
        return out;
      };
      ASSERT_TRUE(soon([&] { return healths() == "HUUU"; })) << healths();
      world_.agents().crash("node-a");
      world_.run(8s);
      EXPECT_EQ(healths(), "HUUU");
      EXPECT_EQ(device(2)["uuid"].str(), gpus.at(2).uuid);
      EXPECT_EQ(world_.machines().reachedBy("node-a", 0).size(), 1U);
      EXPECT_EQ(world_.machines().reachedBy("node-a", 2).size(), 2U);
      world_.machines().setLost("node-a", gpus.at(1).uuid, std::nullopt, false);
      world_.touch();
      ASSERT_TRUE(soon([&] { return healths() == "HHHH"; }));
    }
  }
}

TEST_F(AgentsTest, AnotherStartsWhereOneDiedAtACall) {
  nextWriteIs({.crash_after = true});
  world_.machines().failGpu("node-a", 0, 79);
  world_.touch();
  ASSERT_TRUE(soon([&] { return device(0)["health"].str() == "Unhealthy"; }));
  EXPECT_EQ(world_.agents().of("node-a"), nullptr) << "it has not heard that";
  world_.run(Agents::kStartAgain + 1s);
  EXPECT_NE(world_.agents().of("node-a"), nullptr);
  nextWriteIs({.crash_before = true});
  world_.machines().setHealth("node-a", 0, model::Health::Healthy);
  world_.touch();
  EXPECT_TRUE(soon([&] { return device(0)["health"].str() == "Healthy"; })) << "the next one says it";
}

TEST_F(AgentsTest, WhatIsRefusedIsWrittenAgain) {
  nextWriteIs({.how = CallFault::How::Refused, .http = 429});
  world_.machines().failGpu("node-a", 0, 79);
  world_.touch();
  EXPECT_TRUE(soon([&] { return device(0)["health"].str() == "Unhealthy"; }));
}

TEST_F(AgentsTest, ItsNodeTakesTheStatusAlongAndOneThatComesBackHasItAnew) {
  const auto sim = world_.machines().all().at("node-a").sim;
  world_.machines().removeNode("node-a");
  world_.touch();
  ASSERT_TRUE(soon([&] { return object("node-a")["reason"].str() == "NotFound"; }));
  EXPECT_EQ(world_.agents().of("node-a"), nullptr);
  world_.machines().addNode(sim);
  world_.touch();
  ASSERT_TRUE(soon([&] { return status("node-a")["total"].intOr(0) == 4; }));
  EXPECT_EQ(object("node-a")["metadata"]["ownerReferences"].at(0)["uid"],
            world_.get("/api/v1/nodes/node-a")["metadata"]["uid"]);
}

TEST_F(AgentsTest, TellTheTruthToAServerThatWentBack) {
  const Value saved = world_.api().save();
  const std::string uid = bound("p", Object{{"gpu.scheduling/visible-devices", "0"}});
  ASSERT_TRUE(soon([&] { return users(0) == onlyUser(uid); }));
  world_.goBack(saved);
  world_.run(3min);
  EXPECT_EQ(users(0), "[]") << "its containers went with its pod";
}

TEST_F(AgentsTest, WhatSomebodyWritesOverIsPutRight) {
  Value body = Object{{"apiVersion", "gpu.scheduling/v1"},
                      {"kind", "GpuNodeStatus"},
                      {"metadata", Object{{"name", "node-a"}}},
                      {"status", Object{{"driverVersion", "mine"}}}};
  const auto answer = world_.request(
      "PATCH", "/apis/gpu.scheduling/v1/gpunodestatuses/node-a/status?fieldManager=me&force=true", body,
      kApply);
  ASSERT_EQ(answer.code, 200);
  world_.run(67s);  // a calm agent writes every 54 to 66 s
  EXPECT_EQ(status("node-a")["driverVersion"].str(), "simulated");
}

}  // namespace
}  // namespace gs::sandbox
