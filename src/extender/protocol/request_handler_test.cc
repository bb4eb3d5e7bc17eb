#include "extender/protocol/request_handler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "extender/protocol/request_handler_hand_test.h"
#include "json/value.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

class RequestHandlerTest : public ::testing::Test, protected RequestHandlerHand {};

constexpr const char* kPod =
    R"({"metadata":{"name":"train-a","namespace":"ml","uid":"u-77"},"spec":{"containers":[{"name":"c0","resources":{"limits":{"tencent.com/vcuda-core":"60","tencent.com/vcuda-memory":"20"}}}]},"status":{"phase":"Pending"}})";
constexpr const char* kBig =
    R"({"metadata":{"name":"n-big"},"status":{"capacity":{"tencent.com/vcuda-core":"400","tencent.com/vcuda-memory":"240"}}})";
constexpr const char* kCpu = R"({"metadata":{"name":"n-cpu"},"status":{"capacity":{"cpu":"8"}}})";
constexpr const char* kSmall =
    R"({"metadata":{"name":"n-small"},"status":{"capacity":{"tencent.com/vcuda-core":"100","tencent.com/vcuda-memory":"60"}}})";

std::string objectsBody(const std::string& pod, const std::vector<std::string>& nodes) {
  std::string items;
  for (const auto& node : nodes) { items += (items.empty() ? "" : ",") + node; }
  return fmt::format(R"({{"Pod":{},"Nodes":{{"metadata":{{}},"items":[{}]}},"NodeNames":null}})", pod, items);
}

class Cluster : public RequestHandlerTest {
 protected:
  Cluster() {
    addNode(gpuNode("n-big", 4, 60));
    addNode(gpuNode("n-cpu", 0));
    addNode(gpuNode("n-small", 1, 60));
    addPod("train-a", "u-77", {{60, 20}});
  }
  /// By pod v, which runs on n-small.
  void aWholeGpuIsTaken() {
    addPod("v", "v1", {{100, 0}});
    auto& v = server.pods["v"];
    v.node = model::NodeName{"n-small"};
    v.phase = model::PodPhase::Running;
    v.annotations = {{"tencent.com/predicate-gpu-idx-0", "0"}};
    v.revision = ++server.revision;
    watchBrings("v");
  }
};

TEST_F(Cluster, FilterAnswersWithTheNodeAsItWasSent) {
  EXPECT_EQ(
      reply("/scheduler/predicates", objectsBody(kPod, {kBig, kCpu, kSmall})),
      fmt::format(
          R"({{"Nodes":{{"metadata":{{}},"items":[{}]}},"NodeNames":null,"FailedNodes":{{"n-big":"pod u-77 has already been matched to another node","n-cpu":"no GPU device"}},"FailedAndUnresolvableNodes":null,"Error":""}})",
          kSmall));
  EXPECT_EQ(server.pods["train-a"].annotations["tencent.com/predicate-node"], "n-small");
  EXPECT_EQ(server.pods["train-a"].annotations["tencent.com/predicate-gpu-idx-0"], "0");
}

TEST_F(Cluster, FilterByNames) {
  const std::string body =
      fmt::format(R"({{"pod":{},"nodes":null,"nodenames":["n-cpu","n-big","nobody"]}})", kPod);
  EXPECT_EQ(
      reply("/scheduler/filter", body),
      R"({"Nodes":null,"NodeNames":["n-big"],"FailedNodes":{"n-cpu":"no GPU device","nobody":"node is not known to this extender yet"},"FailedAndUnresolvableNodes":null,"Error":""})");
}

/// What an object becomes takes more memory than its text where it is made of nothing but small parts.
TEST_F(Cluster, AnObjectOfVeryManyPartsIsRefused) {
  const auto of = [](const char* part, int count) {
    std::string parts = part;
    for (int i = 1; i < count; ++i) { parts += std::string{","} + part; }
    return parts;
  };
  const auto node = [&](int taints) {
    return fmt::format(R"({{"metadata":{{"name":"n-new"}},"spec":{{"taints":[{}]}}}})", of("{}", taints));
  };
  const std::string refused = reply("/scheduler/filter", objectsBody(kPod, {node(100'000)}));
  EXPECT_NE(refused.find("node n-new: 100006 parts in a body of "), std::string::npos) << refused;
  EXPECT_EQ(reply("/scheduler/filter", objectsBody(kPod, {node(4'000)})).find("parts in"), std::string::npos);
  const std::vector<std::string> many(30, node(4'000));
  EXPECT_NE(reply("/scheduler/filter", objectsBody(kPod, many)).find("parts in"), std::string::npos)
      << "of all that are read together";
  const auto pod = fmt::format(R"({{"metadata":{{"name":"p","uid":"u"}},"spec":{{"tolerations":[{}]}}}})",
                               of("{}", 100'000));
  EXPECT_NE(reply("/scheduler/filter", objectsBody(pod, {kBig})).find("Pod: 100001 parts in a body of "),
            std::string::npos);
}

/// The machine's thread copies them.
TEST_F(Cluster, OfNodesWithVeryManyLabelsTogetherWhatIsKnownCounts) {
  std::string labels;
  for (int i = 0; i < 4'000; ++i) { labels += fmt::format(R"({}"l{}":"")", i > 0 ? "," : "", i); }
  std::vector<std::string> nodes;
  for (int i = 0; i < 20; ++i) {
    nodes.push_back(fmt::format(
        R"({{"metadata":{{"name":"new-{}","resourceVersion":"9","labels":{{{}}}}},"status":{{"capacity":{{"cpu":"8"}}}}}})",
        i, labels));
  }
  const std::string answer = reply("/scheduler/filter", objectsBody(kPod, nodes));
  EXPECT_NE(answer.find(R"("new-16":"no GPU device")"), std::string::npos) << answer.substr(0, 2'000);
  EXPECT_NE(answer.find(R"("new-17":"node is not known to this extender yet")"), std::string::npos);
}

TEST_F(Cluster, CommasInATextPartNothing) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) { text += "1,\\\","; }
  const std::string annotated =
      std::string{kPod}.replace(1, 12, fmt::format(R"("metadata":{{"annotations":{{"a":"{}"}},)", text));
  const std::string answer = reply("/scheduler/filter", objectsBody(annotated, {kBig}));
  EXPECT_EQ(answer.find("parts in"), std::string::npos) << answer.substr(0, 300);
}

TEST_F(Cluster, AReasonIsNotLongHoweverLongThePodsUid) {
  const std::string uid(100'000, 'u');
  std::string names = R"("n-cpu","n-big")";
  for (int i = 0; i < 1000; ++i) {
    addNode(gpuNode(fmt::format("n-{}", i), 4, 60));
    names += fmt::format(R"(,"n-{}")", i);
  }
  const std::string answer = reply(
      "/scheduler/filter",
      fmt::format(
          R"({{"Pod":{{"metadata":{{"name":"p","namespace":"ml","uid":"{}"}},"spec":{{"containers":[{{"resources":{{"limits":{{"tencent.com/vcuda-core":"500"}}}}}}]}}}},"NodeNames":[{}]}})",
          uid, names));
  EXPECT_LT(answer.size(), std::size_t{17} << 20);
  EXPECT_NE(answer.find(R"("n-big":"pod uuu)"), std::string::npos) << answer.substr(0, 500);
  EXPECT_NE(answer.find(R"(uuu...")"), std::string::npos);
}

TEST_F(Cluster, FilterFindsNoNode) {
  EXPECT_EQ(
      reply("/scheduler/predicates", objectsBody(kPod, {kCpu})),
      R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"FailedNodes":{"n-cpu":"no GPU device"},"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST_F(Cluster, TheSameCallAgainGetsTheSameNode) {
  const std::string body = objectsBody(kPod, {kBig, kSmall});
  const std::string first = reply("/scheduler/predicates", body);
  EXPECT_EQ(reply("/scheduler/predicates", body), first);
  EXPECT_EQ(server.writes, 1);
}

TEST_F(Cluster, APodWithoutGpusGetsItsNodesBackWithoutARequest) {
  const std::string pod = R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"a<b"}]}})";
  EXPECT_EQ(
      reply("/scheduler/predicates", objectsBody(pod, {kBig, kCpu})),
      fmt::format(
          R"({{"Nodes":{{"metadata":{{}},"items":[{},{}]}},"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}})",
          kBig, kCpu));
  EXPECT_EQ(
      reply("/scheduler/predicates", fmt::format(R"({{"Pod":{},"NodeNames":["a","b"]}})", pod)),
      R"({"Nodes":null,"NodeNames":["a","b"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
  EXPECT_EQ(requests, 0);
}

TEST_F(Cluster, ANodeThatTheCacheDoesNotHaveYetIsReadFromTheBody) {
  const std::string fresh =
      R"({"metadata":{"name":"n-new","resourceVersion":"9000"},"status":{"capacity":{"tencent.com/vcuda-core":"100","tencent.com/vcuda-memory":"60"}}})";
  EXPECT_NE(reply("/scheduler/predicates", objectsBody(kPod, {kCpu, fresh}))
                .find("\"items\":[{\"metadata\":{\"name\":\"n-new\""),
            std::string::npos);
}

TEST_F(Cluster, Priorities) {
  EXPECT_EQ(reply("/scheduler/priorities", objectsBody(kPod, {kBig, kCpu})),
            R"([{"Host":"n-big","Score":0},{"Host":"n-cpu","Score":1}])");
  EXPECT_EQ(reply("/scheduler/priorities", objectsBody(kPod, {})), "null");
  const auto bad = post("/scheduler/priorities", "{");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body, "");
}

TEST_F(Cluster, Preempt) {
  aWholeGpuIsTaken();
  EXPECT_EQ(
      reply(
          "/scheduler/preempt",
          fmt::format(
              R"({{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{{"n-small":{{"Pods":[{{"UID":"v1"}}],"NumPDBViolations":0}},"n-cpu":{{"Pods":[{{"UID":"v2"}}],"NumPDBViolations":1}}}}}})",
              kPod)),
      R"({"NodeNameToMetaVictims":{"n-small":{"Pods":[{"UID":"v1"}],"NumPDBViolations":0}}})");
  EXPECT_EQ(reply("/scheduler/preempt", fmt::format(R"({{"Pod":{},"NodeNameToVictims":{{}}}})", kPod)),
            R"({"NodeNameToMetaVictims":{}})");
}

/// kube-scheduler sends nodes without victims where it counts room; how many budgets the others would violate
/// nobody tells us.
TEST_F(Cluster, PreemptNamesVictims) {
  aWholeGpuIsTaken();
  server.pods["train-a"].priority = 7;
  server.pods["train-a"].revision = ++server.revision;
  watchBrings("train-a");
  EXPECT_EQ(
      reply(
          "/scheduler/preempt",
          fmt::format(
              R"({{"Pod":{},"NodeNameToMetaVictims":{{"n-cpu":{{"Pods":[]}},"n-small":{{"Pods":[],"NumPDBViolations":2}}}}}})",
              kPod)),
      R"({"NodeNameToMetaVictims":{"n-small":{"Pods":[{"UID":"v1"}],"NumPDBViolations":2}}})");
}

TEST_F(Cluster, ANodeThatIsNamedAgainIsAnsweredOnce) {
  const std::string names = R"(["n-cpu","n-big","n-cpu","nobody","n-big","n-cpu"])";
  EXPECT_EQ(reply("/scheduler/priorities", fmt::format(R"({{"Pod":{},"NodeNames":{}}})", kPod, names)),
            R"([{"Host":"n-cpu","Score":1},{"Host":"n-big","Score":0},{"Host":"nobody","Score":1}])");
  EXPECT_EQ(
      reply("/scheduler/filter", fmt::format(R"({{"Pod":{},"NodeNames":{}}})", kPod, names)),
      R"({"Nodes":null,"NodeNames":["n-big"],"FailedNodes":{"n-cpu":"no GPU device","nobody":"node is not known to this extender yet"},"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST_F(Cluster, Bind) {
  EXPECT_EQ(reply("/scheduler/bind",
                  R"({"PodName":"train-a","PodNamespace":"ml","PodUID":"u-77","Node":"n-small"})"),
            R"({"Error":""})");
  EXPECT_EQ(server.pods["train-a"].node.text, "n-small");
  EXPECT_EQ(
      reply("/scheduler/bind", R"({"PodName":"gone","PodNamespace":"ml","PodUID":"x","Node":"n-small"})"),
      R"({"Error":"pod ml/gone: it cannot be read: 404 no"})");
  EXPECT_EQ(reply("/scheduler/bind", R"({"PodName":"gone","PodUID":"x","Node":"n-small"})"),
            R"({"Error":"PodName, PodNamespace, PodUID and Node are needed"})");
}

struct BadBody {
  const char* body;
  const char* error;
};
TEST_F(Cluster, ABodyThatCannotBeReadIsSaid) {
  for (
      const BadBody& c :
      {BadBody{"", "EOF"}, BadBody{"{\"Pod\":{", "unexpected EOF: the body is cut off after 8 bytes"},
       BadBody{R"({"Pod":7})", "Pod is not an object"}, BadBody{R"({})", "Pod is missing"},
       BadBody{
           R"({"Pod":{"metadata":{},"spec":{"containers":[{"resources":{"limits":{"tencent.com/vcuda-core":100}}}]}}})",
           "Pod.metadata.name is missing"},
       BadBody{
           R"({"Pod":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"resources":{"limits":{"tencent.com/vcuda-core":100}}}]}}})",
           "Pod.metadata.namespace is missing"}}) {
    const auto r = post("/scheduler/predicates", c.body);
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(
        r.body,
        fmt::format(
            R"({{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":"{}"}})",
            c.error));
  }
}

/// What is no quantity would count as nothing, and the pod as one that wants no GPU.
TEST_F(Cluster, ALimitThatIsNoQuantityIsRefused) {
  const auto body = [](const char* name, const char* value) {
    return fmt::format(
        R"({{"Pod":{{"metadata":{{"name":"p","namespace":"ml","uid":"u"}},"spec":{{"containers":[{{}},{{"resources":{{"limits":{{"{}":{}}}}}}}]}}}},"NodeNames":["n-big"]}})",
        name, value);
  };
  const auto error = [&](const char* name, const char* value) {
    const auto read = json::parse(reply("/scheduler/filter", body(name, value)));
    return std::string{(*read)["Error"].str()};
  };
  EXPECT_EQ(error("tencent.com/vcuda-core", R"("abc")"),
            "Pod.spec.containers[1].resources.limits[\"tencent.com/vcuda-core\"]: \"abc\" is not a quantity; "
            "write a "
            "whole number such as \"50\" (100 is one GPU)");
  EXPECT_EQ(
      error("tencent.com/vcuda-memory", "[]"),
      "Pod.spec.containers[1].resources.limits[\"tencent.com/vcuda-memory\"]: [] is not a quantity; write a "
      "whole number such as \"8\" (1 is 256 MiB)");
  for (const char* fine : {R"("0")", "null", "0", R"("500m")"}) {
    EXPECT_EQ(error("tencent.com/vcuda-core", fine), "") << fine;
  }
  EXPECT_EQ(error("cpu", R"("abc")"), "") << "is none of ours";
}

TEST_F(Cluster, WhatPrioritiesCannotReadIsSaid) {
  const auto said = [&](const char* path, const char* body) {
    const auto r = post(path, body);
    return fmt::format("{} {}", r.status, r.body);
  };
  EXPECT_EQ(said("/scheduler/priorities", "[]"),
            "400 the body is not an object; expected is ExtenderArgs: an object with Pod, and Nodes or "
            "NodeNames\n");
  EXPECT_EQ(said("/scheduler/priorities", ""),
            "400 EOF; expected is ExtenderArgs: an object with Pod, and Nodes or NodeNames\n");
  const char* no_quantity =
      R"({"Pod":{"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":{"containers":[{"name":"c0","resources":{"limits":{"tencent.com/vcuda-core":"abc"}}}]}},"NodeNames":["n-big"]})";
  EXPECT_EQ(
      said("/scheduler/priorities", no_quantity),
      "400 Pod.spec.containers[0].resources.limits[\"tencent.com/vcuda-core\"]: \"abc\" is not a quantity; "
      "write a whole number such as \"50\" (100 is one GPU)\n");
  EXPECT_EQ(said("/scheduler/preempt", "7"),
            "400 the body is not an object; expected is ExtenderPreemptionArgs: an object with Pod, and "
            "NodeNameToVictims or NodeNameToMetaVictims\n");
  EXPECT_EQ(said("/scheduler/prioritize", R"({"nodes":{}})"),
            "400 nodes is not an array; expected is an object with task and nodes, as Volcano sends it\n");
}

// ---- Volcano

std::string taskBody(const std::string& pod, const std::string& node, const std::string& object) {
  return fmt::format(
      R"({{"task":{{"UID":"u-77","Job":"ml/pg-1","NodeName":"{1}","Pod":{0}}},"node":{{"Name":"{1}","Node":{2},"Tasks":{{}}}}}})",
      pod, node, object);
}

struct DialectCase {
  const char* path;
  const char* fits;
  const char* misfit;
};
/// Forbidden, not full: preemption on the node is no help.
TEST_F(Cluster, AQuotaIsRefusedAsUnresolvable) {
  model::QuotaConfig quota;
  quota.map = {"kube-system", "gpuquota"};
  quota.labels = {"model", "pool"};
  engine.configureQuota(quota);
  const model::Quotas none{{"ml", {{{"V100", 0}}, {}}}};
  engine.apply({kapi::kQuotaMap,
                quota.map,
                {},
                std::make_shared<const model::QuotaMap>(model::QuotaMap{quota.map, {}, 1, none, {}}),
                ++server.revision},
               now.mono);
  model::Node node = gpuNode("n-v", 1);
  node.labels["model"] = "V100";
  addNode(node);
  EXPECT_EQ(reply("/scheduler/volcano-1.12/vpredicates", taskBody(kPod, "n-v", "null")),
            R"({"status":"ExceedsGPUQuota: V100 used 0, limit 0, asks 0.6","code":3})");
}

class Dialects : public Cluster, public ::testing::WithParamInterface<DialectCase> {};

TEST_P(Dialects, PredicateSaysFitAndMisfit) {
  EXPECT_EQ(reply(GetParam().path, taskBody(kPod, "n-cpu", kCpu)), GetParam().misfit);
  EXPECT_EQ(reply(GetParam().path, taskBody(kPod, "n-small", kSmall)), GetParam().fits);
}
INSTANTIATE_TEST_SUITE_P(
    Volcano, Dialects,
    ::testing::Values(
        DialectCase{"/scheduler/vpredicates", "{}",
                    R"({"errorMessage":"no GPU device","status":[{"Code":3,"Reason":"no GPU device"}]})"},
        DialectCase{"/scheduler/volcano-1.7/predicate", R"({"errorMessage":""})",
                    R"({"errorMessage":"no GPU device"})"},
        DialectCase{"/scheduler/volcano-1.8/predicate", R"({"status":[{"Code":0,"Reason":"success"}]})",
                    R"({"status":[{"Code":3,"Reason":"no GPU device"}]})"},
        DialectCase{"/scheduler/volcano-1.10/predicate", R"({"status":"","code":0})",
                    R"({"status":"no GPU device","code":3})"},
        DialectCase{"/scheduler/volcano-1.14/predicate", R"({"status":"","code":0})",
                    R"({"status":"no GPU device","code":3})"}));

TEST_F(Cluster, BeforeAllocateFuncAPredicateGivesAndOthersWait) {
  EXPECT_EQ(reply("/scheduler/volcano-1.8/predicate", taskBody(kPod, "n-small", kSmall)),
            R"({"status":[{"Code":0,"Reason":"success"}]})");
  EXPECT_EQ(reply("/scheduler/volcano-1.8/predicate", taskBody(kPod, "n-big", kBig)),
            R"({"status":[{"Code":2,"Reason":"pod u-77 has already been matched to another node"}]})");
  EXPECT_EQ(server.writes, 1);
}

TEST_F(Cluster, WithAllocateFuncAPredicateOnlyLooks) {
  for (const auto& [node, object] : {std::pair{"n-small", kSmall}, std::pair{"n-big", kBig}}) {
    EXPECT_EQ(reply("/scheduler/volcano-1.14/predicate", taskBody(kPod, node, object)),
              R"({"status":"","code":0})");
  }
  EXPECT_EQ(server.writes, 0);
  EXPECT_EQ(reply("/scheduler/volcano-1.14/allocateFunc",
                  fmt::format(R"({{"task":{{"NodeName":"n-big","Pod":{}}}}})", kPod)),
            R"({"errorMessage":""})");
  EXPECT_EQ(server.pods["train-a"].annotations["tencent.com/predicate-node"], "n-big");
  EXPECT_EQ(reply("/scheduler/volcano-1.14/allocateFunc",
                  fmt::format(R"({{"task":{{"NodeName":"n-cpu","Pod":{}}}}})", kPod)),
            R"({"errorMessage":"no GPU device"})");
  EXPECT_EQ(reply("/scheduler/volcano-1.14/deallocateFunc",
                  fmt::format(R"({{"task":{{"NodeName":"n-big","Pod":{}}}}})", kPod)),
            R"({"errorMessage":""})");
  EXPECT_FALSE(server.pods["train-a"].annotations.contains("tencent.com/predicate-node"));
}

TEST_F(Cluster, TheNodeNameThatVolcanoSendsIsNoBindingYet) {
  model::Pod& pod = server.pods["train-a"];
  pod.revision = ++server.revision;  // the watch has not brought it yet
  const std::string meant = fmt::format(
      R"({{"metadata":{{"name":"train-a","namespace":"ml","uid":"u-77","resourceVersion":"{}"}},"spec":{{"nodeName":"n-big","containers":[{{"name":"c0","resources":{{"limits":{{"tencent.com/vcuda-core":"60","tencent.com/vcuda-memory":"20"}}}}}}]}}}})",
      pod.revision);
  EXPECT_EQ(reply("/scheduler/volcano-1.14/allocateFunc",
                  fmt::format(R"({{"task":{{"NodeName":"n-big","Pod":{}}}}})", meant)),
            R"({"errorMessage":""})");
  EXPECT_EQ(server.pods["train-a"].annotations["tencent.com/predicate-node"], "n-big");
}

TEST_F(Cluster, PrioritizePrefersFullerNodes) {
  addPod("other", "u-1", {{50, 1}});
  server.pods["other"].node = model::NodeName{"n-small"};
  server.pods["other"].phase = model::PodPhase::Running;
  server.pods["other"].annotations = {{"tencent.com/predicate-gpu-idx-0", "0"}};
  server.pods["other"].revision = ++server.revision;
  watchBrings("other");
  const std::string nodes = R"([{"Name":"n-big"},{"Name":"n-cpu"},{"Name":"n-small"}])";
  EXPECT_EQ(reply("/scheduler/prioritize", fmt::format(R"({{"task":{{"Pod":{}}},"nodes":{}}})", kPod, nodes)),
            R"({"nodeScore":{"n-big":0,"n-cpu":0,"n-small":50},"errorMessage":""})");
  EXPECT_EQ(reply("/scheduler/prioritize", fmt::format(R"({{"task":{{"Pod":{{}}}},"nodes":{}}})", nodes)),
            R"({"nodeScore":{"n-big":0,"n-cpu":100,"n-small":0},"errorMessage":""})");
}

/// Volcano sends the nodes that it has; of one that went it has the name only.
TEST_F(Cluster, ANodeThatCameWithoutItsObjectIsUnknownBesideOneThatHasIt) {
  const auto asked = post("/scheduler/prioritize",
                          fmt::format(R"({{"task":{{"Pod":{}}},"nodes":[{{"Name":"gone"}},{{"Name":"n-big",)"
                                      R"("Node":{}}}]}})",
                                      kPod, kBig));
  EXPECT_EQ(asked.status, 200) << asked.body;
  EXPECT_NE(asked.body.find(R"("n-big":0)"), std::string::npos) << asked.body;
}

TEST_F(Cluster, WhatElseVolcanoAsksIsAbstainedFrom) {
  EXPECT_EQ(reply("/scheduler/onSessionOpen", R"({"Jobs":{}})"), "{}");
  EXPECT_EQ(reply("/scheduler/jobEnqueueable", "{}"), R"({"status":0})");
  EXPECT_EQ(reply("/scheduler/jobReady", "{}"), R"({"status":true})");
  EXPECT_EQ(reply("/scheduler/queueOverused", "{}"), R"({"overused":false})");
  EXPECT_EQ(reply("/scheduler/preemptable", "{}"), R"({"status":0,"victims":null})");
}

// ---- Paths

TEST_F(RequestHandlerTest, TextsPathsAndMethods) {
  const auto get = [&](const char* path) {
    return handler.answer({"GET", path, {}, ""}, scanner, *this).response;
  };
  EXPECT_EQ(get("/version").body, "v1-test");
  EXPECT_EQ(get("/hello").body, "Hello, World!");
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(get("/scheduler/nothing").status, 404);
  EXPECT_EQ(get("/scheduler/volcano-1.5/predicate").status, 404);
  EXPECT_EQ(get("/scheduler/predicates").status, 405);
  EXPECT_EQ(post("/version", "").status, 405);
}

TEST_F(Cluster, AStandbySaysSo) {
  extender.standBy("no leader");
  const auto r = post("/scheduler/predicates", objectsBody(kPod, {kBig}));
  EXPECT_EQ(r.status, 503);
  EXPECT_EQ(r.body, "no leader\n");
}

/// Of pods whose GPUs the scheduler in the same process offers the machine is asked, and the answer is given
/// in kube-scheduler's shapes.
class Offering : public Backend {
 public:
  NodeTablePtr table() override { return std::make_shared<const NodeTable>(ledger); }
  Answer ask(Request request) override {
    asked = std::move(request);
    return answer;
  }
  net::Response post(const std::string& path, std::string body) {
    return handler.answer({"POST", path, {}, std::move(body)}, scanner, *this).response;
  }
  std::string reply(const std::string& path, const std::string& pod, const std::string& nodes) {
    return post(path, R"({"Pod":)" + pod + "," + nodes + "}").body;
  }

  sched::Ledger ledger;
  Request asked{};
  Answer answer;
  RequestHandler handler{
      {"v1-test", {}, [](const model::Pod& pod) { return pod.scheduler_name == "gpu-kube"; }}};
  json::Scanner scanner;
};

constexpr const char* kOfferedPod =
    R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":{"schedulerName":"gpu-kube"}})";
constexpr const char* kOtherPod =
    R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":{"schedulerName":"other"}})";

TEST(RequestHandlerOffers, FilterGivesAllThatFitAndSaysOfOthersWhetherTheyEverWill) {
  Offering o;
  o.answer.kind = Answer::Kind::Offered;
  o.answer.offers.rejections = {{"no \"room\"", false}, {"never", true}};
  o.answer.offers.of = {sched::Offers::kFits, 0, sched::Offers::kFits, 1};
  EXPECT_EQ(o.reply("/scheduler/filter", kOfferedPod, R"("Nodes":null,"NodeNames":["a","b","c","d"])"),
            R"({"Nodes":null,"NodeNames":["a","c"],"FailedNodes":{"b":"no \"room\""},)"
            R"("FailedAndUnresolvableNodes":{"d":"never"},"Error":""})");
  EXPECT_EQ(o.asked.verb, Verb::Filter);
  const std::string items =
      R"("NodeNames":null,"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},)"
      R"({"metadata":{"name":"c"}},{"metadata":{"name":"d"}}]})";
  EXPECT_EQ(o.reply("/scheduler/filter", kOfferedPod, items),
            R"({"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"c"}}]},)"
            R"("NodeNames":null,"FailedNodes":{"b":"no \"room\""},)"
            R"("FailedAndUnresolvableNodes":{"d":"never"},"Error":""})");
}

TEST(RequestHandlerOffers, PrioritiesGiveTheScores) {
  Offering o;
  o.answer.kind = Answer::Kind::Offered;
  o.answer.scores = {10, 3};
  EXPECT_EQ(o.reply("/scheduler/priorities", kOfferedPod, R"("NodeNames":["a","b"])"),
            R"([{"Host":"a","Score":10},{"Host":"b","Score":3}])");
  ASSERT_NE(o.asked.pod, nullptr);
  EXPECT_EQ(o.asked.pod->uid, model::Uid{"u"});
}

TEST(RequestHandlerOffers, OthersPodsPassUntouched) {
  Offering o;
  EXPECT_EQ(o.reply("/scheduler/filter", kOtherPod, R"("NodeNames":["a","b"])"),
            R"({"Nodes":null,"NodeNames":["a","b"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
            R"("Error":""})");
  EXPECT_EQ(o.asked.pod, nullptr) << "the machine is not asked";
  o.answer.kind = Answer::Kind::Ranked;
  (void)o.reply("/scheduler/priorities", kOtherPod, R"("NodeNames":["a","b"])");
  EXPECT_EQ(o.asked.pod, nullptr) << "of how full nodes are, whoever asks";
}

}  // namespace
}  // namespace gs::extender
