#include "sandbox/serve/admin.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kapi/node_file.h"
#include "sandbox/node/pod_event.h"
#include "sandbox/node/pod_log.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;

/// A World without a scheduler, its machines and what their containers wrote.
class AdminTest : public testing::Test {
 protected:
  AdminTest() { world_.run(1s); }

  apiserver::Response ask(const char* method, const std::string& target, Value body = {}) {
    auto answer = admin(world_, {method, "/sandbox/v1/" + target, "application/json", std::move(body)});
    world_.touch();
    return answer.value_or(apiserver::Response{0, {}});
  }
  std::string health(const std::string& node, std::size_t gpu) {
    world_.run(1s);
    return std::string{world_.get("/apis/gpu.scheduling/v1/gpunodestatuses/" + node)["status"]["devices"]
                           .at(gpu)["health"]
                           .str()};
  }
  /// Bound to node-a by hand, and running.
  void runs(const std::string& name, Object container, Object annotations = {}) {
    container["name"] = "c";
    container["image"] = "i";
    world_.create(
        Object{{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata", Object{{"name", name}, {"annotations", std::move(annotations)}}},
               {"spec", Object{{"nodeName", "node-a"}, {"containers", Array{Value{std::move(container)}}}}}});
    world_.run(2s);
  }
  std::string log(const std::string& name, const std::string& query = "") {
    const auto answer =
        podLog(world_.api(), world_.kubelet(),
               {"GET", "/api/v1/namespaces/default/pods/" + name + "/log?" + query, "", {}}, world_.now());
    if (!answer) { return "(not asked for a log)"; }
    return answer->code < 300 ? answer->text : std::string{answer->body["message"].str()};
  }
  /// The ids in a log's lines.
  std::string gpusIn(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; (at = text.find("GPU ", at)) != std::string::npos; ++at) { out += text[at + 4]; }
    return out.empty() ? text : out;
  }
  static Object env(const char* name, const char* value) {
    return {{"env", Array{Value{Object{{"name", name}, {"value", value}}}}}};
  }
  static Object asksFor(const char* gpus) {
    return {{"resources", Object{{"limits", Object{{"nvidia.com/gpu", gpus}}}}}};
  }

  World world_{World::Options{}};
};

TEST_F(AdminTest, NodesComeAndGo) {
  const Value file = *json::parse(R"({"nodes":[{"name":"node-c","gpus":{"count":2}}]})");
  EXPECT_EQ(ask("POST", "nodes", file).code, 200);
  world_.run(1s);
  EXPECT_EQ(ask("POST", "nodes", file).code, 409);
  EXPECT_EQ(world_.get("/api/v1/nodes/node-c")["status"]["addresses"].at(0)["address"].str(), "10.0.0.3");
  EXPECT_EQ(ask("DELETE", "nodes/node-c").code, 200);
  world_.run(1s);
  EXPECT_EQ(ask("DELETE", "nodes/node-c").code, 404);
}

TEST_F(AdminTest, RefusesWhatIsNoNodeFileAndNoPath) {
  EXPECT_EQ(ask("POST", "nodes", Object{{"nodes", 7}}).code, 400);
  EXPECT_EQ(ask("GET", "nodes").code, 405);
  EXPECT_EQ(ask("POST", "nodes/node-a").code, 405);
  EXPECT_EQ(ask("POST", "nodes/node-a/paint").code, 404);
  EXPECT_FALSE(admin(world_, {"GET", "/api/v1/nodes", "", {}}));
}

TEST_F(AdminTest, AGpuFailsAndIsRepaired) {
  EXPECT_EQ(ask("POST", "nodes/node-a/gpus/0/fail", Object{{"xid", 79}}).code, 200);
  EXPECT_EQ(health("node-a", 0), "Unhealthy");
  EXPECT_EQ(ask("POST", "nodes/node-a/gpus/0/repair").code, 200);
  EXPECT_EQ(health("node-a", 0), "Healthy");
  for (const char* none : {"9", "0x", "", "-1", "99999999999"}) {
    EXPECT_EQ(ask("POST", std::string{"nodes/node-a/gpus/"} + none + "/fail", Object{{"xid", 79}}).code, 404)
        << none;
  }
  EXPECT_EQ(health("node-a", 0), "Healthy");
  EXPECT_EQ(ask("POST", "nodes/node-a/gpus/0/fail", Object{{"xid", -1}}).code, 400);
}

TEST_F(AdminTest, WhoNamesNoGpuIsToldWhichThereAre) {
  const auto told = [this](const std::string& node, const char* gpu) {
    return std::string{ask("POST", "nodes/" + node + "/gpus/" + gpu + "/repair").body["message"].str()};
  };
  EXPECT_EQ(told("node-b", "8"), "node node-b has no GPU 8: it has 0-7");
  EXPECT_EQ(told("node-b", "-1"), "node node-b has no GPU -1: it has 0-7");
  EXPECT_EQ(told("node-a", "x%2F1"), "node node-a has no GPU x/1: it has 0-3");
  ask("POST", "nodes", *json::parse(R"({"nodes":[{"name":"one","gpus":{"count":1}},{"name":"none"}]})"));
  world_.run(1s);
  EXPECT_EQ(told("one", "1"), "node one has no GPU 1: it has 0");
  EXPECT_EQ(told("none", "0"), "node none has no GPU 0: it has none");
}

TEST_F(AdminTest, ANodeWithoutAMachineCannotFail) {
  world_.create(Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", Object{{"name", "hand"}}}});
  const apiserver::Response answer = ask("POST", "nodes/hand/gpus/0/fail", Object{{"xid", 79}});
  EXPECT_EQ(answer.code, 404);
  EXPECT_TRUE(answer.body["message"].str().starts_with("node \"hand\" is not simulated"));
}

TEST_F(AdminTest, DrainingNamesWhoIsLeftUntilNobodyIs) {
  runs("p", {});
  const apiserver::Response first = ask("POST", "nodes/node-a/drain");
  EXPECT_EQ(json::print(first.body["left"]), R"([{"namespace":"default","name":"p"}])");
  EXPECT_TRUE(world_.get("/api/v1/nodes/node-a")["spec"]["unschedulable"].boolOr(false));
  world_.run(31s);
  EXPECT_EQ(json::print(ask("POST", "nodes/node-a/drain").body["left"]), "[]");
}

TEST_F(AdminTest, AnAgentPodThatWasDeletedComesBack) {
  const std::string path = "/api/v1/namespaces/kube-system/pods/gpu-scheduler-agent-node-a";
  const std::string uid{world_.get(path)["metadata"]["uid"].str()};
  ASSERT_FALSE(uid.empty());
  (void)world_.request("DELETE", path);
  world_.run(2s);
  EXPECT_EQ(world_.get(path)["status"]["phase"].str(), "Running");
  EXPECT_NE(world_.get(path)["metadata"]["uid"].str(), uid);
}

TEST_F(AdminTest, ANodeHasALongName) {
  for (const std::size_t length : {64U, 200U, 233U, 234U, 253U}) {
    std::string name(length, 'n');
    for (std::size_t i = 50; i < length; i += 51) { name[i] = '.'; }
    Object node{{"name", name}, {"gpus", Object{{"count", 1}}}};
    ASSERT_EQ(ask("POST", "nodes", Object{{"nodes", Array{Value{std::move(node)}}}}).code, 200);
    world_.run(5s);
    const Value made = world_.get("/api/v1/nodes/" + name);
    EXPECT_EQ(made["metadata"]["labels"]["kubernetes.io/hostname"].str(), kapi::hostnameLabel(name));
    const Value status = world_.get("/apis/gpu.scheduling/v1/gpunodestatuses/" + name);
    EXPECT_EQ(status["status"]["devices"].items().size(), 1U) << length;
  }
}

TEST_F(AdminTest, ANodeThatTheApiRefusesIsNotAdded) {
  const apiserver::Response answer = ask(
      "POST", "nodes", *json::parse(R"({"nodes":[{"name":"fine"},{"name":"one","labels":{"a b":"c"}}]})"));
  EXPECT_EQ(answer.code, 400);
  const std::string message{answer.body["message"].str()};
  EXPECT_TRUE(message.starts_with("node one was not made: Node \"one\" is invalid: metadata.labels"))
      << message;
  world_.run(1s);
  EXPECT_EQ(world_.get("/api/v1/nodes/fine")["code"].intOr(0), 404);
}

TEST_F(AdminTest, InitContainersAndSidecarsHaveLogs) {
  Value pod = *json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "init"}, "spec": {
    "nodeName": "node-a", "initContainers": [
      {"name": "side", "image": "i", "restartPolicy": "Always", "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "1"}]},
      {"name": "prep", "image": "i", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "0,2"}]}],
    "containers": [{"name": "main", "image": "i", "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "3"}]},
      {"name": "other", "image": "i"}]}})");
  world_.create(pod);
  world_.run(2s);
  EXPECT_EQ(gpusIn(log("init", "container=side")), "1");
  EXPECT_EQ(gpusIn(log("init", "container=prep")), "02");
  EXPECT_EQ(gpusIn(log("init", "container=main")), "3");
  const std::string stamped = log("init", "container=prep&timestamps=true&tailLines=1");
  EXPECT_EQ(stamped.substr(4, 1), "-") << stamped;
  EXPECT_EQ(log("init"),
            "a container name must be specified for pod init, choose one of: [main other] or one of the init "
            "containers: [side prep]");
}

TEST_F(AdminTest, ALogListsWhatTheEnvNames) {
  runs("cuda", env("CUDA_VISIBLE_DEVICES", "0,2"));
  runs("nvidia", env("NVIDIA_VISIBLE_DEVICES", "all"));
  runs("none", env("CUDA_VISIBLE_DEVICES", ""), {{"gpu.scheduling/visible-devices", "1"}});
  EXPECT_EQ(gpusIn(log("cuda")), "02");
  EXPECT_EQ(gpusIn(log("nvidia")), "0123");
  EXPECT_EQ(log("none"), "No devices found.\n");
}

TEST_F(AdminTest, ALogWithoutEnvListsWhatTheNodeGaveToWhoAsked) {
  runs("named", asksFor("2"), {{"gpu.scheduling/visible-devices", "1,3"}});
  runs("any", asksFor("1"));
  runs("did-not-ask", {}, {{"gpu.scheduling/visible-devices", "1"}});
  EXPECT_EQ(gpusIn(log("named")), "13");
  EXPECT_EQ(gpusIn(log("any")), "0");
  EXPECT_EQ(log("did-not-ask"), "No devices found.\n");
}

TEST_F(AdminTest, ALogHasAMomentAndNoPast) {
  runs("p", {});
  const std::string began{world_.get("/api/v1/namespaces/default/pods/p")["status"]["containerStatuses"]
                              .at(0)["state"]["running"]["startedAt"]
                              .str()};
  EXPECT_EQ(log("p", "timestamps=true"), began + " No devices found.\n");
  EXPECT_EQ(log("p", "previous=true"), "previous terminated container \"c\" in pod \"p\" not found");
  EXPECT_EQ(log("p", "sinceSeconds=3600"), "No devices found.\n");
  world_.run(10s);
  EXPECT_EQ(log("p", "sinceSeconds=5"), "");
}

TEST_F(AdminTest, ARunningPodHasAddresses) {
  runs("p", {});
  const Value status = world_.get("/api/v1/namespaces/default/pods/p")["status"];
  EXPECT_EQ(status["hostIP"].str(), "10.0.0.1");
  EXPECT_EQ(status["hostIPs"].at(0)["ip"].str(), "10.0.0.1");
  World::Options later;
  later.restore = world_.api().save();
  World again{std::move(later)};
  again.create(*json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},
    "spec":{"nodeName":"node-b","containers":[{"name":"c","image":"i"}]}})"));
  again.run(2s);
  const Value q = again.get("/api/v1/namespaces/default/pods/q")["status"];
  EXPECT_NE(q["podIP"].str(), "");
  EXPECT_GT(q["podIP"].str(), status["podIP"].str());
  EXPECT_EQ(q["hostIP"].str(), "10.0.0.2");
}

TEST_F(AdminTest, ARunTimeThatCannotBeReadIsTold) {
  runs("p", {}, {{"sandbox.gpu.scheduling/run-for", "10 minutes"}});
  const Value events = world_.get("/api/v1/namespaces/default/events?fieldSelector=reason=BadRunFor");
  ASSERT_EQ(events["items"].items().size(), 1U);
  const auto message = events["items"].at(0)["message"].str();
  EXPECT_NE(message.find("run-for: \"10 minutes\" is no duration"), std::string::npos) << message;
}

TEST_F(AdminTest, APodOfASchedulerThatIsNotHereIsTold) {
  UnclaimedPods unclaimed{world_.api(), "gpu-scheduler"};
  for (const char* scheduler : {"default-scheduler", "gpu-scheduler", "gpu-schedular"}) {
    world_.create(
        Object{{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata", Object{{"name", std::string{"of-"} + scheduler}}},
               {"spec", Object{{"schedulerName", scheduler},
                               {"containers", Array{Value{Object{{"name", "c"}, {"image", "i"}}}}}}}});
  }
  unclaimed.look(world_.now());
  unclaimed.look(world_.now());
  const Value events = world_.get("/api/v1/namespaces/default/events");
  std::map<std::string, std::string> said;
  for (const Value& event : events["items"].items()) {
    EXPECT_EQ(event["reason"].str(), "NoSuchScheduler");
    said.emplace(event["involvedObject"]["name"].str(), event["message"].str());
  }
  EXPECT_EQ(said, (std::map<std::string, std::string>{
                      {"of-default-scheduler",
                       "no default-scheduler is here, so this pod waits for ever; set spec.schedulerName: "
                       "gpu-scheduler"},
                      {"of-gpu-schedular",
                       "no gpu-schedular is here, so this pod waits for ever; set spec.schedulerName: "
                       "gpu-scheduler"}}));
}

}  // namespace
}  // namespace gs::sandbox
