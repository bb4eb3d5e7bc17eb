#include "sandbox/node/kubelet.h"

#include <gtest/gtest.h>

#include "apiserver/handlers/api.h"
#include "crds/crds.h"
#include "sandbox/node/node_agent.h"
#include "sandbox/node/program.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

TEST(PodEnv, ReadsDurationsAsGoWritesThem) {
  EXPECT_EQ(parseDuration("30s"), Duration{30s});
  EXPECT_EQ(parseDuration("1h2m"), Duration{62min});
  EXPECT_EQ(parseDuration("1.5s"), Duration{1500ms});
  for (const char* bad : {"", "30", "s", "-1s", "1x", "1e9s", "99999999999h"}) {
    EXPECT_FALSE(parseDuration(bad)) << bad;
  }
}

TEST(PodEnv, ResolvesLiteralsAndTheDownwardApi) {
  const Value pod =
      Object{{"metadata", Object{{"name", "p"}, {"namespace", "d"}, {"annotations", Object{{"a/b", "0,1"}}}}},
             {"spec", Object{{"nodeName", "n1"}}}};
  const auto from = [](const char* name, const char* path) {
    return Value{Object{{"name", name}, {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", path}}}}}}};
  };
  const Value container = Object{
      {"env", Array{Value{Object{{"name", "A"}, {"value", "x"}}}, from("B", "metadata.annotations['a/b']"),
                    from("C", "metadata.annotations['none']"), from("D", "spec.nodeName"),
                    from("E", "metadata.name"),
                    Value{Object{{"name", "F"}, {"value", "$(A)-$(D)-$(no)-$$(A)-$x"}}}}}};
  const Env expected{{"A", "x"},  {"B", "0,1"}, {"C", ""},
                     {"D", "n1"}, {"E", "p"},   {"F", "x-n1-$(no)-$(A)-$x"}};
  EXPECT_EQ(resolveEnv(pod, container), expected);
}

/// An API server with the chart's CRDs, two nodes with agents, and time that goes from due to due.
class NodesTest : public testing::Test {
 protected:
  NodesTest() {
    for (const Value& crd : crds::all()) {
      send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    }
    settle(Duration{});
  }

  Value send(const char* method, const std::string& target, Value body = {},
             const char* type = "application/json") {
    const apiserver::Response r = api_.handle({method, target, type, std::move(body)}, clock_.now());
    EXPECT_LT(r.code, 300) << method << " " << target << " " << json::print(r.body);
    return r.body;
  }
  Value get(const std::string& target) { return api_.handle({"GET", target, "", {}}, clock_.now()).body; }
  Value getPod(const std::string& name) { return get("/api/v1/namespaces/default/pods/" + name); }
  Value status(const std::string& node) {
    return get("/apis/gpu.scheduling/v1/gpunodestatuses/" + node)["status"];
  }

  /// A pod bound to node-a with these annotations.
  std::string bound(const std::string& name, Object annotations, int gpus = 0, const char* node = "node-a") {
    Object container{
        {"name", "c"},
        {"image", "i"},
        {"env",
         Array{Value{Object{
             {"name", "CUDA_VISIBLE_DEVICES"},
             {"valueFrom",
              Object{{"fieldRef",
                      Object{{"fieldPath", "metadata.annotations['gpu.scheduling/visible-devices']"}}}}}}}}}};
    if (gpus > 0) {
      container["resources"] = Object{{"limits", Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
    }
    send("POST", "/api/v1/namespaces/default/pods",
         Object{{"metadata", Object{{"name", name}}},
                {"spec",
                 Object{{"restartPolicy", "Never"}, {"containers", Array{Value{std::move(container)}}}}}});
    send("POST", "/api/v1/namespaces/default/pods/" + name + "/binding",
         Object{{"metadata", Object{{"name", name}, {"annotations", std::move(annotations)}}},
                {"target", Object{{"kind", "Node"}, {"name", node}}}});
    return std::string{getPod(name)["metadata"]["uid"].str()};
  }

  /// Runs everything that becomes due within `by`, then moves time there.
  void settle(Duration by) {
    const Mono until = clock_.now().mono + by;
    for (int steps = 0; steps < 10'000; ++steps) {
      const Now now = clock_.now();
      const Mono due =
          std::min(kubelet_.nextDue(now).value_or(Mono::max()), agents_.nextDue(now).value_or(Mono::max()));
      if (due > until) { break; }
      clock_.advance(std::max(due, now.mono) - now.mono);
      kubelet_.tick(clock_.now());
      agents_.tick(clock_.now());
      ASSERT_LT(steps, 9'999) << "never quiet";
    }
    clock_.advance(until - clock_.now().mono);
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  Kubelet kubelet_{api_};
  NodeAgents agents_{api_, kubelet_, kapi::defaultNodes()};
};

TEST_F(NodesTest, ABoundPodRunsAfterHalfASecondWithItsEnv) {
  const std::string uid = bound("p", Object{{"gpu.scheduling/visible-devices", "0,1"}});
  settle(400ms);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending");
  EXPECT_EQ(kubelet_.envOf(uid), nullptr);
  settle(200ms);
  const Value pod = getPod("p");
  EXPECT_EQ(pod["status"]["phase"].str(), "Running");
  EXPECT_TRUE(pod["status"]["containerStatuses"].at(0)["state"]["running"].isObject());
  ASSERT_NE(kubelet_.envOf(uid), nullptr);
  EXPECT_EQ(kubelet_.envOf(uid)->at("CUDA_VISIBLE_DEVICES"), "0,1");
  EXPECT_EQ(kubelet_.envOf(uid, "nope"), nullptr);
  settle(1h);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
}

TEST_F(NodesTest, APodEndsWhenTold) {
  const std::string uid = bound("p", {});
  settle(1s);
  kubelet_.finish("default", "p");
  settle(1s);
  const Value pod = getPod("p");
  EXPECT_EQ(pod["status"]["phase"].str(), "Succeeded");
  EXPECT_EQ(pod["status"]["containerStatuses"].at(0)["state"]["terminated"]["exitCode"].intOr(-1), 0);
  EXPECT_TRUE(kubelet_.running("node-a").empty() || kubelet_.running("node-a")[0].uid != uid);
}

TEST_F(NodesTest, APodToldToEndBeforeItRunsEndsAtOnce) {
  kubelet_.finish("default", "p", 3);
  bound("p", {});
  settle(1s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Failed");
}

TEST_F(NodesTest, APodEndsAfterItsRunTime) {
  bound("p", Object{{kRunForKey, "30s"}});
  settle(30s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
  settle(1s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Succeeded");
}

TEST_F(NodesTest, ADeletionStopsTheContainersThenThePodGoes) {
  bound("p", {});
  settle(1s);
  send("DELETE", "/api/v1/namespaces/default/pods/p");
  EXPECT_EQ(getPod("p")["metadata"]["deletionGracePeriodSeconds"].intOr(0), 30);
  const std::uint64_t before = api_.store().positionAfter(api_.store().revision());
  settle(1s);
  EXPECT_EQ(getPod("p")["reason"].str(), "NotFound");
  bool terminated_first = false;
  for (std::uint64_t at = before; at < api_.store().historyEnd(); ++at) {
    const apiserver::HistoryEntry& e = *api_.store().entry(at);
    if (e.key.name == "p" && e.after != nullptr) {
      terminated_first = terminated_first ||
                         (*e.after)["status"]["containerStatuses"].at(0)["state"]["terminated"].isObject();
    }
  }
  EXPECT_TRUE(terminated_first) << "a deleted pod must be reported terminated before it goes";
}

TEST_F(NodesTest, ANodeThatIsDownDoesNothing) {
  kubelet_.setNodeDown("node-a", true);
  bound("p", {});
  settle(1min);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending");
  kubelet_.setNodeDown("node-a", false);
  settle(1s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
}

TEST_F(NodesTest, PodsOfANodeThatVanishedAreFailedAndDeleted) {
  const std::string uid = bound("p", Object{{"gpu.scheduling/visible-devices", "0"}});
  settle(1s);
  agents_.removeNode("node-a");
  settle(30s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
  EXPECT_TRUE(kubelet_.running("node-a").empty());
  settle(20s);
  EXPECT_EQ(getPod("p")["reason"].str(), "NotFound");
}

TEST_F(NodesTest, APodBoundToANodeThatIsNotThereNeverRuns) {
  bound("p", {}, 0, "nowhere");
  settle(39s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending");
  settle(2s);
  EXPECT_EQ(getPod("p")["reason"].str(), "NotFound");
}

TEST_F(NodesTest, AgentsPublishTheirDevicesOwnedByTheNode) {
  const Value object = get("/apis/gpu.scheduling/v1/gpunodestatuses/node-b");
  EXPECT_EQ(object["status"]["total"].intOr(0), 8);
  EXPECT_EQ(object["spec"]["nodeName"].str(), "node-b");
  EXPECT_EQ(object["metadata"]["ownerReferences"].at(0)["uid"],
            get("/api/v1/nodes/node-b")["metadata"]["uid"]);
  EXPECT_FALSE(object["status"]["observedTime"].str().empty());
  EXPECT_EQ(get("/api/v1/nodes/node-b")["status"]["allocatable"]["nvidia.com/gpu"].str(), "8");
  settle(1s);
  EXPECT_EQ(get("/api/v1/namespaces/kube-system/pods/gpu-scheduler-agent-node-b")["status"]["phase"].str(),
            "Running");
}

TEST_F(NodesTest, InUseByNamesWhoseContainersHoldADevice) {
  const std::string uid = bound("p", Object{{"gpu.scheduling/allocated", "node-a:1,2"}});
  settle(1s);
  const Value devices = status("node-a")["devices"];
  EXPECT_TRUE(devices.at(0)["inUseBy"].items().empty());
  EXPECT_EQ(devices.at(1)["inUseBy"].at(0).str(), uid);
  EXPECT_EQ(devices.at(2)["inUseBy"].at(0).str(), uid);
  kubelet_.finish("default", "p");
  settle(1s);
  EXPECT_TRUE(status("node-a")["devices"].at(1)["inUseBy"].items().empty());
}

TEST_F(NodesTest, PlainPodsUseTheLowestDevicesThatNobodyHas) {
  bound("claimed", Object{{"gpu.scheduling/visible-devices", "0"}});
  settle(1s);
  const std::string uid = bound("plain", {}, 2);
  settle(1s);
  const Value devices = status("node-a")["devices"];
  EXPECT_EQ(devices.at(1)["inUseBy"].at(0).str(), uid);
  EXPECT_EQ(devices.at(2)["inUseBy"].at(0).str(), uid);
  EXPECT_TRUE(devices.at(3)["inUseBy"].items().empty());
}

TEST_F(NodesTest, ContainersOfAPodDeletedByForceMayLinger) {
  kubelet_.setConfig({.linger = 25s});
  const std::string uid = bound("p", Object{{"gpu.scheduling/visible-devices", "0"}});
  settle(1s);
  send("DELETE", "/api/v1/namespaces/default/pods/p", Object{{"gracePeriodSeconds", 0}});
  settle(2s);
  EXPECT_EQ(getPod("p")["reason"].str(), "NotFound");
  EXPECT_EQ(status("node-a")["devices"].at(0)["inUseBy"].at(0).str(), uid);
  const std::string first{status("node-a")["observedTime"].str()};
  settle(12s);
  const std::string second{status("node-a")["observedTime"].str()};
  EXPECT_NE(first, second) << "a device that may be Draining is looked at every 10 s";
  settle(15s);
  EXPECT_TRUE(status("node-a")["devices"].at(0)["inUseBy"].items().empty());
}

TEST_F(NodesTest, ObservedTimeMovesEveryMinuteWhenAllIsQuiet) {
  settle(5s);
  const std::string first{status("node-a")["observedTime"].str()};
  settle(40s);
  EXPECT_EQ(status("node-a")["observedTime"].str(), first);
  settle(30s);
  EXPECT_NE(status("node-a")["observedTime"].str(), first);
}

TEST_F(NodesTest, AFailedGpuIsPublishedAtOnceAndNotAllocatable) {
  settle(5s);
  agents_.failGpu("node-a", 3, 79);
  settle(1ms);
  const Value device = status("node-a")["devices"].at(3);
  EXPECT_EQ(device["health"].str(), "Unhealthy");
  EXPECT_EQ(device["healthReason"].str(), "XID 79");
  EXPECT_EQ(get("/api/v1/nodes/node-a")["status"]["allocatable"]["nvidia.com/gpu"].str(), "3");
}

TEST_F(NodesTest, AnAgentThatIsDownSaysNothingAndItsPodIsNotReady) {
  settle(5s);
  agents_.setAgentDown("node-a", true);
  agents_.failGpu("node-a", 0, 48);
  settle(5min);
  EXPECT_EQ(status("node-a")["devices"].at(0)["health"].str(), "Healthy");
  const auto ready = [&] {
    const Value pod = get("/api/v1/namespaces/kube-system/pods/gpu-scheduler-agent-node-a");
    for (const Value& c : pod["status"]["conditions"].items()) {
      if (c["type"].str() == "Ready") { return std::string{c["status"].str()}; }
    }
    return std::string{};
  };
  EXPECT_EQ(ready(), "False");
  agents_.setAgentDown("node-a", false);
  settle(1s);
  EXPECT_EQ(ready(), "True");
  EXPECT_EQ(status("node-a")["devices"].at(0)["health"].str(), "Unhealthy");
}

TEST(NodesByHand, HaveAStatusWithoutObservedTime) {
  ManualClock clock;
  apiserver::Api api{Rng{1}, clock.now()};
  for (const Value& crd : crds::all()) {
    (void)api.handle(
        {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", crd},
        clock.now());
  }
  Kubelet kubelet{api};
  NodeAgents agents{api, kubelet, kapi::defaultNodes(), false};
  EXPECT_EQ(agents.nextDue(clock.now()), clock.now().mono);
  agents.tick(clock.now());
  const Value object =
      api.handle({"GET", "/apis/gpu.scheduling/v1/gpunodestatuses/node-a", "", {}}, clock.now()).body;
  EXPECT_EQ(object["status"]["total"].intOr(0), 4);
  EXPECT_EQ(object["status"].find("observedTime"), nullptr);
  EXPECT_FALSE(agents.nextDue(clock.now() /* the kubelet saw the Nodes come */) > clock.now().mono);
  agents.tick(clock.now());
  (void)kubelet.nextDue(clock.now());
  agents.tick(clock.now());
  EXPECT_EQ(agents.nextDue(clock.now()), std::nullopt);
}

}  // namespace
}  // namespace gs::sandbox
