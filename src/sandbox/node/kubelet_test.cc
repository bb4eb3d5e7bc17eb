#include "sandbox/node/kubelet.h"

#include <gtest/gtest.h>

#include "apiserver/handlers/api.h"
#include "crds/crds.h"
#include "sandbox/node/machines.h"
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
  const Machines::Machine& machine() { return machines_.all().at("node-a"); }

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
          std::min(kubelet_.nextDue(now).value_or(Mono::max()), machines_.nextDue(now).value_or(Mono::max()));
      if (due > until) { break; }
      clock_.advance(std::max(due, now.mono) - now.mono);
      kubelet_.tick(clock_.now());
      machines_.tick(clock_.now());
      ASSERT_LT(steps, 9'999) << "never quiet";
    }
    clock_.advance(until - clock_.now().mono);
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  Kubelet kubelet_{api_};
  Machines machines_{api_, kubelet_, kapi::defaultNodes()};
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

class VolumesByHand final : public Volumes {
 public:
  bool are_mounted = false;
  int asked = 0;  // about pod p
  bool areMounted(const Value& pod, Now /*now*/) override {
    asked += pod["metadata"]["name"].str() == "p" ? 1 : 0;
    return are_mounted;
  }
};

TEST_F(NodesTest, ContainersStartWhenTheirVolumesAreMountedAndNotBefore) {
  VolumesByHand volumes;
  kubelet_.setVolumes(volumes);
  const std::string uid = bound("p", {});
  settle(10s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending");
  EXPECT_EQ(volumes.asked, 20) << "every half second";
  EXPECT_TRUE(kubelet_.needsVolumes(uid));
  volumes.are_mounted = true;
  settle(1s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
  kubelet_.finish("default", "p");
  settle(1s);
  EXPECT_FALSE(kubelet_.needsVolumes(uid)) << "its containers are gone, and it is not";
}

TEST_F(NodesTest, ContainersStartWhenTheirClaimsAreBoundAndNotBefore) {
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  kubelet_.setWaitsForClaims(true);
  send("POST", "/api/v1/namespaces/default/pods",
       json::parse(
           R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [
           {"name": "a", "persistentVolumeClaim": {"claimName": "a"}}, {"name": "b", "ephemeral":
           {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests":
           {"storage": "1Gi"}}}}}}]}})")
           .value());
  send("POST", "/api/v1/namespaces/default/pods/p/binding",
       Object{{"metadata", Object{{"name", "p"}}}, {"target", Object{{"kind", "Node"}, {"name", "node-a"}}}});
  for (const char* claim : {"a", "p-b"}) {
    settle(2s);
    EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending") << claim << " is not there";
    send("POST", claims,
         Object{{"metadata", Object{{"name", claim}}},
                {"spec", Object{{"accessModes", Array{"ReadWriteOnce"}},
                                {"resources", Object{{"requests", Object{{"storage", "1Gi"}}}}}}}});
    settle(2s);
    EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Pending") << claim << " is not bound";
    send("PATCH", claims + "/" + claim + "/status", Object{{"status", Object{{"phase", "Bound"}}}},
         "application/merge-patch+json");
  }
  settle(1s);
  EXPECT_EQ(getPod("p")["status"]["phase"].str(), "Running");
}

TEST_F(NodesTest, APodThatGoesWhileItWaitsForVolumesNeedsNone) {
  VolumesByHand volumes;
  kubelet_.setVolumes(volumes);
  const std::string uid = bound("p", {});
  settle(2s);
  send("DELETE", "/api/v1/namespaces/default/pods/p");
  settle(2s);
  EXPECT_FALSE(kubelet_.needsVolumes(uid));
  EXPECT_EQ(getPod("p")["code"].intOr(0), 404);
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

/// Of another scheduler: they are given GPUs by their node, sidecars too; what an init container had the
/// others get after it.
TEST_F(NodesTest, SidecarsAreGivenGpusToo) {
  const auto asking = [](const char* name, int gpus, const char* restart) {
    Object out{{"name", name}, {"image", "i"}};
    out["resources"] = Object{{"limits", Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
    if (restart != nullptr) { out["restartPolicy"] = restart; }
    return Value{std::move(out)};
  };
  send("POST", "/api/v1/namespaces/default/pods",
       Object{{"metadata", Object{{"name", "p"}}},
              {"spec",
               Object{{"nodeName", "node-a"},
                      {"initContainers", Array{asking("setup", 1, nullptr), asking("side", 2, "Always")}},
                      {"containers", Array{asking("c", 1, nullptr)}}}}});
  settle(10s);
  for (const auto& pod : kubelet_.running("node-a")) {  // its agent runs there too
    EXPECT_EQ(pod.gpus, pod.pod.name == "p" ? 3 : 0) << pod.pod.name;
  }
  EXPECT_EQ(kubelet_.running("node-a").size(), 2U);
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
  machines_.removeNode("node-a");
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

TEST_F(NodesTest, AMachineHasItsNodeAndAnAgentPod) {
  EXPECT_EQ(get("/api/v1/nodes/node-b")["status"]["allocatable"]["nvidia.com/gpu"].str(), "8");
  settle(1s);
  EXPECT_EQ(get("/api/v1/namespaces/kube-system/pods/gpu-scheduler-agent-node-b")["status"]["phase"].str(),
            "Running");
}

TEST_F(NodesTest, AFailedGpuIsNotAllocatableAndTheNextLookShowsIt) {
  const auto known = machine().hardware;
  machines_.failGpu("node-a", 3, 79);
  settle(1ms);
  EXPECT_EQ(get("/api/v1/nodes/node-a")["status"]["allocatable"]["nvidia.com/gpu"].str(), "3");
  EXPECT_NE(machine().hardware, known);
  const auto look = Machines::look(machine());
  ASSERT_TRUE(*look);
  EXPECT_EQ((*look)->gpus.at(3).health, model::Health::Unhealthy);
  EXPECT_EQ((*look)->gpus.at(3).reason, "XID 79");
}

TEST_F(NodesTest, AnAgentIsAnotherProcessAfterItWasDownAndWhenTheMachineWasOff) {
  const auto first = machine().agent;
  EXPECT_NE(first, 0U);
  machines_.failGpu("node-a", 3, 79);
  settle(1ms);
  EXPECT_EQ(machine().agent, first);
  machines_.setAgentDown("node-a", true);
  settle(1ms);
  EXPECT_EQ(machine().agent, 0U);
  machines_.setDevices("node-a", {});
  settle(1ms);
  EXPECT_EQ(machine().agent, 0U);
  machines_.setAgentDown("node-a", false);
  settle(1ms);
  const auto second = machine().agent;
  EXPECT_GT(second, first);
  machines_.setDevices("node-a", {});
  settle(1ms);
  EXPECT_GT(machine().agent, second);
}

TEST_F(NodesTest, TheRuntimeSaysWhatContainersWereTold) {
  const model::Uid claimed{bound("claimed", Object{{"gpu.scheduling/visible-devices", "0"}})};
  settle(1s);
  const model::Uid plain{bound("plain", {}, 2)};
  const model::Uid none{bound("none", {})};
  settle(1s);
  const auto pods = machines_.containers(machine())->pods;
  const auto uuid = [&](std::size_t id) { return machine().sim.devices.at(id).uuid; };
  EXPECT_EQ(pods.at(claimed).visible, "0");
  EXPECT_EQ(pods.at(plain).visible, uuid(1) + "," + uuid(2)) << "the lowest that nobody has";
  EXPECT_EQ(pods.at(none).visible, std::nullopt);
  machines_.setDevices("node-a", {machine().sim.devices.at(3), machine().sim.devices.at(0)});
  settle(1s);
  EXPECT_EQ(machines_.heldBy(claimed.text), (std::set<std::string>{uuid(1)})) << "the same GPU as before";
  kubelet_.finish("default", "claimed");
  settle(1s);
  EXPECT_FALSE(machines_.containers(machine())->pods.contains(claimed));
  machines_.setRuntimeSilent("node-a", true);
  EXPECT_FALSE(machines_.containers(machine()));
  EXPECT_TRUE(machines_.heldBy(claimed.text).empty());
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
  Machines machines{api, kubelet, kapi::defaultNodes(), false};
  EXPECT_EQ(machines.nextDue(clock.now()), clock.now().mono);
  machines.tick(clock.now());
  const Value object =
      api.handle({"GET", "/apis/gpu.scheduling/v1/gpunodestatuses/node-a", "", {}}, clock.now()).body;
  EXPECT_EQ(object["status"]["total"].intOr(0), 4);
  EXPECT_EQ(object["status"].find("observedTime"), nullptr);
  EXPECT_FALSE(machines.nextDue(clock.now() /* the kubelet saw the Nodes come */) > clock.now().mono);
  machines.tick(clock.now());
  (void)kubelet.nextDue(clock.now());
  machines.tick(clock.now());
  EXPECT_EQ(machines.nextDue(clock.now()), std::nullopt);
}

}  // namespace
}  // namespace gs::sandbox
