#include "agent/status.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "agent/kinds.h"
#include "kapi/decode.h"

namespace gs::agent {
namespace {

using json::Value;

Gpu gpuAt(const std::string& pci, const std::string& uuid) {
  Gpu out;
  out.uuid = uuid;
  out.model = "NVIDIA-H100";
  out.memory_mib = 81'559;
  out.pci_bus_id = pci;
  out.numa_node = 1;
  return out;
}

/// Told in another order than that of the bus; B and C are linked.
Hardware three() {
  Hardware out;
  out.driver_version = "550.54.15";
  out.gpus = {gpuAt("00000000:9B:00.0", "C"), gpuAt("00000000:1B:00.0", "A"), gpuAt("00000000:4B:00.0", "B")};
  out.links = {{2, 0, LinkType::NvLink, 600}, {0, 1, LinkType::Pcie, 64}};
  return out;
}

TEST(Devices, AreNumberedInPciOrder) {
  const auto devices = devicesOf(three());
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].gpu.uuid, "A");
  EXPECT_EQ(devices[1].gpu.uuid, "B");
  EXPECT_EQ(devices[2].gpu.uuid, "C");
  for (int id = 0; id < 3; ++id) { EXPECT_EQ(devices[static_cast<std::size_t>(id)].id, id); }
  EXPECT_EQ(devices[1].links, (std::vector<DeviceLink>{{2, LinkType::NvLink, 600}}));
  EXPECT_EQ(devices[2].links, (std::vector<DeviceLink>{{0, LinkType::Pcie, 64}, {1, LinkType::NvLink, 600}}));
  EXPECT_EQ(devices[0].island, "0");
  EXPECT_EQ(devices[1].island, devices[2].island);
  EXPECT_EQ(devices[2].bandwidth_gbps, 600);
}

TEST(Devices, OneWithoutAnAddressComesLastAndThoseWithoutAnyStayAsTheyAre) {
  Hardware hardware = three();
  hardware.gpus[1].pci_bus_id = "";
  EXPECT_EQ(devicesOf(hardware)[2].gpu.uuid, "A");
  for (Gpu& gpu : hardware.gpus) { gpu.pci_bus_id = ""; }
  EXPECT_EQ(devicesOf(hardware)[0].gpu.uuid, "C");
}

TEST(Devices, OfSeveralLinksOfAPairTheBestIsSaid) {
  Hardware hardware = three();
  hardware.links.push_back({0, 2, LinkType::Pcie, 999});
  hardware.links.push_back({0, 2, LinkType::NvLink, 700});
  hardware.links.push_back({0, 9, LinkType::NvLink, 700});
  EXPECT_EQ(devicesOf(hardware)[1].links, (std::vector<DeviceLink>{{2, LinkType::NvLink, 700}}));
}

TEST(Devices, MoreThanTheApiTakesAreCut) {
  Hardware hardware;
  hardware.gpus.resize(1025);
  hardware.links = {{0, 1024, LinkType::Pcie, 1}};
  const auto devices = devicesOf(hardware);
  EXPECT_EQ(devices.size(), 1024U);
  EXPECT_TRUE(devices[0].links.empty());
}

NodeView viewOf(const Hardware& hardware) {
  NodeView out;
  out.devices = devicesOf(hardware);
  out.driver_version = hardware.driver_version;
  out.enforcement = model::Enforcement::Env;
  out.conditions = {{"DriverAnswers", true, "Answers", "the driver answers", Wall{std::chrono::seconds{1}}}};
  return out;
}

TEST(Status, SaysWhatTheCrdNames) {
  Hardware hardware = three();
  hardware.gpus[0].health = model::Health::Unhealthy;
  hardware.gpus[0].reason = "GPU is lost";
  hardware.gpus[1].partitions = {{"MIG-1", "1g.10gb", 9'728, 121}};
  NodeView view = viewOf(hardware);
  view.devices[1].in_use_by = {model::Uid{"u1"}, model::Uid{"u2"}};
  const Value body = statusBody(model::NodeName{"n"}, view, "2025-06-15T15:06:40.000000Z");
  EXPECT_EQ(
      json::print(body),
      R"({"apiVersion":"gpu.scheduling/v1","kind":"GpuNodeStatus","metadata":{"name":"n"},"status":{)"
      R"("total":3,"healthy":2,"free":1,"islands":2,"devices":[)"
      R"({"id":0,"uuid":"A","model":"NVIDIA-H100","memoryMiB":81559,"pciBusId":"00000000:1B:00.0",)"
      R"("numaNode":1,"health":"Healthy","island":"0","bandwidthGBps":0,)"
      R"("links":[{"to":2,"gbps":64,"type":"pcie"}],)"
      R"("partitions":[{"uuid":"MIG-1","profile":"1g.10gb","memoryMiB":9728,"milli":121}],"inUseBy":[]},)"
      R"({"id":1,"uuid":"B","model":"NVIDIA-H100","memoryMiB":81559,"pciBusId":"00000000:4B:00.0",)"
      R"("numaNode":1,"health":"Healthy","island":"1","bandwidthGBps":600,)"
      R"("links":[{"to":2,"gbps":600,"type":"nvlink"}],"inUseBy":["u1","u2"]},)"
      R"({"id":2,"uuid":"C","model":"NVIDIA-H100","memoryMiB":81559,"pciBusId":"00000000:9B:00.0",)"
      R"("numaNode":1,"health":"Unhealthy","healthReason":"GPU is lost","island":"1",)"
      R"("bandwidthGBps":600,"links":[{"to":0,"gbps":64,"type":"pcie"},)"
      R"({"to":1,"gbps":600,"type":"nvlink"}],"inUseBy":[]}],)"
      R"("driverVersion":"550.54.15","enforcement":"env","conditions":[{"type":"DriverAnswers",)"
      R"("status":"True","reason":"Answers","message":"the driver answers",)"
      R"("lastTransitionTime":"1970-01-01T00:00:01Z"}],"observedTime":"2025-06-15T15:06:40.000000Z"}})");
}

TEST(Status, TheObjectIsOwnedByItsNode) {
  EXPECT_EQ(json::print(specBody(model::NodeName{"n"}, model::Uid{"node-uid"})),
            R"({"apiVersion":"gpu.scheduling/v1","kind":"GpuNodeStatus","metadata":{"name":"n",)"
            R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"node-uid"}]},)"
            R"("spec":{"nodeName":"n"}})");
}

/// The API would refuse the list, and with it all that the agent has to say.
TEST(Status, AGpuWithMoreUsersThanTheListTakesIsGivenToNobody) {
  NodeView view = viewOf(three());
  for (int i = 0; i < 257; ++i) { view.devices[0].in_use_by.emplace_back(std::to_string(i)); }
  const Value device = statusBody(model::NodeName{"n"}, view, "")["status"]["devices"].at(0);
  EXPECT_EQ(device["inUseBy"].items().size(), 256U);
  EXPECT_EQ(device["health"].str(), "Unhealthy");
  EXPECT_EQ(device["healthReason"].str(), "257 pods use it, more than 256");
}

TEST(Status, WhatTheCrdBoundsIsBounded) {
  NodeView view = viewOf(three());
  Gpu& gpu = view.devices[0].gpu;
  gpu.memory_mib = -1;
  gpu.numa_node = -7;
  gpu.partitions.resize(65);
  gpu.partitions[0].milli = 2000;
  gpu.partitions[0].memory_mib = -1;
  const Value device = statusBody(model::NodeName{"n"}, view, "")["status"]["devices"].at(0);
  EXPECT_EQ(device["partitions"].at(0)["memoryMiB"].integer(), 0);
  EXPECT_EQ(device["memoryMiB"].integer(), 0);
  EXPECT_EQ(device["numaNode"].integer(), -1);
  EXPECT_EQ(device["partitions"].items().size(), 64U);
  EXPECT_EQ(device["partitions"].at(0)["milli"].integer(), 1000);
}

TEST(Status, ABandwidthIsWhatTheApiTakes) {
  Hardware hardware = three();
  hardware.links[0].gbps = -5;
  hardware.links[1].gbps = std::int64_t{1} << 40;
  const auto devices = devicesOf(hardware);
  EXPECT_EQ(devices[2].links[0].gbps, 2'147'483'647);
  EXPECT_EQ(devices[2].links[1].gbps, 0);
  EXPECT_EQ(devices[2].bandwidth_gbps, 0);
}

/// What was written is read again as it was.
TEST(OwnStatus, IsWhatWasWritten) {
  Hardware hardware = three();
  hardware.gpus[0].health = model::Health::Unknown;
  hardware.gpus[0].reason = "why";
  hardware.gpus[0].partitions = {{"MIG-1", "1g.10gb", 9'728, 121}};
  NodeView view = viewOf(hardware);
  view.devices[1].in_use_by = {model::Uid{"p"}, model::Uid{"q"}};
  Value body = statusBody(model::NodeName{"n"}, view, "t");
  body.child("metadata") = specBody(model::NodeName{"n"}, model::Uid{"node-uid"}, "boot-1")["metadata"];
  const auto own = kapi::decodeObject(kOwnStatus, body).as<OwnStatus>();
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->view.devices, view.devices);
  EXPECT_EQ(own->view.driver_version, "550.54.15");
  EXPECT_EQ(own->view.conditions, view.conditions);
  EXPECT_EQ(own->observed_time, "t");
  EXPECT_EQ(own->owner, model::Uid{"node-uid"});
  EXPECT_EQ(own->boot_id, "boot-1");
}

TEST(Status, APatchOfTheDevicesIsOfOneRevisionAndHoldsNothingElse) {
  const NodeView view = viewOf(three());
  const Value body = devicesBody(view, 7);
  const Value whole = statusBody(model::NodeName{"n"}, view, "t");
  EXPECT_EQ(json::print(body["metadata"]), R"({"resourceVersion":"7"})");
  EXPECT_EQ(body["status"]["devices"], whole["status"]["devices"]);
  EXPECT_EQ(body["status"].members().size(), 1U);
}

TEST(OwnStatus, TakesNonsenseAsNothing) {
  const auto text = R"({"status":{"devices":[{"id":"x"},{"id":4096},{"id":2,"numaNode":-9,"memoryMiB":"?"},
                        {"id":2},{"id":1,"links":[{"to":-1},{"to":0,"gbps":-5}],"inUseBy":["u",7,""]},7],
                        "conditions":7}})";
  const auto own = kapi::decodeObject(kOwnStatus, json::parse(text).value()).as<OwnStatus>();
  ASSERT_EQ(own->view.devices.size(), 2U);
  EXPECT_EQ(own->view.devices[0].id, 1);
  EXPECT_EQ(own->view.devices[0].links, (std::vector<DeviceLink>{{0, LinkType::Pcie, 0}}));
  EXPECT_EQ(own->view.devices[0].in_use_by, std::vector{model::Uid{"u"}});
  EXPECT_EQ(own->view.devices[1].gpu.numa_node, -1);
}

}  // namespace
}  // namespace gs::agent
