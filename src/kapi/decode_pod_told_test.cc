// What the containers of a pod are told of its GPUs.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"

namespace gs::kapi {
namespace {

TEST(DecodePod, SaysWhichContainerCountsItsGpusInAnotherOrder) {
  const auto other = [](const std::string& order, const std::string& told =
                                                      R"("valueFrom":{"fieldRef":)"
                                                      R"({"fieldPath":"metadata.annotations)"
                                                      R"(['gpu.scheduling/visible-devices']"}})") {
    const auto pod = json::parse(
        R"({"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},"spec":{"containers":[{"name":"a"},)"
        R"({"name":"b","env":[{"name":"CUDA_VISIBLE_DEVICES",)" +
        told + "}" + order + "]}]}}");
    EXPECT_TRUE(pod.has_value()) << order;
    return decodePod(*pod).counts_otherwise;
  };
  const std::string fastest = R"(,{"name":"CUDA_DEVICE_ORDER","value":"FASTEST_FIRST"})";
  const std::string of_ids = R"(,{"name":"CUDA_DEVICE_ORDER","value":"PCI_BUS_ID"})";
  EXPECT_EQ(other(fastest), R"(container b sets CUDA_DEVICE_ORDER="FASTEST_FIRST")");
  EXPECT_EQ(other(R"(,{"name":"CUDA_DEVICE_ORDER"})"), R"(container b sets CUDA_DEVICE_ORDER="")");
  EXPECT_EQ(other(of_ids), "");
  EXPECT_EQ(other(fastest + of_ids), "") << "the last entry counts";
  EXPECT_EQ(other(of_ids + fastest), R"(container b sets CUDA_DEVICE_ORDER="FASTEST_FIRST")");
  EXPECT_EQ(other(""), "") << "of one model both orders are the same";
  EXPECT_EQ(other(R"(,{"name":"CUDA_DEVICE_ORDER","valueFrom":{}})"), "") << "nobody can say";
  EXPECT_EQ(other(fastest, R"("value":"0")"), "") << "it is not told: see untold";
}

TEST(DecodePod, SaysWhichContainersAreNotToldTheirGpus) {
  const std::string reference =
      R"({"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
      R"("fieldPath":"metadata.annotations['gpu.scheduling/visible-devices']"}}})";
  const auto untold = [](const std::string& annotations, const std::string& spec) {
    const auto pod =
        json::parse(R"({"metadata":{"annotations":)" + annotations + R"(},"spec":)" + spec + "}");
    EXPECT_TRUE(pod.has_value()) << spec;
    return decodePod(*pod).untold;
  };
  const std::string asks = R"({"gpu.scheduling/claim":"c"})";
  const std::string told = R"({"name":"a","env":[{"name":"X"},)" + reference + "]}";
  EXPECT_EQ(untold(asks, R"({"containers":[)" + told + "]}"), "");
  EXPECT_EQ(untold(asks, R"({"containers":[)" + told + R"(,{"name":"b"}]})"), "b");
  EXPECT_EQ(untold(asks, R"({"initContainers":[{"name":"i"}],"containers":[)" + told +
                             R"(,{"name":"b"},{"name":"c"}]})"),
            "i and 2 more");
  EXPECT_EQ(
      untold(asks, R"({"containers":[{"name":"a","env":[{"name":"CUDA_VISIBLE_DEVICES","value":"0"}]}]})"),
      "a");
  EXPECT_EQ(untold(asks, R"({"containers":[{"name":"a","env":[)" + reference +
                             R"(,{"name":"CUDA_VISIBLE_DEVICES","value":"0,1,2,3"}]}]})"),
            "a")
      << "the last entry is what the container sees";
  EXPECT_EQ(untold("{}", R"({"containers":[{"name":"a"}]})"), "") << "it asks for nothing of ours";
  EXPECT_EQ(untold(asks, R"({"containers":7})"), "");
}

model::Pod podWithMap(const std::string& map, const std::string& spec, const std::string& name = "p-1") {
  const auto pod =
      json::parse(R"({"metadata":{"name":")" + name + R"(","annotations":{"gpu-scheduling-map":)" +
                  json::print(map) + R"(}},"spec":)" + spec + "}");
  EXPECT_TRUE(pod.has_value());
  return decodePod(*pod);
}

TEST(DecodePod, KeepsOfAMapWhatItSaysOfThePod) {
  std::string map;
  for (int i = 0; i < 20'000; ++i) { map += std::to_string(i) + "=node:0,1\n"; }
  const auto kept = [&](const std::string& spec, const std::string& name) {
    return podWithMap(map, spec, name).annotations;
  };
  using Kept = std::map<std::string, std::string>;
  EXPECT_EQ(kept("{}", "p-7"), (Kept{{"gpu-scheduling-map", "7=node:0,1"}}));
  EXPECT_EQ(kept("{}", "p-20000"), (Kept{{"gpu-scheduling-map", ""}}));
  EXPECT_EQ(kept("{}", "p"), (Kept{{"gpu-scheduling-map", ""}}));
  EXPECT_EQ(kept(R"({"nodeName":"n"})", "p-7"), (Kept{{"gpu-scheduling-map", ""}})) << "that it has one";
  EXPECT_TRUE(podWithMap("", R"({"nodeName":"n"})").annotation("gpu-scheduling-map") != nullptr);
}

TEST(DecodePod, SeesWhatItsContainersWereToldOfItsMap) {
  const auto env = [](const std::string& entries) { return R"({"name":"a","env":[)" + entries + "]}"; };
  const auto literal = [](const std::string& value) {
    return R"({"name":"CUDA_VISIBLE_DEVICES","value":")" + value + R"("})";
  };
  const auto containers = [](const std::string& list) { return R"({"containers":[)" + list + "]}"; };
  const auto told = [&](const std::string& spec, const std::string& map = "1=n:0, 1") {
    return podWithMap(map, spec).told_otherwise;
  };
  EXPECT_EQ(told(containers(env(literal("0, 1")))), "");
  EXPECT_EQ(told(containers(env(literal("1,0")))), "") << "the same two";
  EXPECT_EQ(told(containers(env(literal("2")))), "container a was told CUDA_VISIBLE_DEVICES=\"2\"");
  EXPECT_EQ(told(containers(env(literal("2") + "," + literal("0, 1")))), "") << "the last one counts";
  EXPECT_EQ(told(containers(env(R"({"name":"CUDA_VISIBLE_DEVICES"})"))),
            "container a was told CUDA_VISIBLE_DEVICES=\"\"");
  EXPECT_EQ(told(containers(env(R"({"name":"CUDA_VISIBLE_DEVICES"})")), "1=n:"), "");
  EXPECT_EQ(told(containers(env(""))), "") << "nothing at all: see untold";
  EXPECT_EQ(told(R"({"initContainers":[)" + env(literal("7")) + R"(],"containers":[)" + env(literal("0, 1")) +
                 "]}"),
            "container a was told CUDA_VISIBLE_DEVICES=\"7\"");
  EXPECT_EQ(told(R"({"nodeName":"n","containers":[)" + env(literal("7")) + "]}"), "") << "it is bound";
  EXPECT_EQ(told(containers(env(literal(std::string(62, 'x') + "\u20ac")))),
            "container a was told CUDA_VISIBLE_DEVICES=\"" + std::string(62, 'x') + "\"");

  EXPECT_EQ(podWithMap("1=n:0", containers(env(literal("0")))).untold, "");
  EXPECT_EQ(podWithMap("1=n:0", containers(env(""))).untold, "a");
  EXPECT_EQ(podWithMap("1=n:0", containers(env(
                                    R"({"name":"CUDA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"fieldPath":)"
                                    R"("metadata.annotations['gpu.scheduling/visible-devices']"}}})")))
                .untold,
            "");
  EXPECT_EQ(podWithMap("1=n:0", containers(env(R"({"name":"CUDA_VISIBLE_DEVICES","valueFrom":{}})"))).untold,
            "a");
}

}  // namespace
}  // namespace gs::kapi
