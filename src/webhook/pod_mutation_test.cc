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
  EXPECT_TRUE(verdict.warnings.empty());
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
            R"({"op":"add","path":"/spec/containers/1/env/-","value":{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0/value","value":"0,1,2"}])");
}

TEST(PodMutation, AClaimPodReadsItsAnnotation) {
  const Value pod =
      podOf(kByClaim, R"("containers":[{"name":"a"},{"name":"b","env":[{"name":"X","value":"1"}]},)"
                      R"({"name":"c","env":[{"name":"CUDA_VISIBLE_DEVICES","value":"9"},{"name":"X"}]}])");
  EXPECT_EQ(patchOf(pod, kNoOrder),
            R"([{"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE R"(]},)"
            R"({"op":"add","path":"/spec/containers/1/env/-","value":)" REFERENCE R"(},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0","value":)" REFERENCE R"(}])");
}

struct EnvCase {
  const char* name;
  const char* env;   // of the only container: "" none
  const char* want;  // the patch's operations
};

TEST(PodMutation, OfTheEntriesOfAContainerOnlyOursChange) {
  const EnvCase cases[] = {
      {"none", "", R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"an empty list", "[]",
       R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"null", "null", R"({"op":"add","path":"/spec/containers/0/env","value":[)" REFERENCE "," ORDER "]}"},
      {"the order is the user's", R"([{"name":"CUDA_DEVICE_ORDER","value":"FASTEST_FIRST"}])",
       R"({"op":"add","path":"/spec/containers/0/env/-","value":)" REFERENCE "}"},
      {"a reference of the user's",
       R"([{"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])",
       R"({"op":"replace","path":"/spec/containers/0/env/0","value":)" REFERENCE
       R"(},{"op":"add","path":"/spec/containers/0/env/-","value":)" ORDER "}"},
      {"three times",
       R"([{"name":"CUDA_VISIBLE_DEVICES","value":"0"},{"name":"A"},{"name":"CUDA_VISIBLE_DEVICES",)"
       R"("value":"1"},)"
       R"({"name":"B"},{"name":"CUDA_VISIBLE_DEVICES"},)" ORDER "]",
       R"({"op":"replace","path":"/spec/containers/0/env/0","value":)" REFERENCE
       R"(},{"op":"remove","path":"/spec/containers/0/env/4"},{"op":"remove",)"
       R"("path":"/spec/containers/0/env/2"})"},
      {"all there", "[" ORDER "," REFERENCE "]", ""},
      {"all there, as a server writes it",
       R"([{"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
       R"("fieldPath":"metadata.annotations['gpu.scheduling/visible-devices']"}}},)" ORDER "]",
       ""},
      {"ours, and again behind it", "[" REFERENCE "," ORDER R"(,{"name":"CUDA_VISIBLE_DEVICES","value":""}])",
       R"({"op":"remove","path":"/spec/containers/0/env/2"})"},
      {"nonsense", R"([7,"x",{"name":5},{"name":"CUDA_DEVICE_ORDER"}])",
       R"({"op":"add","path":"/spec/containers/0/env/-","value":)" REFERENCE "}"},
  };
  for (const EnvCase& c : cases) {
    const std::string env = *c.env == '\0' ? "" : std::string{R"(,"env":)"} + c.env;
    const Value pod = podOf(kByClaim, R"("containers":[{"name":"a")" + env + "}]");
    EXPECT_EQ(patchOf(pod), *c.want == '\0' ? "" : std::string{"["} + c.want + "]") << c.name;
  }
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
  EXPECT_EQ(operations->at(999)["path"].str(), "/spec/containers/499/env/-");
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
