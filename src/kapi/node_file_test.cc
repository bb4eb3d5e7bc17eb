#include "kapi/node_file.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"

namespace gs::kapi {
namespace {

Result<std::vector<SimNode>> readText(std::string_view text) {
  return readNodeFile(json::parse(text).value());
}

SimNode oneNode(std::string_view text) {
  const auto nodes = readText("{\"nodes\":[" + std::string{text} + "]}");
  EXPECT_TRUE(nodes) << nodes.error().message;
  return nodes ? nodes->at(0) : SimNode{};
}

TEST(NodeFile, ReadsEverything) {
  const SimNode n = oneNode(R"({"name":"node-a","labels":{"gpu-type":"l40s"},
    "taints":[{"key":"k","value":"v","effect":"NoSchedule"}],"enforcement":"off","allocatable":{"cpu":"32",
    "memory":"64Gi"},
    "gpus":{"count":4,"model":"NVIDIA-L40S","memoryMiB":46068,
      "islands":[{"ids":[0,1],"bandwidthGBps":64},{"ids":[2,3]}],
      "links":[{"from":0,"to":1,"gbps":600,"type":"nvlink"}],
      "health":[{"id":3,"health":"Unhealthy","reason":"XID 79"}]}})");
  EXPECT_EQ(n.name, model::NodeName{"node-a"});
  EXPECT_EQ(n.enforcement, model::Enforcement::Off);
  EXPECT_EQ(oneNode(R"({"name":"n"})").enforcement, model::Enforcement::Devices);
  EXPECT_EQ(n.labels, (std::map<std::string, std::string>{{"gpu-type", "l40s"}}));
  EXPECT_EQ(n.taints, (std::vector<model::Taint>{{"k", "v", "NoSchedule"}}));
  EXPECT_EQ(n.allocatable,
            (std::map<std::string, std::string>{
                {"cpu", "32"}, {"memory", "64Gi"}, {"pods", "110"}, {"ephemeral-storage", "1Ti"}}));
  ASSERT_EQ(n.devices.size(), 4U);
  EXPECT_EQ(n.devices[0].links, (std::vector<model::Link>{{1, 600}}));
  EXPECT_EQ(n.devices[1].links, (std::vector<model::Link>{{0, 600}}));
  EXPECT_EQ(n.devices[1].island, "0");
  EXPECT_EQ(n.devices[2].island, "1");
  EXPECT_EQ(n.devices[1].bandwidth_gbps, 64);
  EXPECT_EQ(n.devices[3].health, model::Health::Unhealthy);
  EXPECT_EQ(n.devices[3].health_reason, "XID 79");
  EXPECT_EQ(n.devices[2].memory_mib, 46068);
}

TEST(NodeFile, WhatIsAbsentHasDefaults) {
  const SimNode n = oneNode(R"({"name":"n","gpus":{"count":2}})");
  EXPECT_EQ(n.allocatable.at("cpu"), "64");
  EXPECT_EQ(n.devices[1].island, "0");
  EXPECT_EQ(n.devices[1].health, model::Health::Healthy);
  EXPECT_TRUE(oneNode(R"({"name":"n"})").devices.empty());
  EXPECT_TRUE(readText(R"({"nodes":[]})")->empty());
}

TEST(NodeFile, UuidsAreTheSameOnEveryRunAndDiffer) {
  const SimNode n = oneNode(R"({"name":"n","gpus":{"count":2}})");
  EXPECT_EQ(n.devices[0].uuid, oneNode(R"({"name":"n","gpus":{"count":1}})").devices[0].uuid);
  EXPECT_NE(n.devices[0].uuid, n.devices[1].uuid);
  EXPECT_NE(n.devices[0].uuid, oneNode(R"({"name":"m","gpus":{"count":1}})").devices[0].uuid);
  EXPECT_EQ(n.devices[0].uuid.size(), 40U);
  EXPECT_EQ(n.devices[0].uuid.substr(0, 4), "GPU-");
}

struct Mistake {
  const char* name;
  const char* file;
  const char* says;
};
class NodeFileMistake : public testing::TestWithParam<Mistake> {};
TEST_P(NodeFileMistake, IsNamed) {
  const auto nodes = readText(GetParam().file);
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, Code::Invalid);
  EXPECT_NE(nodes.error().message.find(GetParam().says), std::string::npos) << nodes.error().message;
}
#define NODE(fields) R"({"nodes":[{"name":"n",)" fields "}]}"
#define GPUS(fields) NODE(R"("gpus":{"count":2,)" fields "}")
INSTANTIATE_TEST_SUITE_P(
    Table, NodeFileMistake,
    testing::Values(
        Mistake{"NoNodes", "{}", "nodes is missing"}, Mistake{"Null", "null", "nodes is missing"},
        Mistake{"UnknownTop", R"({"nodes":[],"node":1})", "node is 1; no such field"},
        Mistake{"NotAMap", R"({"nodes":[5]})", "nodes[0]: it is 5"},
        Mistake{"NoName", R"({"nodes":[{}]})", "nodes[0]: name is null; write a lower-case"},
        Mistake{"BadName", R"({"nodes":[{"name":"Node_A"}]})", "name is \"Node_A\""},
        Mistake{"SameName", R"({"nodes":[{"name":"n"},{"name":"n"}]})", "node n is there twice"},
        Mistake{"UnknownField", NODE(R"("gpu":4)"), "gpu is 4; no such field; there are name, labels"},
        Mistake{"LabelNumber", NODE(R"("labels":{"gpus":8})"),
                "node n: labels.gpus is 8; write a text; quote"},
        Mistake{"LabelsList", NODE(R"("labels":[])"), "labels is []"},
        Mistake{"TaintEffect", NODE(R"("taints":[{"key":"k","effect":"No"}])"), "taints[].effect is \"No\""},
        Mistake{"TaintKey", NODE(R"("taints":[{"effect":"NoSchedule"}])"), "taints[].key is null"},
        Mistake{"TaintsMap", NODE(R"("taints":{})"), "taints is {}; write a list"},
        Mistake{"Enforcement", NODE(R"("enforcement":"all")"),
                "enforcement is \"all\"; write dra, devices, env"},
        Mistake{"EnforcementOff", NODE(R"("enforcement":false)"), "quote off, which is false in YAML"},
        Mistake{"Quantity", NODE(R"("allocatable":{"cpu":"many"})"), "allocatable.cpu is \"many\""},
        Mistake{"NoCount", NODE(R"("gpus":{})"), "gpus.count is null"},
        Mistake{"Count", NODE(R"("gpus":{"count":1025})"), "gpus.count is 1025"},
        Mistake{"UnknownGpuField", GPUS(R"("memory":5)"), "gpus.memory is 5; no such field"},
        Mistake{"Memory", GPUS(R"("memoryMiB":"46068")"), "gpus.memoryMiB is \"46068\""},
        Mistake{"IslandId", GPUS(R"("islands":[{"ids":[0,1,2]}])"),
                "gpus.islands[].ids[] is 2; write an id from 0 to 1"},
        Mistake{"TwoIslands", GPUS(R"("islands":[{"ids":[0,1]},{"ids":[1]}])"),
                "is 1; this GPU is in another island"},
        Mistake{"NoIsland", GPUS(R"("islands":[{"ids":[0]}])"), "name GPU 1 in one of them"},
        Mistake{"LinkToItself", GPUS(R"("links":[{"from":0,"to":0,"gbps":1}])"),
                "name each pair of two GPUs once"},
        Mistake{"LinkTwice", GPUS(R"("links":[{"from":0,"to":1,"gbps":1},{"from":1,"to":0,"gbps":1}])"),
                "name each pair of two GPUs once"},
        Mistake{"LinkSpeed", GPUS(R"("links":[{"from":0,"to":1}])"), "gpus.links[].gbps is null"},
        Mistake{"Health", GPUS(R"("health":[{"id":0,"health":"Sick"}])"), "gpus.health[].health is \"Sick\""},
        Mistake{"HealthId", GPUS(R"("health":[{"id":9,"health":"Healthy"}])"), "gpus.health[].id is 9"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(DefaultNodes, AreOneSmallAndOneWithNvlinkIslands) {
  const auto nodes = defaultNodes();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, model::NodeName{"node-a"});
  EXPECT_EQ(nodes[0].devices.size(), 4U);
  EXPECT_EQ(nodes[0].devices[3].island, "0");
  EXPECT_EQ(nodes[1].name, model::NodeName{"node-b"});
  EXPECT_EQ(nodes[1].devices.size(), 8U);
  EXPECT_EQ(nodes[1].devices[3].island, "0");
  EXPECT_EQ(nodes[1].devices[4].island, "1");
  EXPECT_EQ(nodes[1].labels.at("gpu-type"), "a100");
  EXPECT_EQ(nodes[1].labels.at("topology"), "nvlink");
}

TEST(EncodeNode, DecodesToTheSameFacts) {
  SimNode sim = defaultNodes()[1];
  sim.taints = {{"k", "v", "NoSchedule"}, {"x", "", "NoExecute"}};
  sim.devices[7].health = model::Health::Unhealthy;
  const model::Node node = decodeNode(encodeNode(sim));
  EXPECT_EQ(node.name, sim.name);
  EXPECT_EQ(node.taints, sim.taints);
  EXPECT_TRUE(node.ready);
  EXPECT_EQ(node.labels.at("kubernetes.io/hostname"), "node-b");
  EXPECT_EQ(node.labels.at("gpu-type"), "a100");
  EXPECT_EQ(node.allocatable.cpu_milli, 64'000);
  EXPECT_EQ(node.allocatable_pods, 110);
  EXPECT_EQ(node.allocatable.get(model::kNvidiaGpu), 7);
}

TEST(NodeFile, LongNamesHaveAHostnameThatIsALabel) {
  const std::string name = "gpu-worker-0123456789.department-of-computing.cluster.internal.example.edu";
  SimNode sim = defaultNodes().at(0);
  sim.name = model::NodeName{name};
  EXPECT_EQ(decodeNode(encodeNode(sim)).labels.at("kubernetes.io/hostname"), name.substr(0, 62))
      << "no label ends with a dot";
  EXPECT_EQ(hostnameLabel(std::string(62, 'a') + ".b"), std::string(62, 'a'));
  EXPECT_EQ(hostnameLabel(std::string(60, 'a') + "-.-b"), std::string(60, 'a'));
  EXPECT_EQ(hostnameLabel("node-a"), "node-a");
}

}  // namespace
}  // namespace gs::kapi
