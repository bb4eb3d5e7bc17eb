#include "kapi/decode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/json_text_test.h"
#include "kapi/kinds.h"
#include "kapi/time.h"

namespace gs::kapi {
namespace {

constexpr const char* kPodText = R"({
  "apiVersion":"v1","kind":"Pod",
  "metadata":{"namespace":"team-a","name":"train-0","uid":"u-1","resourceVersion":"42",
    "creationTimestamp":"2025-06-15T15:06:40Z","labels":{"app":"train"},
    "annotations":{"gpu.scheduling/claim":"four","tencent.com/vcuda-core-limit":"50",
    "gpu-scheduling-map":"0=n:1",
      "kubectl.kubernetes.io/last-applied-configuration":"{}","gpu-scheduling-mapx":"no"}},
  "spec":{"schedulerName":"gpu-scheduler","nodeName":"node-a","priority":7,"nodeSelector":{"disk":"ssd"},
    "tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"},{"operator":"Exists"},
      {"key":"n","value":"5","operator":"Gt"},{"key":"n","value":"9","operator":"Lt"},
      {"key":"n","operator":"Like"}],
    "schedulingGates":[{"name":"quota"}],
    "containers":[{"name":"c","resources":{"limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]},
  "status":{"phase":"Running","conditions":[
    {"type":"PodScheduled","status":"True","lastTransitionTime":"2025-06-15T15:06:41Z"},
    {"type":"Ready","status":"True"}],
    "containerStatuses":[{"name":"c","state":{"running":{}},"started":true}]}})";

/// The same before it was bound.
std::string unboundPod() {
  std::string text = kPodText;
  const std::string node = R"("nodeName":"node-a",)";
  return text.erase(text.find(node), node.size());
}

TEST(DecodePod, ReadsTheFieldsThatWeUse) {
  const model::Pod pod = decodePod(parsed(kPodText));
  EXPECT_EQ(pod.key, (model::ObjectKey{"team-a", "train-0"}));
  EXPECT_EQ(pod.uid, model::Uid{"u-1"});
  EXPECT_EQ(pod.revision, 42U);
  EXPECT_EQ(pod.created, parseTime("2025-06-15T15:06:40Z"));
  EXPECT_EQ(pod.scheduler_name, "gpu-scheduler");
  EXPECT_EQ(pod.node, model::NodeName{"node-a"});
  EXPECT_EQ(pod.phase, model::PodPhase::Running);
  EXPECT_FALSE(pod.deleting);
  EXPECT_FALSE(pod.containers_terminated);
  EXPECT_TRUE(pod.ready);
  EXPECT_FALSE(pod.is_agent);
  EXPECT_EQ(pod.priority, 7);
  EXPECT_TRUE(pod.preempts);
  EXPECT_EQ(pod.bound_at, parseTime("2025-06-15T15:06:41Z"));
  EXPECT_EQ(pod.requests.cpu_milli, 2000);
  EXPECT_EQ(pod.requests.get(model::kNvidiaGpu), 1);
  EXPECT_EQ(pod.scheduled, model::ScheduledCondition{}) << "nobody asks a bound pod";
  EXPECT_TRUE(pod.unsupported.empty());
}

TEST(DecodePod, ReadsWhatPreemptionAsks) {
  const auto podOf = [](const std::string& spec, const std::string& status) {
    return decodePod(parsed(R"({"metadata":{"name":"p"},"spec":)" + spec + R"(,"status":)" + status + "}"));
  };
  const std::string told = R"({"nominatedNodeName":"node-b"})";
  EXPECT_EQ(podOf("{}", told).nominated, model::NodeName{"node-b"});
  EXPECT_TRUE(podOf(R"({"nodeName":"node-a"})", told).nominated.empty()) << "it is there";
  EXPECT_EQ(podOf("{}", R"({"startTime":"2025-06-15T15:06:40Z"})").started,
            parseTime("2025-06-15T15:06:40Z"));
  EXPECT_EQ(podOf("{}", "{}").started, Wall{});
  const auto isPreempted = [&](const char* condition) {
    return podOf("{}", std::string{R"({"conditions":[)"} + condition + "]}").preempted;
  };
  EXPECT_TRUE(isPreempted(R"({"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"})"));
  EXPECT_FALSE(
      isPreempted(R"({"type":"DisruptionTarget","status":"False","reason":"PreemptionByScheduler"})"));
  EXPECT_FALSE(
      isPreempted(R"({"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"})"));
}

TEST(DecodePod, ReadsWhetherItMayDisplaceOthers) {
  const auto preempts = [](const char* spec) {
    return decodePod(parsed(fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{}}})", spec))).preempts;
  };
  EXPECT_FALSE(preempts(R"({"preemptionPolicy":"Never"})"));
  EXPECT_TRUE(preempts(R"({"preemptionPolicy":"PreemptLowerPriority"})"));
  EXPECT_TRUE(preempts("{}"));
}

TEST(DecodePod, KeepsWhatOnlyAPlacementAsksUntilItIsBound) {
  const model::Pod pod = decodePod(parsed(unboundPod()));
  EXPECT_EQ(pod.node_selector, (std::map<std::string, std::string>{{"disk", "ssd"}}));
  EXPECT_EQ(pod.scheduling_gates, std::vector<std::string>{"quota"});
  EXPECT_EQ(pod.labels, (model::Labels{{"app", "train"}}));
  const model::Pod bound = decodePod(parsed(kPodText));
  EXPECT_TRUE(bound.node_selector.empty() && bound.scheduling_gates.empty() && bound.tolerations.empty());
}

std::vector<std::string> cachesOf(const std::string& volumes, bool bound = false) {
  const auto text = fmt::format(
      R"({{"metadata": {{"namespace": "ml", "name": "p"}}, "spec": {{"nodeName": "{}", "volumes": [{}]}}}})",
      bound ? "node-a" : "", volumes);
  std::vector<std::string> out;
  for (const auto& key : decodePod(parsed(text)).kernel_caches) { out.push_back(key.text()); }
  return out;
}

std::string cacheVolume(const std::string& attributes, const char* driver = "csi.gkm.io") {
  return fmt::format(R"({{"name": "v", "csi": {{"driver": "{}", "volumeAttributes": {{{}}}}}}})", driver,
                     attributes);
}

TEST(DecodePod, KernelCachesAreThoseOfItsNamespaceAndOfTheClusterThatItsVolumesName) {
  const std::string own = cacheVolume(R"("csi.gkm.io/GKMCache": "own", "csi.gkm.io/namespace": "ml")");
  const std::string of_cluster = cacheVolume(R"("csi.gkm.io/GKMCache": "everybodys")");
  using Names = std::vector<std::string>;
  EXPECT_EQ(cachesOf(own + "," + of_cluster + "," + own), (Names{"everybodys", "ml/own"})) << "each once";
  EXPECT_EQ(cachesOf(own, true), Names{}) << "what only a placement asks";
  for (const auto& other :
       {cacheVolume(R"("csi.gkm.io/GKMCache": "a", "csi.gkm.io/namespace": "theirs")"),
        cacheVolume(R"("csi.gkm.io/GKMCache": "a", "csi.gkm.io/namespace": "")"),
        cacheVolume(R"("csi.gkm.io/GKMCache": "a", "csi.gkm.io/namespace": 7)"),
        cacheVolume(R"("csi.gkm.io/GKMCache": "")"), cacheVolume(R"("csi.gkm.io/GKMCache": ["a"])"),
        cacheVolume(R"("csi.gkm.io/GKMCache": ")" + std::string(254, 'a') + "\""), cacheVolume(""),
        cacheVolume(R"("csi.gkm.io/GKMCache": "a,b")"), cacheVolume(R"("csi.gkm.io/GKMCache": "a b")"),
        cacheVolume(R"("csi.gkm.io/GKMCache": "A")"), cacheVolume(R"("csi.gkm.io/GKMCache": "../a")"),
        cacheVolume(R"("csi.gkm.io/GKMCache": "a")", "other.io"), std::string{R"({"csi": []})"},
        std::string{"7"}}) {
    EXPECT_EQ(cachesOf(other), Names{}) << other;
  }
}

TEST(DecodePod, AnUnboundPodsGateIsSeen) {
  const auto has_gate = [](const std::string& volumes, const char* node = "") {
    return decodePod(
               parsed(fmt::format(R"({{"spec": {{"nodeName": "{}", "volumes": [{}]}}}})", node, volumes)))
        .has_gate;
  };
  const std::string gate = cacheVolume("", "gate.gpu.scheduling");
  EXPECT_TRUE(has_gate(gate));
  EXPECT_TRUE(has_gate(cacheVolume("") + "," + gate)) << "under any name, beside others";
  EXPECT_FALSE(has_gate(gate, "node-a")) << "what only a placement asks";
  EXPECT_FALSE(has_gate(""));
  EXPECT_FALSE(has_gate(R"({"name": "gpu-scheduling-gate", "emptyDir": {}})"));
  EXPECT_FALSE(has_gate(R"({"csi": []})"));
  EXPECT_FALSE(has_gate("7"));
}

TEST(DecodePod, OfVeryManyKernelCachesAFewAreKept) {
  std::string volumes;
  for (int i = 0; i < 1000; ++i) {
    volumes += (i == 0 ? "" : ",") + cacheVolume(fmt::format(R"("csi.gkm.io/GKMCache": "c{}")", i));
  }
  EXPECT_EQ(cachesOf(volumes).size(), 32U);
}

TEST(DecodePod, KeepsOnlyTheAnnotationsThatSomebodyReads) {
  EXPECT_EQ(decodePod(parsed(kPodText)).annotations,
            (std::map<std::string, std::string>{{"gpu.scheduling/claim", "four"},
                                                {"tencent.com/vcuda-core-limit", "50"},
                                                {"gpu-scheduling-map", ""}}));
}

TEST(DecodePod, SaysFromWhichCharactersItsNameWasGenerated) {
  const auto generated = [](const std::string& meta) {
    return static_cast<int>(decodePod(*json::parse(R"({"metadata":{)" + meta + "}}")).generated);
  };
  EXPECT_EQ(generated(R"("name":"sts-2","generateName":"sts-")"), 4);
  EXPECT_EQ(generated(R"("name":"sts-2")"), 0);
  EXPECT_EQ(generated(R"("name":"other-2","generateName":"sts-")"), 0) << "whoever made it wrote the name";
  EXPECT_EQ(generated(R"("name":")" + std::string(300, 'n') + R"(-2","generateName":")" +
                      std::string(300, 'n') + "\""),
            0)
      << "no name is so long";
}

TEST(DecodePod, ATolerationWithAnUnknownOperatorToleratesNothing) {
  EXPECT_EQ(decodePod(parsed(unboundPod())).tolerations,
            (std::vector<model::Toleration>{{"k", "v", "NoSchedule", false},
                                            {"", "", "", true},
                                            {"n", "5", "", false, model::Toleration::Than::Above},
                                            {"n", "9", "", false, model::Toleration::Than::Below}}));
}

TEST(DecodePod, AnEmptyObjectHasDefaults) {
  const model::Pod pod = decodePod(parsed("{}"));
  EXPECT_EQ(pod.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.phase, model::PodPhase::Pending);
  EXPECT_FALSE(pod.bound());
  EXPECT_EQ(pod.revision, 0U);
  EXPECT_EQ(decodePod(parsed("[1]")), pod);
  EXPECT_EQ(decodePod(parsed(R"({"metadata":5,"spec":"x","status":[]})")), pod);
}

TEST(DecodePod, AWrongTypeReadsAsAbsent) {
  const model::Pod pod = decodePod(parsed(R"({"metadata":{"name":7,"resourceVersion":"-3","annotations":
    {"gpu.scheduling/claim":5},"deletionTimestamp":null},"spec":{"priority":99999999999,"tolerations":{},
    "nodeName":[]}})"));
  EXPECT_EQ(pod.key.name, "");
  EXPECT_EQ(pod.revision, 0U);
  EXPECT_TRUE(pod.annotations.empty());
  EXPECT_FALSE(pod.deleting);
  EXPECT_EQ(pod.priority, INT32_MAX);
}

TEST(DecodePod, OneWithVeryLongListsIsNotPlacedByAPartOfThem) {
  const auto unsupported = [](const std::string& before, const char* entry, const char* after, int n) {
    return decodePod(parsed(R"({"spec":{)" + before + repeated(entry, n) + after + "}}")).unsupported;
  };
  const std::string requests = R"("containers":[{"resources":{"requests":{)";
  EXPECT_TRUE(unsupported(R"("tolerations":[)", R"({"key":"k@"})", "]", 256).empty());
  EXPECT_EQ(unsupported(R"("tolerations":[)", R"({"key":"k@"})", "]", 257),
            std::vector<std::string>{"spec.tolerations with more than 256 entries (257)"});
  EXPECT_EQ(unsupported(R"("nodeSelector":{)", R"("k@":"v")", "}", 300),
            std::vector<std::string>{"spec.nodeSelector with more than 256 entries (300)"});
  EXPECT_EQ(unsupported(requests, R"("a.b/k@":"1")", "}}}]", 257),
            std::vector<std::string>{"spec.containers[].resources with more than 256 entries (257)"});
  EXPECT_EQ(unsupported(requests, R"("a.b/k@":"x")", "}}}]", 100).size(), 16U) << "enough to know";
}

TEST(DecodePod, OneThatRunsCountsNoMoreKindsThanANodeCanOfferButItsGpusAlways) {
  const std::string many = repeated(R"("a.b/k@":"1")", 300) + R"(,"nvidia.com/gpu":"2")";
  const model::Pod pod = decodePod(
      parsed(R"({"spec":{"nodeName":"n","containers":[{"resources":{"requests":{)" + many + "}}}]}}"));
  EXPECT_EQ(pod.requests.extended.size(), 257U);
  EXPECT_EQ(pod.requests.get(model::kNvidiaGpu), 2);
  EXPECT_EQ(pod.requests.get("a.b/k0"), 1);
}

TEST(DecodePod, DeletingAgentAndUnschedulable) {
  const model::Pod pod = decodePod(parsed(R"({"metadata":{"deletionTimestamp":"2025-06-15T15:06:40Z",
    "labels":{"app":"gpu-scheduler-agent"}},"status":{"conditions":[{"type":"PodScheduled","status":"False",
    "reason":"Unschedulable","message":"no","lastTransitionTime":"2025-06-15T15:06:40Z"}]}})"));
  EXPECT_TRUE(pod.deleting);
  EXPECT_TRUE(pod.is_agent);
  EXPECT_EQ(pod.scheduled, (model::ScheduledCondition{"False", "Unschedulable", "no"}));
  EXPECT_EQ(pod.bound_at, Wall{});
}

struct UnsupportedCase {
  const char* name;
  const char* spec;
  std::vector<std::string> paths;
};
class PodUnsupported : public testing::TestWithParam<UnsupportedCase> {};
TEST_P(PodUnsupported, NamesTheField) {
  EXPECT_EQ(decodePod(parsed("{\"spec\":" + std::string{GetParam().spec} + "}")).unsupported,
            GetParam().paths);
}
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
INSTANTIATE_TEST_SUITE_P(
    Table, PodUnsupported,
    testing::Values(
        UnsupportedCase{"NodeAffinity",
                        R"({"affinity":{"nodeAffinity":{")" REQUIRED R"(":{"nodeSelectorTerms":[{}]}}}})",
                        {}},
        UnsupportedCase{
            "PodAffinity", R"({"affinity":{"podAffinity":{")" REQUIRED R"(":[{"topologyKey":"x"}]}}})", {}},
        UnsupportedCase{
            "PodAntiAffinity", R"({"affinity":{"podAntiAffinity":{")" REQUIRED R"(":[{}]}}})", {}},
        UnsupportedCase{"PodAffinityOperator",
                        R"({"affinity":{"podAffinity":{")" REQUIRED
                        R"(":[{"labelSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}]}}})",
                        {"spec.affinity.podAffinity with an unknown operator"}},
        UnsupportedCase{"PreferencesOnly",
                        R"({"affinity":{"nodeAffinity":{")" PREFERRED R"(":[{}]},"podAffinity":{")" PREFERRED
                        R"(":[{}]},"podAntiAffinity":{")" PREFERRED R"(":[{}],")" REQUIRED R"(":[]}}})",
                        {}},
        UnsupportedCase{
            "Spread", R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]})", {}},
        UnsupportedCase{"SpreadOperator",
                        R"({"topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[
                        {"key":"a","operator":"Like"}]}}]})",
                        {"spec.topologySpreadConstraints with an unknown operator"}},
        UnsupportedCase{
            "SoftSpread", R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}]})", {}},
        UnsupportedCase{
            "Volumes",
            R"({"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"x"}},{"ephemeral":{}},
                        {"configMap":{}},{"emptyDir":{}},{"projected":{}},{"hostPath":{}},{"iscsi":{}}]})",
            {}},
        UnsupportedCase{"HostPort", R"({"containers":[{"ports":[{"hostPort":80}]}]})", {}},
        UnsupportedCase{"ResourceClaims", R"({"resourceClaims":[{"name":"x"}]})", {}},
        UnsupportedCase{"PodLevel", R"({"resources":{"requests":{"cpu":"1"}}})", {}},
        UnsupportedCase{"NodeName", R"({"nodeName":"n"})", {}},
        UnsupportedCase{"Quantity",
                        R"({"containers":[{"resources":{"requests":{"cpu":"lots"}}}]})",
                        {"spec.containers[0].resources.requests.cpu"}}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(DecodePod, KnowsItsResourceClaims) {
  const model::Pod pod = decodePod(parsed(R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[
      {"name":"named","resourceClaimName":"shared-nic"},{"name":"again","resourceClaimName":"shared-nic"},
      {"name":"made","resourceClaimTemplateName":"gpus"},
      {"name":"not-yet","resourceClaimTemplateName":"gpus"},
      {"name":"needless","resourceClaimTemplateName":"gpus"}]},
    "status":{"resourceClaimStatuses":[{"name":"made","resourceClaimName":"p-made-x7f"},
      {"name":"named","resourceClaimName":"nonsense"},{"name":"needless"}]}})"));
  const std::vector<model::PodClaim> expected{
      {"named", "shared-nic", false}, {"made", "p-made-x7f", true}, {"not-yet", "", true}};
  EXPECT_EQ(pod.claims, expected);
  EXPECT_TRUE(pod.unsupported.empty());
}

TEST(DecodePod, OneWithTooManyResourceClaimsIsNotPlaced) {
  std::string claims;
  for (int i = 0; i < 300; ++i) {
    claims += fmt::format(R"({}{{"name":"c{}","resourceClaimName":"x{}"}})", i == 0 ? "" : ",", i, i);
  }
  const model::Pod pod = decodePod(parsed(R"({"spec":{"resourceClaims":[)" + claims + "]}}"));
  EXPECT_EQ(pod.unsupported,
            std::vector<std::string>{"spec.resourceClaims with more than 256 entries (300)"});
}

TEST(DecodePod, OneOfResourceClaimsWaitsForDevicesUntilItsContainersCanStart) {
  const std::string pod =
      R"({"spec":{"nodeName":"n","resourceClaims":[{"name":"a","resourceClaimName":"b"}]},)";
  const auto waits = [&](const std::string& status) {
    return decodePod(parsed(pod + R"("status":)" + status + "}")).awaits_devices;
  };
  EXPECT_TRUE(waits(R"({"phase":"Pending","startTime":"2026-01-01T00:00:00Z"})"));
  EXPECT_FALSE(waits(R"({"phase":"Pending"})"));
  EXPECT_FALSE(waits(R"({"phase":"Pending","startTime":"2026-01-01T00:00:00Z",
      "conditions":[{"type":"PodReadyToStartContainers","status":"True"}]})"));
}

TEST(DecodePod, LimitsOfSharesAreReadOfContainersAndInitContainers) {
  const auto podWith = [](const std::string& lists) {
    return decodePod(parsed(R"({"metadata":{"name":"p","uid":"u"},"spec":{)" + lists + "}}"));
  };
  constexpr const char* kShare =
      R"("resources":{"limits":{"tencent.com/vcuda-core":"50","tencent.com/vcuda-memory":8}})";
  const model::Pod both =
      podWith(std::string{R"("initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always",)"} +
              kShare + R"(}],"containers":[{"name":"c",)" + kShare + R"(},{"name":"d"}])");
  EXPECT_EQ(both.share_limits, (std::vector<model::ShareAmounts>{{50, 8}, {0, 0}}));
  EXPECT_EQ(both.init_share_limits, (std::vector<model::InitShares>{{{0, 0}, false}, {{50, 8}, true}}));
  const model::Pod alone = podWith(std::string{R"("initContainers":[{"name":"i",)"} + kShare +
                                   R"(}],"containers":[{"name":"c"}])");
  EXPECT_EQ(alone.share_limits, (std::vector<model::ShareAmounts>{{0, 0}}));
  EXPECT_EQ(alone.init_share_limits, (std::vector<model::InitShares>{{{50, 8}, false}}));
  const model::Pod none = podWith(R"("initContainers":[{"name":"i"}],"containers":[{"name":"c"}])");
  EXPECT_TRUE(none.share_limits.empty());
  EXPECT_TRUE(none.init_share_limits.empty());
}

/// Volcano's two annotations, the first of them first, and the label of the coscheduling plugin;
/// of pods with shares.
TEST(DecodePod, TheGangIsThePodGroupThatItNames) {
  const auto gangOf = [](const std::string& meta, const char* resource, const char* node) {
    return decodePod(parsed(R"({"metadata":{"name":"p","uid":"u",)" + meta +
                            R"(},"spec":{"containers":[{"name":"c","resources":{"limits":{")" + resource +
                            R"(":"50"}}}],"nodeName":")" + node + R"("}})"))
        .gang;
  };
  constexpr const char* kCore = "tencent.com/vcuda-core";
  const std::string first =
      R"("annotations":{"scheduling.volcano.sh/group-name":"b","scheduling.k8s.io/group-name":"a"})";
  EXPECT_EQ(gangOf(first, kCore, ""), "a");
  EXPECT_EQ(gangOf(R"("annotations":{"scheduling.volcano.sh/group-name":"b"})", kCore, ""), "b");
  EXPECT_EQ(gangOf(R"("labels":{"scheduling.x-k8s.io/pod-group":"c"})", kCore, ""), "c");
  EXPECT_EQ(gangOf(R"("labels":{"app":"x"})", kCore, ""), "");
  EXPECT_EQ(gangOf(first, kCore, "n"), "a") << "so Volcano asks to allocate";
  EXPECT_EQ(gangOf(first, "cpu", ""), "");
}

}  // namespace
}  // namespace gs::kapi
