#include "webhook/pod_gate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/gate.h"
#include "webhook/pod_mutation.h"

namespace gs::webhook {
namespace {

const PodRules kGated{.schedulers = {"gpu-scheduler"}, .device_order = "", .gate = true};

json::Value gatePod(const std::string& annotations, const std::string& members,
                    const std::string& scheduler = "gpu-scheduler") {
  const std::string text = fmt::format(
      R"({{"metadata":{{"name":"sts-0","generateName":"sts-","annotations":{{{}}}}},"spec":{{"schedulerName":"{}",{}}}}})",
      annotations, scheduler, members);
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : json::Value{};
}

admission::Verdict mutated(const json::Value& pod, const PodRules& rules = kGated) {
  return mutatePod(pod, "default", rules);
}

constexpr const char* kClaim = R"("gpu.scheduling/claim":"one")";
constexpr const char* kLimited =
    R"("containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"1"}}}])";

#define GATE_VOLUME R"({"name":"gpu-scheduling-gate","csi":{"driver":"gate.gpu.scheduling","readOnly":true}})"
#define GATE_MOUNT R"({"name":"gpu-scheduling-gate","mountPath":"/run/gpu-scheduling-gate","readOnly":true})"

TEST(PodGate, APodWithLimitsAloneGetsItsGateAndNothingElse) {
  EXPECT_EQ(mutated(gatePod("", kLimited)).patch,
            R"([{"op":"add","path":"/spec/volumes","value":[)" GATE_VOLUME R"(]},)"
            R"({"op":"add","path":"/spec/containers/0/volumeMounts","value":[)" GATE_MOUNT R"(]}])");
}

TEST(PodGate, WhatItMountsBesideStays) {
  const auto pod = gatePod("", R"("volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a",)"
                               R"("resources":{"limits":{"nvidia.com/gpu":2}},)"
                               R"("volumeMounts":[{"name":"v","mountPath":"/v"}]}])");
  EXPECT_EQ(mutated(pod).patch,
            R"([{"op":"add","path":"/spec/volumes/-","value":)" GATE_VOLUME R"(},)"
            R"({"op":"add","path":"/spec/containers/0/volumeMounts/-","value":)" GATE_MOUNT R"(}])");
}

TEST(PodGate, APodByClaimOrMapGetsItBesideItsVariables) {
  for (const char* annotation : {kClaim, R"("gpu-scheduling-map":"0=node1:0")"}) {
    const auto verdict = mutated(gatePod(annotation, R"("containers":[{"name":"a"}])"));
    EXPECT_TRUE(verdict.patch.starts_with(R"([{"op":"add","path":"/spec/volumes","value":[)" GATE_VOLUME))
        << verdict.patch;
    EXPECT_NE(verdict.patch.find(R"("path":"/spec/containers/0/env")"), std::string::npos) << verdict.patch;
  }
}

TEST(PodGate, ASecondPassChangesNothing) {
  const auto pod =
      gatePod("", R"("volumes":[{"name":"v","emptyDir":{}},)" GATE_VOLUME R"(],"containers":[{"name":"a",)"
                  R"("resources":{"limits":{"nvidia.com/gpu":"1"}}},{"name":"b","volumeMounts":[)" GATE_MOUNT
                  R"(]}])");
  EXPECT_EQ(mutated(pod).patch, "");
}

/// A kubelet does not look at a volume that no container mounts.
TEST(PodGate, AVolumeThatNobodyMountsIsNoGate) {
  const auto pod = gatePod("", fmt::format(R"("volumes":[{}],{})", GATE_VOLUME, kLimited));
  EXPECT_EQ(mutated(pod).patch,
            R"([{"op":"add","path":"/spec/containers/0/volumeMounts","value":[)" GATE_MOUNT R"(]}])");
}

TEST(PodGate, AnotherVolumeOfThatNameIsRefused) {
  for (const char* fake : {R"("emptyDir":{})", R"("csi":{"driver":"csi.gkm.io"})"}) {
    const auto verdict = mutated(gatePod(
        kClaim, fmt::format(R"("volumes":[{{"name":"gpu-scheduling-gate",{}}}],{})", fake, kLimited)));
    EXPECT_FALSE(verdict.allowed) << fake;
    EXPECT_EQ(verdict.patch, "");
    EXPECT_NE(verdict.message.find("give yours another name"), std::string::npos) << verdict.message;
  }
}

TEST(PodGate, APlaceThatIsTakenIsRefused) {
  const auto verdict =
      mutated(gatePod(kClaim, R"("volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"a",)"
                              R"("volumeMounts":[{"name":"v","mountPath":"/run/gpu-scheduling-gate"}]}])"));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_NE(verdict.message.find("mount yours elsewhere"), std::string::npos) << verdict.message;
}

TEST(PodGate, WhoGetsNoGpusOfOursHasNone) {
  const json::Value without[] = {
      gatePod("", R"("containers":[{"name":"a"}])"),
      gatePod("", R"("containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"0"}}}])"),
      gatePod("", R"("containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":0}}}])"),
      gatePod("", kLimited, "default-scheduler"),
      gatePod("",
              std::string{R"("nodeName":"node-a",)"} + kLimited),  // nobody looked whether it has a driver
      gatePod("", R"("volumes":[{"name":"gpu-scheduling-gate","emptyDir":{}}],"containers":[{"name":"a"}])"),
  };
  for (const auto& pod : without) {
    const auto verdict = mutated(pod);
    EXPECT_TRUE(verdict.allowed);
    EXPECT_EQ(verdict.patch, "");
  }
  EXPECT_EQ(mutated(gatePod("", kLimited), PodRules{}).patch, "") << "it is off";
}

TEST(PodGate, AnInitContainersLimitsCountToo) {
  const auto pod =
      gatePod("", R"("initContainers":[{"name":"i","resources":{"requests":{"nvidia.com/gpu":"1"}}}],)"
                  R"("containers":[{"name":"a"}])");
  EXPECT_NE(mutated(pod).patch.find("/spec/containers/0/volumeMounts"), std::string::npos);
}

/// Nobody gets past the gate by being too large for the rest.
TEST(PodGate, APodThatIsTooLargeToBeToldHasItAllTheSame) {
  std::string many = R"({"name":"a"})";
  for (int i = 0; i < 1'000; ++i) { many += R"(,{"name":"a"})"; }
  const auto counted = mutated(gatePod(kClaim, R"("containers":[)" + many + "]"));
  EXPECT_EQ(counted.warnings.size(), 1U);
  EXPECT_NE(counted.patch.find("/spec/volumes"), std::string::npos);
  EXPECT_EQ(counted.patch.find("/env"), std::string::npos);

  std::string env;  // each entry is one to remove, by 40 bytes or so
  for (int i = 0; i < 40'000; ++i) { env += R"({"name":"CUDA_VISIBLE_DEVICES","value":"9"},)"; }
  env += R"({"name":"X","value":"1"})";
  const auto long_one = mutated(gatePod(kClaim, R"("containers":[{"name":"a","env":[)" + env + "]}]"));
  EXPECT_EQ(long_one.warnings.size(), 1U);
  EXPECT_NE(long_one.patch.find("/spec/volumes"), std::string::npos);
  EXPECT_LT(long_one.patch.size(), 1'000U);
}

TEST(PodGate, WhatComesLateIsBehindTheGateAlready) {
  const auto old = gatePod(kClaim, R"("containers":[{"name":"a"}])");
  const auto now = gatePod(kClaim, R"("containers":[{"name":"a"}],"ephemeralContainers":[{"name":"d"}])");
  const auto verdict = mutateLateContainers(now, old, kGated);
  EXPECT_EQ(verdict.patch.find("volumes"), std::string::npos) << verdict.patch;
  EXPECT_NE(verdict.patch.find("/spec/ephemeralContainers/0/env"), std::string::npos);
}

}  // namespace
}  // namespace gs::webhook
