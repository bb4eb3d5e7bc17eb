// The shipped webhook in front of a cluster: what containers are told, from apply to the running pod.
#include "apiserver/patch/patch.h"
#include "sandbox/node/pod_env.h"
#include "test/world/cluster.h"
#include "webhook/pod_mutation.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

class WebhookWorld : public Cluster {
 protected:
  WebhookWorld() : Cluster{withWebhook()} { startOne(); }
  /// What the first container sees once the pod runs.
  std::string seenBy(const std::string& name, const std::string& variable) {
    EXPECT_TRUE(eventually([&] { return podObject(name)["status"]["phase"].str() == "Running"; }));
    const auto* env = world.kubelet().envOf(std::string{podObject(name)["metadata"]["uid"].str()});
    if (env == nullptr) { return "it did not start"; }
    const auto it = env->find(variable);
    return it == env->end() ? "not set" : it->second;
  }
};

TEST_F(WebhookWorld, AContainerSeesTheGpusThatItsPodWasGiven) {
  world.create(claim("two", 2));
  world.create(pod("p", "two"));
  const std::string seen = seenBy("p", "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(seen, allocated("p").substr(allocated("p").find(':') + 1));
  EXPECT_EQ(seenBy("p", "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  world.create(pod("plain", ""));
  EXPECT_EQ(seenBy("plain", "CUDA_DEVICE_ORDER"), "not set");
}

TEST_F(WebhookWorld, AValueOfTheUsersGivesWay) {
  world.create(claim("one", 1));
  Value p = pod("p", "one");
  p.child("spec")
      .child("containers")
      .array()
      .at(0)
      .set("env", Array{Object{{"name", "CUDA_VISIBLE_DEVICES"}, {"value", "7"}},
                        Object{{"name", "CUDA_VISIBLE_DEVICES"}, {"value", "6"}}});
  world.create(p);
  const std::string seen = seenBy("p", "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(seen, allocated("p").substr(allocated("p").find(':') + 1));
}

Value withEnv(Value pod, Array env) {
  pod.child("spec").child("containers").array().at(0).set("env", std::move(env));
  return pod;
}

TEST_F(WebhookWorld, AVariableOfTheUsersMayReferToWhatIsTold) {
  world.create(claim("one", 1));
  const Object own{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "$(CUDA_VISIBLE_DEVICES)"}};
  world.create(withEnv(pod("p", "one"), Array{own}));
  world.create(withEnv(mappedPod("m-0", "0=node-a:1"), Array{own}));
  const std::string seen = seenBy("p", "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(seen, allocated("p").substr(allocated("p").find(':') + 1));
  EXPECT_EQ(seenBy("m-0", "NVIDIA_VISIBLE_DEVICES"), "1");
}

TEST_F(WebhookWorld, AnOrderInWhichIdsMeanOtherGpusGivesWay) {
  world.create(claim("one", 1));
  const Object from{{"fieldRef", Object{{"fieldPath", "metadata.name"}}}};
  world.create(
      withEnv(pod("p", "one"), Array{Object{{"name", "CUDA_DEVICE_ORDER"}, {"value", "FASTEST_FIRST"}},
                                     Object{{"name", "MINE"}, {"value", "$(CUDA_DEVICE_ORDER)"}}}));
  world.create(withEnv(mappedPod("m-0", "0=node-a:1"),
                       Array{Object{{"name", "CUDA_DEVICE_ORDER"}, {"valueFrom", from}}}));
  EXPECT_EQ(seenBy("p", "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(seenBy("p", "MINE"), "PCI_BUS_ID");
  EXPECT_EQ(seenBy("m-0", "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST_F(WebhookWorld, AClaimThatNobodyCouldBePlacedByIsRefusedAtOnce) {
  Value wrong = claim("wrong", 1);
  wrong.child("spec").child("devices").set("exclusivity", "MIG");
  const auto answer = world.request("POST", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims", wrong);
  EXPECT_EQ(answer.code, 422);
  EXPECT_EQ(
      answer.body["message"].str(),
      "admission webhook \"gpuclaims.gpu-scheduler.svc\" denied the request: gpuclaim \"wrong\" is invalid: "
      "spec.devices.exclusivity is \"MIG\": MIG partitions are not supported yet: write Exclusive or Shared");
}

sandbox::World::Options enforcingNothing() {
  sandbox::World::Options options;
  for (auto& node : options.nodes) { node.enforcement = model::Enforcement::Off; }
  return options;
}

/// Without the webhook.
class Untold : public Cluster {
 protected:
  explicit Untold(sandbox::World::Options options = enforcingNothing()) : Cluster{std::move(options)} {}
  void start(bool requires_injection) {
    scheduler::Config config;
    config.requires_injection = requires_injection;
    world.startReplica(config);
    ASSERT_TRUE(eventually([&] { return world.leader().has_value(); }));
    world.create(claim("one", 1));
  }
  [[nodiscard]] std::string note(const std::string& reason) {
    for (const auto& e : world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items()) {
      if (e["reason"].str() == reason) { return std::string{e["note"].str()}; }
    }
    return "";
  }
  [[nodiscard]] static Value told(Value pod) {
    const Value from =
        Object{{"fieldRef", Object{{"fieldPath", "metadata.annotations['gpu.scheduling/visible-devices']"}}}};
    for (Value& container : pod.child("spec").child("containers").array()) {
      container.set("env", Array{Object{{"name", "CUDA_VISIBLE_DEVICES"}, {"valueFrom", from}}});
    }
    return pod;
  }
};

TEST_F(Untold, AClaimPodThatIsNotToldItsGpusIsWarnedOfOnce) {
  start(false);
  Value p = pod("p", "one");
  p.child("spec").set("initContainers", Array{Object{{"name", "prepare"}, {"image", "cuda"}}});
  world.create(p);
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  world.run(2min);
  EXPECT_EQ(note("GpuEnvMissing"),
            "container prepare and 1 more have no CUDA_VISIBLE_DEVICES that refers to annotation "
            "gpu.scheduling/visible-devices, so it may use any GPU of node " +
                nodeOf("p") +
                ", and the pod was given 0: "
                "run gpu-scheduler-webhook, or write that entry into the pod");
  EXPECT_EQ(warned("GpuEnvMissing"), true);
}

TEST_F(Untold, WhoIsToldOrAsksForNoClaimIsNotWarnedOf) {
  start(false);
  world.create(told(pod("told", "one")));
  world.create(pod("plain", ""));
  world.create(pod("limits", "", 1));
  ASSERT_TRUE(eventually(
      [&] { return !nodeOf("told").empty() && !nodeOf("plain").empty() && !nodeOf("limits").empty(); }));
  world.run(1min);
  EXPECT_FALSE(warned("GpuEnvMissing"));
}

TEST_F(Untold, WithRequireInjectionItWaitsAndSaysWhy) {
  start(true);
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("p").empty(); }));
  EXPECT_EQ(
      whyWaiting("p"),
      "container main has no CUDA_VISIBLE_DEVICES that refers to annotation gpu.scheduling/visible-devices: "
      "delete the pod and create it again while gpu-scheduler-webhook runs, or write that entry into it");
  world.create(told(pod("told", "one")));
  world.create(pod("limits", "", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("told").empty() && !nodeOf("limits").empty(); }));
  EXPECT_EQ(nodeOf("p"), "");
}

TEST_F(Untold, AMapPodThatIsNotToldItsGpusIsWarnedOf) {
  start(false);
  world.create(mappedPod("m-0", "0=node-a:1"));
  Value literal = mappedPod("n-1", "1=node-a:1");
  for (Value& container : literal.child("spec").child("containers").array()) {
    container.set("env", Array{Object{{"name", "CUDA_VISIBLE_DEVICES"}, {"value", "1"}}});
  }
  world.create(literal);
  ASSERT_TRUE(eventually([&] { return !nodeOf("m-0").empty() && !nodeOf("n-1").empty(); }));
  world.run(1min);
  EXPECT_EQ(
      note("GpuEnvMissing"),
      "container main has no CUDA_VISIBLE_DEVICES, so it may use any GPU of node node-a, and the pod was "
      "given 1: run gpu-scheduler-webhook, or write that entry into the pod");
}

TEST_F(Untold, AMapPodWaitsToBeToldToo) {
  start(true);
  world.create(mappedPod("m-0", "0=node-a:1"));
  ASSERT_TRUE(eventually([&] { return !whyWaiting("m-0").empty(); }));
  EXPECT_EQ(whyWaiting("m-0"),
            "container main has no CUDA_VISIBLE_DEVICES: delete the pod and create it again while "
            "gpu-scheduler-webhook runs, or write that entry into it");
}

TEST_F(Untold, AnOrderInWhichIdsMeanOtherGpusIsWarnedOf) {
  start(false);
  const Object order{{"name", "CUDA_DEVICE_ORDER"}, {"value", "FASTEST_FIRST"}};
  Value p = told(pod("p", "one"));
  p.child("spec").child("containers").array().at(0).child("env").array().push_back(order);
  world.create(p);
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  world.run(1min);
  EXPECT_EQ(
      note("GpuOrderDiffers"),
      "container main sets CUDA_DEVICE_ORDER=\"FASTEST_FIRST\", and ids are in the order PCI_BUS_ID: on "
      "node " +
          nodeOf("p") +
          " its ids 0 may mean GPUs of other pods; run gpu-scheduler-webhook, or take that entry out of "
          "the pod");
}

class UntoldWhereItIsEnforced : public Untold {
 protected:
  UntoldWhereItIsEnforced() : Untold{{}} {}
};

TEST_F(UntoldWhereItIsEnforced, NobodyIsWarned) {
  start(false);
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); }));
  world.run(1min);
  EXPECT_FALSE(warned("GpuEnvMissing"));
}

class UntoldByDra : public Untold {
 protected:
  UntoldByDra() : Untold{byDra()} {}
};

/// Their driver gives containers what the claims are allocated. This one was fenced once, so that it has an
/// annotation of ours.
TEST_F(UntoldByDra, PodsOfResourceClaimsNeedNotBeTold) {
  start(true);
  world.create(gpuClass());
  world.create(resourceClaim("its", gpuDevices(1)));
  Value p = withClaims(pod("p", ""), "resourceClaimName", {"its"});
  p.child("metadata").set("annotations", Object{{"gpu.scheduling/fence", "of-another-decision"}});
  world.create(p);
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty(); })) << whyWaiting("p");
  world.run(1min);
  EXPECT_FALSE(warned("GpuEnvMissing"));
}

Value someEntry(Rng& rng) {
  const char* names[] = {"A", "B", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES"};
  const char* values[] = {"0",   "1", "PCI_BUS_ID", "FASTEST_FIRST", "$(CUDA_VISIBLE_DEVICES)",
                          "all", "",  "0,1"};
  Object entry{{"name", names[rng.below(5)]}};
  if (rng.chance(70)) { entry.set("value", values[rng.below(8)]); }
  if (rng.chance(25)) {
    const char* path =
        rng.chance(50) ? "metadata.annotations['gpu.scheduling/visible-devices']" : "metadata.name";
    entry.set("valueFrom", Object{{"fieldRef", Object{{"fieldPath", path}}}});
  }
  return entry;
}

bool isOurs(const Value& entry) {
  return entry["name"].str() == "CUDA_VISIBLE_DEVICES" || entry["name"].str() == "CUDA_DEVICE_ORDER";
}

/// What the container's own code goes by: of several entries of a name the last counts.
bool ordersOtherwise(const Value& container) {
  const Value* last = nullptr;
  for (const Value& e : container["env"].items()) {
    if (e["name"].str() == "CUDA_DEVICE_ORDER") { last = &e; }
  }
  return last != nullptr && ((*last)["value"].str() != "PCI_BUS_ID" || (*last)["valueFrom"].isObject());
}

/// Any pod: what is patched is a pod whose containers have each name of ours once, before all others, which
/// stay as they were; as the kubelet resolves it, whatever refers to ours is the GPUs that the pod has; who
/// had another order is warned; and a second pass has nothing to do.
TEST(WebhookProperty, ASecondPassChangesNothing) {
  Rng rng{7};
  for (int round = 0; round < 2000; ++round) {
    const bool by_map = rng.chance(50);
    Value pod = Object{
        {"metadata", Object{{"name", "p-1"},
                            {"annotations", by_map ? Object{{"gpu-scheduling-map", "1=n:0,1"}}
                                                   : Object{{"gpu.scheduling/claim", "c"},
                                                            {"gpu.scheduling/visible-devices", "0,1"}}}}},
        {"spec", Object{{"schedulerName", "gpu-scheduler"}}}};
    const bool comes_late = rng.chance(20);
    const std::vector<const char*> lists =
        comes_late ? std::vector{"ephemeralContainers"} : std::vector{"containers", "initContainers"};
    for (const char* list : lists) {
      for (std::uint64_t i = rng.below(3); i > 0; --i) {
        Object container{{"name", "c"}};
        for (std::uint64_t e = rng.below(5); e > 0; --e) {
          container["env"].array().push_back(someEntry(rng));
        }
        pod.child("spec").child(list).array().emplace_back(std::move(container));
      }
    }
    const auto mutate = [&](const Value& of) {
      return comes_late ? webhook::mutateLateContainers(of, Value{}, {})
                        : webhook::mutatePod(of, "default", {});
    };
    const admission::Verdict verdict = mutate(pod);
    Value after = pod;
    if (!verdict.patch.empty()) {
      ASSERT_TRUE(apiserver::applyJsonPatch(after, *json::parse(verdict.patch)).has_value()) << verdict.patch;
    }
    EXPECT_EQ(mutate(after).patch, "") << json::print(after);
    bool orders_otherwise = false;
    for (const char* list : lists) {
      for (std::size_t i = 0; i < after["spec"][list].items().size(); ++i) {
        const Value& container = after["spec"][list].at(i);
        const Array& env = container["env"].items();
        ASSERT_GE(env.size(), 2U);
        EXPECT_EQ(env[0]["name"].str(), "CUDA_VISIBLE_DEVICES") << json::print(container);
        EXPECT_EQ(env[1]["name"].str(), "CUDA_DEVICE_ORDER") << json::print(container);
        Array others;
        for (const Value& e : pod["spec"][list].at(i)["env"].items()) {
          if (!isOurs(e)) { others.push_back(e); }
        }
        EXPECT_EQ((Array{env.begin() + 2, env.end()}), others) << json::print(container);
        const sandbox::Env resolved = sandbox::resolveEnv(after, container);
        EXPECT_EQ(resolved.at("CUDA_VISIBLE_DEVICES"), "0,1");
        EXPECT_EQ(resolved.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
        for (const auto& [name, value] : resolved) {
          EXPECT_EQ(value.find("$("), std::string::npos) << name << " of " << json::print(container);
        }
        orders_otherwise = orders_otherwise || ordersOtherwise(pod["spec"][list].at(i));
      }
    }
    const auto& warnings = verdict.warnings;
    EXPECT_EQ(std::any_of(warnings.begin(), warnings.end(),
                          [](const std::string& w) { return w.find("DEVICE_ORDER") != std::string::npos; }),
              orders_otherwise)
        << json::print(pod);
  }
}

}  // namespace
}  // namespace gs::test
