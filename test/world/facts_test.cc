// What the API's objects say of a GPU may be late, or contradict: pods whose GPUs nobody has named yet (R13),
// and facts of which only one can be true (R79).
#include "scheduler/status_page.h"
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;

/// Of another scheduler, which bound it to node n.
json::Value foreignPod(const std::string& name, int gpus) {
  json::Value out = pod(name, "", gpus);
  out.child("spec").set("schedulerName", "other-scheduler");
  out.child("spec").set("nodeName", "n");
  return out;
}

class Facts : public OneNode {
 protected:
  explicit Facts(const std::vector<std::string>& uuids = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"})
      : OneNode{uuids, true, model::Enforcement::Off} {
    startOne();
    world.run(10s);
    world.create(claim("one", 1));
  }
  /// UUIDs of GPUs that containers of two pods have.
  [[nodiscard]] std::set<std::string> doubled() {
    std::map<std::string, int> users;
    for (const auto& object : world.get("/api/v1/pods")["items"].items()) {
      for (const auto& gpu : world.machines().heldBy(std::string{object["metadata"]["uid"].str()})) {
        ++users[gpu];
      }
    }
    std::set<std::string> out;
    for (const auto& [gpu, count] : users) {
      if (count > 1) { out.insert(gpu); }
    }
    return out;
  }
  /// Notes of Warning events with that reason, by the kind and name of the object that they are about.
  [[nodiscard]] std::multimap<std::string, std::string> told(const std::string& reason) {
    std::multimap<std::string, std::string> out;
    for (const auto& event : world.get("/apis/events.k8s.io/v1/events")["items"].items()) {
      if (event["reason"].str() != reason || event["type"].str() != "Warning") { continue; }
      const auto& about = event["regarding"];
      out.emplace(std::string{about["kind"].str()} + "/" + std::string{about["name"].str()},
                  std::string{event["note"].str()});
    }
    return out;
  }
};

TEST_F(Facts, AClaimPodWaitsForTheLookThatNamesTheGpusOfAPodThatHasJustCome) {
  world.create(foreignPod("foreign", 2));
  world.create(pod("ours", "one"));
  ASSERT_TRUE(eventually([&] { return running("ours") && running("foreign"); }, 12s)) << whyWaiting("ours");
  EXPECT_EQ(allocated("ours"), "n:2") << "the lowest that the device plugin did not hand out";
  EXPECT_EQ(doubled(), std::set<std::string>{});
  world.run(30s);
  EXPECT_TRUE(told("GpuInUseByOther").empty());
  expectSettled();
}

TEST_F(Facts, ThatAGpuIsInUseByAPodThatItsLeaseDoesNotNameIsSaidOnce) {
  world.machines().setAgentDown("n", true);
  world.run(8min);  // nobody waits for it
  world.create(foreignPod("foreign", 2));
  world.create(pod("ours", "one"));
  ASSERT_TRUE(eventually([&] { return running("ours") && running("foreign"); }));
  ASSERT_EQ(allocated("ours"), "n:0");
  ASSERT_EQ(doubled(), std::set<std::string>{"GPU-0"});
  world.machines().setAgentDown("n", false);
  world.touch();
  EXPECT_TRUE(eventually([&] { return told("GpuInUseByOther").size() == 3; })) << "both pods and the node";
  for (const char* about : {"Pod/ours", "Pod/foreign", "Node/n"}) {
    EXPECT_EQ(told("GpuInUseByOther").count(about), 1U) << about;
  }
  EXPECT_TRUE(world.scheduler(0).readiness().ready) << "others are placed all the same";
  const std::string page = world.scheduler(0).readiness().text();
  EXPECT_NE(
      page.find("contradictions: 1 facts about GPUs contradict others: GPU 0 of node n has its lease for "
                "pod default/ours, and containers of pod default/foreign use it"),
      std::string::npos)
      << page;
  EXPECT_NE(scheduler::stateMetrics(world.scheduler(0))
                .find("gpu_scheduler_contradictions{kind=\"in-use-by-other\"} 1\n"),
            std::string::npos);
  world.run(5min);
  EXPECT_EQ(told("GpuInUseByOther").size(), 3U) << "once";
}

TEST_F(Facts, NobodyWaitsForLongForAnAgentThatDoesNotSeeThem) {
  world.machines().setRuntimeSilent("n", true);
  world.create(foreignPod("foreign", 1));
  world.create(pod("ours", "one"));
  world.run(5s);
  EXPECT_EQ(nodeOf("ours"), "");
  EXPECT_NE(whyWaiting("ours").find("its agent is to say which GPUs they have"), std::string::npos)
      << whyWaiting("ours");
  ASSERT_TRUE(eventually([&] { return !nodeOf("ours").empty(); }, 30s)) << whyWaiting("ours");
  world.run(60s);
  world.create(foreignPod("another", 1));
  world.create(pod("ours-too", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("ours-too").empty(); }, 1s)) << "it named none";
}

/// Who comes and goes all the time keeps nobody away.
TEST_F(Facts, PodsThatComeOnAndOnDoNotKeepAClaimPodWaiting) {
  world.create(pod("ours", "one"));
  world.create(foreignPod("f0", 1));
  for (int i = 1; i <= 20 && nodeOf("ours").empty(); ++i) {
    world.run(2s);
    world.kubelet().finish("default", "f" + std::to_string(i - 1));
    world.create(foreignPod("f" + std::to_string(i), 1));
  }
  EXPECT_NE(nodeOf("ours"), "") << whyWaiting("ours");
}

/// What we place by its number is the device plugin's choice, too.
TEST_F(Facts, APodOfOursThatTheDevicePluginServesIsWaitedForAsWell) {
  for (int i = 0; i < 2; ++i) {
    world.create(pod("plain-" + std::to_string(i), "", 1));
    world.create(pod("ours-" + std::to_string(i), "one"));
  }
  ASSERT_TRUE(eventually([&] {
    return running("plain-0") && running("plain-1") && running("ours-0") && running("ours-1");
  })) << whyWaiting("ours-0");
  EXPECT_EQ(doubled(), std::set<std::string>{});
  expectSettled();
}

TEST_F(Facts, WhereTheDevicePluginPicksForAClaimPodThatIsSaid) {
  world.create(pod("limited", "one", 1));
  world.create(pod("ours", "one"));
  ASSERT_TRUE(eventually([&] { return running("limited") && running("ours"); })) << whyWaiting("limited");
  world.run(10s);
  const auto events = told("DevicePluginPicks");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.begin()->first, "Pod/limited");
  EXPECT_NE(events.begin()->second.find("take that limit out of the pod"), std::string::npos);
  bool said = false;
  for (const auto& condition :
       world.get("/apis/gpu.scheduling/v1/gpunodestatuses/n")["status"]["conditions"].items()) {
    said = said || (condition["type"].str() == "DeviceSetUnknown" && condition["status"].str() == "True" &&
                    condition["reason"].str() == "DevicePluginPicks");
  }
  EXPECT_TRUE(said);
}

class TwiceListed : public Facts {
 protected:
  TwiceListed() : Facts{{"GPU-0", "GPU-0", "GPU-2"}} {}
};

TEST_F(TwiceListed, AGpuWhoseUuidStandsTwiceIsGivenToNobodyAndSaid) {
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return running("p"); }));
  EXPECT_EQ(allocated("p"), "n:2");
  world.create(claim("two", 2));
  world.create(pod("q", "two"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("q").empty(); }));
  EXPECT_NE(whyWaiting("q").find("too few GPUs whose UUID stands once: need 2 and most is 1"),
            std::string::npos)
      << whyWaiting("q");
  ASSERT_EQ(told("GpuUuidTwice").size(), 1U);
  EXPECT_EQ(told("GpuUuidTwice").begin()->first, "Node/n");
  EXPECT_TRUE(world.scheduler(0).readiness().ready) << "others are placed all the same";
  const std::string page = world.scheduler(0).readiness().text();
  EXPECT_NE(
      page.find("contradictions: 1 facts about GPUs contradict others: UUID GPU-0 stands at n:0 and n:1"),
      std::string::npos)
      << page;
  EXPECT_NE(scheduler::stateMetrics(world.scheduler(0))
                .find("gpu_scheduler_contradictions{kind=\"uuid-twice-in-node\"} 1\n"),
            std::string::npos);
  world.machines().plugDevices("n", gpusOf({"GPU-0", "GPU-1", "GPU-2"}));
  world.touch();
  EXPECT_TRUE(eventually([&] { return running("q"); })) << whyWaiting("q");
  EXPECT_EQ(world.scheduler(0).readiness().text().find("contradictions"), std::string::npos);
}

class TwoNodes : public Cluster {
 protected:
  TwoNodes() : Cluster{withAgents()} { startOne(); }
  static sandbox::World::Options withAgents() {
    sandbox::World::Options options;
    options.agents = true;
    return options;
  }
};

TEST_F(TwoNodes, WhileOneWaitsForItsAgentTheOtherIsTaken) {
  world.run(10s);
  world.create(claim("one", 1));
  json::Value foreign = foreignPod("foreign", 1);
  foreign.child("spec").set("nodeName", "node-a");
  world.create(foreign);
  world.run(100ms);
  world.create(pod("ours", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("ours").empty(); }, 1s)) << whyWaiting("ours");
  EXPECT_EQ(nodeOf("ours"), "node-b");
}

TEST_F(TwoNodes, AGpuThatBothListIsGivenOnNeither) {
  auto copy = world.machines().devicesOf("node-b");
  copy[0].uuid = world.machines().devicesOf("node-a")[3].uuid;
  world.machines().plugDevices("node-b", copy);
  world.touch();
  world.run(10s);
  world.create(claim("all-of-a", 4));
  world.create(claim("all-of-b", 8));
  json::Value on_a = pod("on-a", "all-of-a");
  on_a.child("spec").set("nodeSelector", Object{{"kubernetes.io/hostname", "node-a"}});
  world.create(on_a);
  world.create(pod("on-b", "all-of-b"));
  world.run(10s);
  EXPECT_EQ(nodeOf("on-a"), "");
  EXPECT_EQ(nodeOf("on-b"), "");
  EXPECT_NE(scheduler::stateMetrics(world.scheduler(0))
                .find("gpu_scheduler_contradictions{kind=\"uuid-on-two-nodes\"} 1\n"),
            std::string::npos);
  ASSERT_EQ(world.request("DELETE", "/api/v1/nodes/node-b").code, 200);
  EXPECT_TRUE(eventually([&] { return nodeOf("on-a") == "node-a"; })) << whyWaiting("on-a");
}

}  // namespace
}  // namespace gs::test
