#include "webhook/pod_mutation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace gs::webhook {
namespace {

using json::Value;

Value parsed(const char* text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : Value{};
}

/// The pod of that spec: `containers` and the like, as JSON members.
Value podOf(const char* annotations, const std::string& members, const char* name = "sts-2") {
  return parsed(fmt::format(R"({{"metadata":{{"name":"{}","generateName":"sts-","annotations":{}}},)"
                            R"("spec":{{"schedulerName":"gpu-scheduler",{}}}}})",
                            name, annotations, members)
                    .c_str());
}

constexpr const char* kByClaim = R"({"gpu.scheduling/claim":"one"})";
constexpr const char* kByMap = R"({"gpu-scheduling-map":"0=node1:0,1\n2=node3:0,1,2"})";
const PodRules kNoOrder{.schedulers = {"gpu-scheduler"}, .device_order = ""};

std::string patchOf(const Value& pod, const PodRules& rules = {}, const LimitOf& limit_of = {}) {
  const admission::Verdict verdict = mutatePod(pod, "default", rules, limit_of);
  EXPECT_TRUE(verdict.allowed);
  for (const auto& warning : verdict.warnings) {  // of a list of GPUs of its own, which says something else
    EXPECT_NE(warning.find(" CUDA_VISIBLE_DEVICES"), std::string::npos) << warning;
  }
  return verdict.patch;
}

#define REFERENCE                                                                                \
  R"({"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations)" \
  R"(['gpu.scheduling/visible-devices']"}}})"
#define ORDER R"({"name":"CUDA_DEVICE_ORDER","value":"PCI_BUS_ID"})"

TEST(PodMutation, AMapPodGetsWhatItsMapSays) {
  const Value pod =
      podOf(kByMap, R"("containers":[{"name":"a"},{"name":"b","env":[{"name":"X","value":"1"}]},)"
                    R"({"name":"c","env":[{"name":"CUDA_VISIBLE_DEVICES","value":"9"}]}])");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"add","path":"/spec/containers/0/env","value":[{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}]},)"
            R"({"op":"add","path":"/spec/containers/1/env/0","value":{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0/value","value":"0,1,2"}])");
}

TEST(PodMutation, AClaimPodReadsItsAnnotation) {
  const Value pod =
      podOf(kByClaim, R"("containers":[{"name":"a"},{"name":"b","env":[{"name":"X","value":"1"}]},)"
                      R"({"name":"c","env":[{"name":"CUDA_VISIBLE_DEVICES","value":"9"},{"name":"X"}]}])");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE R"(]},)"
            R"({"op":"add","path":"/spec/containers/1/env/0","value":)" REFERENCE R"(},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0","value":)" REFERENCE R"(}])");
}

/// Whoever wrote one wanted other GPUs, perhaps.
TEST(PodMutation, OfAListOfGpusOfItsOwnKubectlWarns) {
  const auto warningsOf = [](const char* annotations, const char* env) {
    const Value pod = podOf(annotations, fmt::format(R"("containers":[{{"name":"a","env":{}}}])", env));
    return mutatePod(pod, "default", PodRules{}, {}).warnings;
  };
  constexpr const char* kNine = R"([{"name":"CUDA_VISIBLE_DEVICES","value":"9"}])";
  for (const char* annotations : {kByClaim, kByMap}) {
    EXPECT_EQ(
        warningsOf(annotations, kNine),
        std::vector<std::string>{"container a sets CUDA_VISIBLE_DEVICES=\"9\", replaced by the GPUs that the "
                                 "pod gets; leave it out"});
    EXPECT_TRUE(warningsOf(annotations, R"([{"name":"A","value":"9"}])").empty());
  }
  EXPECT_TRUE(warningsOf(kByClaim, "[" REFERENCE "]").empty());
  EXPECT_TRUE(warningsOf(kByMap, R"([{"name":"CUDA_VISIBLE_DEVICES","value":"0,1,2"}])").empty());
}

struct EnvCase {
  const char* name;
  const char* env;   // of the only container: "" none
  const char* want;  // the patch's operations
};

#define ADD(AT, WHAT) R"({"op":"add","path":"/spec/containers/0/env/)" AT R"(","value":)" WHAT "}"
#define REPLACE(AT, WHAT) R"({"op":"replace","path":"/spec/containers/0/env/)" AT R"(","value":)" WHAT "}"
#define REMOVE(AT) R"({"op":"remove","path":"/spec/containers/0/env/)" AT R"("})"
#define ADD_BOTH ADD("0", REFERENCE) "," ADD("1", ORDER)

/// First, so that the container's own may refer to them; those keep their order among themselves.
TEST(PodMutation, OursStandBeforeAllOtherEntriesOfAContainer) {
  const EnvCase cases[] = {
      {"none", "", R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"an empty list", "[]",
       R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"null", "null", R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"one that refers to ours", R"x([{"name":"A","value":"$(CUDA_VISIBLE_DEVICES)"}])x", ADD_BOTH},
      {"the order that we would set", "[" ORDER "]", REMOVE("0") "," ADD_BOTH},
      {"a reference of the user's",
       R"([{"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])",
       REPLACE("0", REFERENCE) "," ADD("1", ORDER)},
      {"three times",
       R"([{"name":"CUDA_VISIBLE_DEVICES","value":"0"},{"name":"A"},{"name":"CUDA_VISIBLE_DEVICES",)"
       R"("value":"1"},)"
       R"({"name":"B"},{"name":"CUDA_VISIBLE_DEVICES"},)" ORDER "]",
       REPLACE("0", REFERENCE) "," REMOVE("5") "," REMOVE("4") "," REMOVE("2") "," ADD("1", ORDER)},
      {"all there", "[" REFERENCE "," ORDER R"(,{"name":"A"}])", ""},
      {"all there, the other way round", "[" ORDER "," REFERENCE "]",
       REMOVE("1") "," REMOVE("0") "," ADD_BOTH},
      {"all there, behind another", R"([{"name":"A"},)" REFERENCE "," ORDER "]",
       REMOVE("2") "," REMOVE("1") "," ADD_BOTH},
      {"all there, as a server writes it",
       R"([{"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
       R"("fieldPath":"metadata.annotations['gpu.scheduling/visible-devices']"}}},)" ORDER "]",
       ""},
      {"the first is right", "[" REFERENCE R"(,{"name":"A"}])", ADD("1", ORDER)},
      {"the second is behind another", "[" REFERENCE R"(,{"name":"A"},)" ORDER "]",
       REMOVE("2") "," ADD("1", ORDER)},
      {"both in their places, and wrong",
       R"([{"name":"CUDA_VISIBLE_DEVICES","value":"0"},{"name":"CUDA_DEVICE_ORDER","valueFrom":{}}])",
       REPLACE("0", REFERENCE) "," REPLACE("1", ORDER)},
      {"ours, and again behind it", "[" REFERENCE "," ORDER R"(,{"name":"CUDA_VISIBLE_DEVICES","value":""}])",
       REMOVE("2")},
      {"nonsense", R"([7,"x",{"name":5}])", ADD_BOTH},
  };
  for (const EnvCase& c : cases) {
    const std::string env = *c.env == '\0' ? "" : std::string{R"(,"env":)"} + c.env;
    const Value pod = podOf(kByClaim, R"("containers":[{"name":"a")" + env + "}]");
    EXPECT_EQ(mutatePod(pod, "", {}).patch, *c.want == '\0' ? "" : std::string{"["} + c.want + "]") << c.name;
  }
}

/// What the entry with that value or valueFrom gets, and what whoever creates the pod is told.
admission::Verdict withOrder(const std::string& value, const char* how = kByClaim,
                             const PodRules& rules = {}) {
  return mutatePod(
      podOf(how, R"("containers":[{"name":"a","env":[{"name":"CUDA_DEVICE_ORDER",)" + value + "}]}]"),
      "default", rules);
}

/// The ids that are told count GPUs in one order; CUDA would count them in the user's.
TEST(PodMutation, AnOrderInWhichIdsMeanOtherGpusIsReplacedAndSaid) {
  const std::string want = std::string{"["} + REMOVE("0") + "," + ADD_BOTH + "]";
  for (const char* value :
       {R"("value":"FASTEST_FIRST")", R"("value":"pci_bus_id")", R"("value":"")", R"x("value":"$(ORDER)")x",
        R"("x":1)", R"("valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}})",
        R"("value":"PCI_BUS_ID","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}})"}) {
    const admission::Verdict verdict = withOrder(value);
    EXPECT_EQ(verdict.patch, want) << value;
    EXPECT_EQ(verdict.warnings.size(), 1U) << value;
    EXPECT_EQ(withOrder(value, kByMap).warnings, verdict.warnings) << value;
    EXPECT_TRUE(withOrder(value, kByClaim, kNoOrder).warnings.empty()) << "--device-order= leaves it alone";
    EXPECT_EQ(withOrder(value, kByClaim, kNoOrder).patch, std::string{"["} + ADD("0", REFERENCE) + "]");
  }
  EXPECT_EQ(withOrder(R"("value":"FASTEST_FIRST")").warnings.at(0),
            "container a sets CUDA_DEVICE_ORDER=\"FASTEST_FIRST\", replaced by \"PCI_BUS_ID\": ids in "
            "CUDA_VISIBLE_DEVICES are of that order, and would mean other pods' GPUs; leave it out");
  EXPECT_EQ(withOrder(R"("valueFrom":{})").warnings.at(0).substr(0, 66),
            "container a sets CUDA_DEVICE_ORDER by valueFrom, replaced by \"PCI_");
  EXPECT_TRUE(withOrder(R"("value":"PCI_BUS_ID")").warnings.empty());
  EXPECT_TRUE(withOrder(R"("value":"FASTEST_FIRST")", kByClaim,
                        {.schedulers = {"gpu-scheduler"}, .device_order = "FASTEST_FIRST"})
                  .warnings.empty());
}

TEST(PodMutation, AllContainersWhoseOrderIsReplacedAreOneWarning) {
  const std::string long_name(80, 'n');
  const std::string fastest =
      R"("env":[{"name":"CUDA_DEVICE_ORDER","value":")" + std::string(80, 'V') + "\"}]";
  const std::string one = R"({"name":")" + long_name + "\"," + fastest + "}";
  const Value pod = podOf(kByClaim, R"("initContainers":[{},)" + one + R"(],"containers":[)" + one + "," +
                                        one + R"(,{"name":"b"}])");
  const auto warnings =
      mutatePod(pod, "default", {.schedulers = {"gpu-scheduler"}, .device_order = std::string(80, 'O')})
          .warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_LE(warnings[0].size(), 256U);
  EXPECT_NE(warnings[0].find(std::string(63, 'n') + " and 2 more"), std::string::npos) << warnings[0];
}

/// The last entry of a name is the one that counts.
TEST(PodMutation, AnOrderThatALaterEntryPutsRightIsNotSaid) {
  const auto warnings = [](const char* env) {
    return mutatePod(podOf(kByClaim, R"("containers":[{"name":"a","env":)" + std::string{env} + "}]"), "", {})
        .warnings.size();
  };
  EXPECT_EQ(warnings(R"([{"name":"CUDA_DEVICE_ORDER","value":"FASTEST_FIRST"},)" ORDER "]"), 0U);
  EXPECT_EQ(warnings("[" ORDER R"(,{"name":"CUDA_DEVICE_ORDER","value":"FASTEST_FIRST"}])"), 1U);
}

/// Ids count all GPUs of the node; where a container is shown some of them, it counts those from 0.
TEST(PodMutation, WhoPicksGpusItselfIsWarned) {
  const auto warnings = [](const std::string& entry, const char* how = kByClaim) {
    return mutatePod(podOf(how, R"("containers":[{"name":"a","env":[{)" + entry + "}]}]"), "", {}).warnings;
  };
  for (const char* name :
       {"NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    const std::string named = std::string{R"("name":")"} + name + "\",";
    for (const char* value : {R"("value":"2")", R"("value":"GPU-1,GPU-2")", R"x("value":"$(MINE)")x",
                              R"("valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}})"}) {
      const auto said = warnings(named + value);
      ASSERT_EQ(said.size(), 1U) << name << value;
      EXPECT_LE(said[0].size(), 256U);
      EXPECT_NE(said[0].find(std::string{"container a sets "} + name), std::string::npos) << said[0];
    }
    for (const char* value :
         {R"("value":"all")", R"("value":"none")", R"("value":"void")", R"("value":"")", R"("x":1)"}) {
      EXPECT_TRUE(warnings(named + value).empty()) << name << value;
    }
    const std::vector<std::string> same = {
        R"x("value":"$(CUDA_VISIBLE_DEVICES)")x",
        R"("valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['gpu.scheduling/visible-devices']"}})"};
    for (const auto& value : same) {
      const auto said = warnings(named + value);
      ASSERT_EQ(said.size(), 1U) << name << value;
      EXPECT_EQ(said[0],
                "container a sets " + std::string{name} +
                    " to what CUDA_VISIBLE_DEVICES says: where that is ids and not UUIDs, it is shown "
                    "those GPUs counted from 0, and the ids then mean others, or none; leave it out");
      EXPECT_LE(said[0].size(), 256U);
    }
    EXPECT_TRUE(warnings(named + R"("value":"0,1,2")", kByMap).empty()) << "what its map says, from 0";
    EXPECT_TRUE(warnings(named + same[0], kByMap).empty()) << "the same";
    EXPECT_EQ(warnings(named + R"("value":"1,2")", R"({"gpu-scheduling-map":"2=node1:1,2"})").size(), 1U);
  }
  EXPECT_EQ(warnings(R"("name":"NVIDIA_VISIBLE_DEVICES","value":"2")").at(0),
            "container a sets NVIDIA_VISIBLE_DEVICES: the GPUs that it shows are counted from 0, so the ids "
            "in CUDA_VISIBLE_DEVICES may mean other pods' GPUs; leave it out");
}

TEST(PodMutation, OfAMapOnlyAPlainValueIsReplacedInItsPlace) {
  const Value pod = podOf(kByMap, R"("containers":[{"env":[{"name":"CUDA_VISIBLE_DEVICES"}]},)"
                                  R"({"env":[{"name":"CUDA_VISIBLE_DEVICES","value":"0,1,2"}]},)"
                                  R"({"env":[{"name":"CUDA_VISIBLE_DEVICES","value":"","valueFrom":{}}]}])");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"replace","path":"/spec/containers/0/env/0","value":{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0","value":{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}}])");
}

TEST(PodMutation, AnEmptyValueThatAServerLeftOutIsWhatTheMapSays) {
  constexpr const char* kNone = R"({"gpu-scheduling-map":"2=node1:"})";
  EXPECT_EQ(patchOf(podOf(kNone, R"("containers":[{"env":[{"name":"CUDA_VISIBLE_DEVICES"}]}])"), kNoOrder),
            "");
  EXPECT_EQ(patchOf(podOf(kNone, R"("containers":[{"env":[{"name":"CUDA_VISIBLE_DEVICES","value":""}]}])"),
                    kNoOrder),
            "");
  EXPECT_NE(patchOf(podOf(kNone, R"("containers":[{"env":[{"name":"CUDA_VISIBLE_DEVICES","value":"1"}]}])"),
                    kNoOrder),
            "");
}

TEST(PodMutation, InitContainersAndSidecarsToo) {
  const Value pod =
      podOf(kByClaim, R"("initContainers":[{"name":"side","restartPolicy":"Always"}],"containers":[{}])");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"add","path":"/spec/initContainers/0/env","value":[)" REFERENCE R"(]},)"
            R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE R"(]}])");
}

/// kubectl debug adds one at a time; those that are there can no longer be changed.
TEST(PodMutation, ContainersThatComeLaterAreToldToo) {
  const Value old = podOf(kByClaim, R"("containers":[{"name":"a"}],"ephemeralContainers":[{"name":"d1"}])");
  const Value pod = podOf(kByClaim, R"("containers":[{"name":"a"}],"ephemeralContainers":[{"name":"d1"},)"
                                    R"({"name":"d2","env":[{"name":"CUDA_DEVICE_ORDER","value":"X"}]}])");
  const admission::Verdict verdict = mutateLateContainers(pod, old, {});
  EXPECT_EQ(verdict.patch, R"([{"op":"remove","path":"/spec/ephemeralContainers/1/env/0"},)"
                           R"({"op":"add","path":"/spec/ephemeralContainers/1/env/0","value":)" REFERENCE
                           R"(},{"op":"add","path":"/spec/ephemeralContainers/1/env/1","value":)" ORDER "}]");
  ASSERT_EQ(verdict.warnings.size(), 1U);
  EXPECT_EQ(verdict.warnings[0].substr(0, 17), "container d2 sets");
  EXPECT_EQ(mutateLateContainers(pod, pod, {}).patch, "");
  EXPECT_NE(mutateLateContainers(pod, Value{}, {}).patch.find("ephemeralContainers/0"), std::string::npos);
  const Value mapped = podOf(kByMap, R"("ephemeralContainers":[{"name":"d"}])");
  EXPECT_EQ(
      mutateLateContainers(mapped, Value{}, kNoOrder).patch,
      R"([{"op":"add","path":"/spec/ephemeralContainers/0/env","value":[{"name":"CUDA_VISIBLE_DEVICES",)"
      R"("value":"0,1,2"}]}])");
  EXPECT_EQ(mutateLateContainers(podOf("{}", R"("ephemeralContainers":[{"name":"d"}])"), Value{}, {}).patch,
            "");
  const Value edited = podOf(R"({"gpu-scheduling-map":"2=node1:7","gpu.scheduling/visible-devices":"1"})",
                             R"("nodeName":"node1","ephemeralContainers":[{"name":"d"}])");
  EXPECT_EQ(mutateLateContainers(edited, Value{}, kNoOrder).patch,
            R"([{"op":"add","path":"/spec/ephemeralContainers/0/env","value":[)"
            R"({"name":"CUDA_VISIBLE_DEVICES","value":"1"}]}])")
      << "what it was given, whatever its map says now";
}

TEST(PodMutation, WhoAsksForNothingOfOursIsNotTouched) {
  const char* container = R"("containers":[{}])";
  EXPECT_EQ(patchOf(podOf("{}", container)), "");
  EXPECT_EQ(patchOf(podOf("null", container)), "");
  EXPECT_EQ(patchOf(parsed("{}")), "");
  EXPECT_EQ(patchOf(parsed("[]")), "");
  EXPECT_EQ(patchOf(podOf(kByMap, container, "sts-5")), "") << "no such index";
  EXPECT_EQ(patchOf(podOf(kByMap, container, "")), "") << "no name yet";
}

TEST(PodMutation, AClaimThatNobodyReadsIsWarnedOf) {
  Value pod = podOf(kByClaim, R"("containers":[{}])");
  pod.child("spec").set("schedulerName", "default-scheduler");
  const admission::Verdict verdict = mutatePod(pod, "default", {});
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.patch, "");
  ASSERT_EQ(verdict.warnings.size(), 1U);
  EXPECT_EQ(verdict.warnings[0],
            "annotation gpu.scheduling/claim is read on pods with spec.schedulerName gpu-scheduler only; "
            "this pod has "
            "'default-scheduler', so it gets no GPUs by its claim");
  EXPECT_LE(verdict.warnings[0].size(), 256U);
  pod.child("spec").set("schedulerName", std::string(253, 'x'));
  EXPECT_LE(mutatePod(pod, "default", {}).warnings.at(0).size(), 256U);
  EXPECT_EQ(mutatePod(pod, "default", {.schedulers = {std::string(253, 'x')}}).warnings.size(), 0U);

  Value by_map = podOf(kByMap, R"("containers":[{}])");
  by_map.child("spec").set("schedulerName", "other");
  EXPECT_EQ(mutatePod(by_map, "default", {}).warnings.size(), 0U);
  EXPECT_EQ(mutatePod(by_map, "default", {}).patch, "");
}

TEST(PodMutation, WhoAsksInTwoWaysIsWarned) {
  const Value pod =
      podOf(R"({"gpu.scheduling/claim":"one","gpu-scheduling-map":"2=n:0"})", R"("containers":[{}])");
  const admission::Verdict verdict = mutatePod(pod, "default", {});
  EXPECT_EQ(verdict.patch, "");
  ASSERT_EQ(verdict.warnings.size(), 1U);
  EXPECT_EQ(
      verdict.warnings[0],
      "the pod asks for GPUs by annotation gpu.scheduling/claim and by annotation gpu-scheduling-map: it "
      "gets none; delete it and create it again without one of them");
}

TEST(PodMutation, LimitsAreAddedToTheFirstContainerOnce) {
  const LimitOf two = [](std::string_view ns, std::string_view claim) {
    return ns == "default" && claim == "one" ? std::optional<std::int64_t>{2} : std::nullopt;
  };
  const struct {
    const char* containers;
    const char* want;
  } cases[] = {
      {R"([{},{}])",
       R"({"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"nvidia.com/gpu":"2"}}})"},
      {R"([{"resources":{}}])",
       R"({"op":"add","path":"/spec/containers/0/resources/limits","value":{"nvidia.com/gpu":"2"}})"},
      {R"([{"resources":{"limits":{"cpu":"1"}}}])",
       R"({"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu","value":"2"})"},
      {R"([{},{"resources":{"limits":{"nvidia.com/gpu":"1"}}}])", ""},
      {R"([{},{"resources":{"requests":{"nvidia.com/gpu":"1"}}}])", ""},
      {R"([])", ""},
  };
  for (const auto& c : cases) {
    const Value pod = podOf(kByClaim, std::string{R"("containers":)"} + c.containers);
    const std::string patch = patchOf(pod, {}, two);
    const auto at = patch.find(R"({"op":"add","path":"/spec/containers/0/resources)");
    EXPECT_EQ(at == std::string::npos ? "" : patch.substr(at, patch.size() - at - 1), c.want) << c.containers;
    EXPECT_EQ(patchOf(pod).find("nvidia.com"), std::string::npos) << "not without a limit";
  }
}

TEST(PodMutation, FiveHundredContainersAreOnePatch) {
  std::string containers;
  for (int i = 0; i < 500; ++i) { containers += std::string{i > 0 ? "," : ""} + R"({"env":[{"name":"A"}]})"; }
  const auto operations = json::parse(patchOf(podOf(kByClaim, "\"containers\":[" + containers + "]")));
  ASSERT_TRUE(operations.has_value());
  EXPECT_EQ(operations->items().size(), 1000U);
  EXPECT_EQ(operations->at(999)["path"].str(), "/spec/containers/499/env/1");
}

std::string containersOf(int count, const char* each) {
  std::string out = "\"containers\":[";
  for (int i = 0; i < count; ++i) { out += std::string{i > 0 ? "," : ""} + each; }
  return out + "]";
}

TEST(PodMutation, OfVeryManyContainersNoneIsTold) {
  for (const char* how : {kByClaim, kByMap}) {
    EXPECT_NE(patchOf(podOf(how, containersOf(999, "{}") + R"(,"initContainers":[{}])")), "");
    const admission::Verdict more =
        mutatePod(podOf(how, containersOf(1'000, "{}") + R"(,"initContainers":[{}])"), "", {});
    EXPECT_TRUE(more.allowed);
    EXPECT_EQ(more.patch, "");
    EXPECT_EQ(more.warnings,
              (std::vector<std::string>{
                  "the pod has 1001 containers, more than 1000: its containers are left as they are, and are "
                  "not told their GPUs by CUDA_VISIBLE_DEVICES"}));
  }
}

TEST(PodMutation, APatchHasAnEnd) {
  std::string env = R"({"env":[{"name":"CUDA_VISIBLE_DEVICES"})";
  for (int i = 0; i < 20; ++i) { env += R"(,{"name":"CUDA_VISIBLE_DEVICES","value":"0"})"; }
  const admission::Verdict verdict =
      mutatePod(podOf(kByClaim, containersOf(1'000, (env + "]}").c_str())), "", {});
  EXPECT_EQ(verdict.patch, "");
  ASSERT_EQ(verdict.warnings.size(), 1U);
  EXPECT_EQ(
      verdict.warnings[0],
      "the pod has entries of env that take more than 1048576 bytes to put right: its containers are left "
      "as they are, and are not told their GPUs by CUDA_VISIBLE_DEVICES");
  EXPECT_LE(verdict.warnings[0].size(), 256U);
}

TEST(PodMutation, WhatAMapSaysIsWrittenOnlyWhereItCouldBeGiven) {
  const auto patchFor = [](const std::string& gpus, const char* name = "sts-2") {
    const Value map = Value{json::Object{{"gpu-scheduling-map", "2=n:" + gpus}}};
    return patchOf(podOf(json::print(map).c_str(), R"("containers":[{}])", name));
  };
  EXPECT_NE(patchFor("0, 1"), "");
  EXPECT_NE(patchFor(""), "") << "none";
  EXPECT_EQ(patchFor("all"), "");
  EXPECT_EQ(patchFor("0,0"), "");
  EXPECT_EQ(patchFor(std::string(250'000, '0')), "");
}

TEST(PodMutation, TheOrdinalMayFollowWhatTheNameIsGeneratedFrom) {
  const Value pod = parsed(R"({"metadata":{"name":"sts7","generateName":"sts","annotations":)"
                           R"({"gpu-scheduling-map":"7=n:3"}},"spec":{"schedulerName":"gpu-scheduler",)"
                           R"("containers":[{}]}})");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"add","path":"/spec/containers/0/env","value":[{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"3"}]}])");
}

TEST(PodMutation, WarningsEndBetweenCharacters) {
  Value pod = podOf(kByClaim, R"("containers":[{}])");
  pod.child("spec").set("schedulerName", std::string(62, 'x') + "\u20ac");
  EXPECT_NE(mutatePod(pod, "default", {}).warnings.at(0).find("'" + std::string(62, 'x') + "'"),
            std::string::npos);
}

}  // namespace
}  // namespace gs::webhook
