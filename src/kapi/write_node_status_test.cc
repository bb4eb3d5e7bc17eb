#include "kapi/write_node_status.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"

namespace gs::kapi {
namespace {

std::string firstLineOf(const Call& c) { return std::string{httpMethod(c.verb)} + " " + target(c); }

model::GpuNodeStatus stands() {
  model::GpuNodeStatus s;
  s.node = model::NodeName{"node-a"};
  s.uid = model::Uid{"s-1"};
  s.revision = 9;
  return s;
}

std::vector<model::Device> two() {
  std::vector<model::Device> out(2);
  out[0].id = 0;
  out[0].uuid = "GPU-0";
  out[0].model = "NVIDIA H100";
  out[0].memory_mib = 81'920;
  out[0].pci_bus_id = "0000:01:00.0";
  out[0].health = model::Health::Healthy;
  out[0].dra = {"gpu.nvidia.com", "node-a", "gpu-0"};
  out[1].id = 1;
  out[1].uuid = "gpu.nvidia.com/node-a/gpu-1";
  out[1].memory_mib = -5;
  out[1].health = model::Health::Unhealthy;
  out[1].health_reason = "device taint fan:NoSchedule";
  return out;
}

/// As the API server has it after both writes.
model::GpuNodeStatus written(const std::vector<model::Device>& devices) {
  json::Value object = createNodeStatus(model::NodeName{"node-a"}, model::Uid{"n-1"}).body;
  object.set("status", publishDevices(stands(), devices).body["status"]);
  return decodeGpuNodeStatus(json::View{object});
}

TEST(WriteNodeStatus, TheObjectIsItsNodesAndSaysWhoKeepsIt) {
  const Call c = createNodeStatus(model::NodeName{"node-a"}, model::Uid{"n-1"});
  EXPECT_EQ(firstLineOf(c), "POST /apis/gpu.scheduling/v1/gpunodestatuses");
  EXPECT_EQ(
      json::print(c.body),
      R"({"apiVersion":"gpu.scheduling/v1","kind":"GpuNodeStatus","metadata":{"name":"node-a",)"
      R"("labels":{"gpu.scheduling/written-by":"scheduler"},"ownerReferences":[)"
      R"({"apiVersion":"v1","kind":"Node","name":"node-a","uid":"n-1"}]},"spec":{"nodeName":"node-a"}})");
}

TEST(WriteNodeStatus, TheStatusSaysWhatADriverKnowsAndNothingOfUse) {
  const Call c = publishDevices(stands(), two());
  EXPECT_EQ(firstLineOf(c), "PATCH /apis/gpu.scheduling/v1/gpunodestatuses/node-a/status");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"s-1","resourceVersion":"9"},"status":{"total":2,"healthy":1,"devices":[)"
            R"({"id":0,"uuid":"GPU-0","model":"NVIDIA H100","memoryMiB":81920,"pciBusId":"0000:01:00.0",)"
            R"("health":"Healthy"},{"id":1,"uuid":"gpu.nvidia.com/node-a/gpu-1","memoryMiB":0,)"
            R"("health":"Unhealthy","healthReason":"device taint fan:NoSchedule"}],"enforcement":"dra"}})");
}

TEST(WriteNodeStatus, WhatIsReadOfItIsNoReportAndWhatWasPublished) {
  const auto read = written(two());
  EXPECT_EQ(read.writer, model::Writer::Scheduler);
  EXPECT_FALSE(read.isReport());
  EXPECT_EQ(read.node_uid, model::Uid{"n-1"});
  EXPECT_TRUE(isPublished(read, two())) << "else it would be written for ever";
  EXPECT_TRUE(isPublished(written({}), {}));
  EXPECT_FALSE(isPublished(stands(), {})) << "it has no status yet";
}

TEST(WriteNodeStatus, WhateverIsOtherIsToBeWritten) {
  const auto read = written(two());
  const std::vector<void (*)(model::Device&)> changes{
      [](model::Device& d) { d.id = 7; },
      [](model::Device& d) { d.uuid = "x"; },
      [](model::Device& d) { d.model = "x"; },
      [](model::Device& d) { d.memory_mib = 1; },
      [](model::Device& d) { d.pci_bus_id = "x"; },
      [](model::Device& d) { d.health = model::Health::Unknown; },
      [](model::Device& d) { d.health_reason = "x"; },
  };
  for (const auto change : changes) {
    auto devices = two();
    change(devices[1]);
    EXPECT_FALSE(isPublished(read, devices));
    EXPECT_TRUE(isPublished(written(devices), devices));
  }
  auto fewer = two();
  fewer.pop_back();
  EXPECT_FALSE(isPublished(read, fewer));
  auto of_other_use = two();
  of_other_use[0].dra.device = "gpu-7";
  EXPECT_TRUE(isPublished(read, of_other_use)) << "the object has no field for it";
}

TEST(WriteNodeStatus, OfAnAgentsObjectItIsOneWord) {
  EXPECT_EQ(json::print(sayDra(stands(), true).body),
            R"({"metadata":{"uid":"s-1","resourceVersion":"9"},"status":{"enforcement":"dra"}})");
  EXPECT_EQ(json::print(sayDra(stands(), false).body),
            R"({"metadata":{"uid":"s-1","resourceVersion":"9"},"status":{"enforcement":null}})");
  EXPECT_EQ(firstLineOf(sayDra(stands(), true)),
            "PATCH /apis/gpu.scheduling/v1/gpunodestatuses/node-a/status?fieldManager=gpu-scheduler");
}

TEST(WriteNodeStatus, WhatIsDeletedIsTheObjectThatWasSeen) {
  const Call c = deleteNodeStatus(stands());
  EXPECT_EQ(firstLineOf(c), "DELETE /apis/gpu.scheduling/v1/gpunodestatuses/node-a");
  EXPECT_EQ(json::print(c.body), R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":)"
                                 R"({"uid":"s-1","resourceVersion":"9"}})");
}

}  // namespace
}  // namespace gs::kapi
