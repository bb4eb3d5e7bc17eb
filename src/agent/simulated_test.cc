#include "agent/simulated.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "agent/status.h"
#include "kapi/decode.h"

namespace gs::agent {
namespace {

model::GpuNodeStatus published(const kapi::SimNode& node) {
  NodeView view;
  view.devices = devicesOf(hardwareOf(node));
  view.enforcement = node.enforcement;
  return kapi::decodeGpuNodeStatus(statusBody(node.name, view, "t"));
}

TEST(SimulatedHardware, IsPublishedAsTheNodeFileHasIt) {
  kapi::SimNode sim = kapi::defaultNodes()[1];
  sim.devices[2].health = model::Health::Unknown;
  sim.devices[3].health_reason = "XID 79";
  sim.enforcement = model::Enforcement::Env;
  const auto status = published(sim);
  EXPECT_EQ(status.node, sim.name);
  EXPECT_EQ(status.enforcement, model::Enforcement::Env);
  ASSERT_EQ(status.devices.size(), 8U);
  for (std::size_t id = 0; id < 8; ++id) {
    model::Device meant = sim.devices[id];
    meant.links = status.devices[id].links;
    meant.pci_bus_id = fmt::format("00000000:{:02X}:00.0", id);
    EXPECT_EQ(status.devices[id], meant) << id;
  }
  EXPECT_EQ(status.devices[1].links, (std::vector<model::Link>{{0, 600}, {2, 600}, {3, 600}}));
}

TEST(SimulatedHardware, HasTheIslandsLinksAndHealthOfTheNodeFile) {
  const auto file = json::parse(R"({"nodes":[{"name":"n","gpus":{"count":4,"model":"M","memoryMiB":7,
      "islands":[{"ids":[0,2],"bandwidthGBps":600},{"ids":[1,3],"bandwidthGBps":400}],
      "links":[{"from":1,"to":3,"gbps":200},{"from":2,"to":3,"gbps":64}],
      "health":[{"id":3,"health":"Unhealthy","reason":"XID 79"}]}}]})");
  const auto node = kapi::readNodeFile(*file)->front();
  const auto devices = devicesOf(hardwareOf(node));
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(devices[2].island, devices[0].island);
  EXPECT_EQ(devices[3].island, devices[1].island);
  EXPECT_NE(devices[0].island, devices[1].island);
  EXPECT_EQ(devices[2].bandwidth_gbps, 600);
  EXPECT_EQ(devices[1].bandwidth_gbps, 200) << "the link says what the pair has";
  EXPECT_EQ(devices[2].links, (std::vector<DeviceLink>{{0, LinkType::NvLink, 600}, {3, LinkType::Pcie, 64}}));
  EXPECT_EQ(devices[3].gpu.health, model::Health::Unhealthy);
  EXPECT_EQ(devices[3].gpu.reason, "XID 79");
  EXPECT_EQ(devices[0].gpu.uuid, node.devices[0].uuid);
  EXPECT_EQ(devices[0].gpu.memory_mib, 7);
}

TEST(SimulatedHardware, AnIdIsAPlaceOnTheBus) {
  kapi::SimNode sim = kapi::defaultNodes()[0];
  std::swap(sim.devices[0], sim.devices[3]);
  const auto devices = devicesOf(hardwareOf(sim));
  EXPECT_EQ(devices[0].gpu.uuid, kapi::defaultNodes()[0].devices[0].uuid);
  EXPECT_EQ(devices[3].gpu.pci_bus_id, "00000000:03:00.0");
  EXPECT_EQ(devices[3].gpu.minor, 3);
  sim.devices[0].id = 300;
  EXPECT_EQ(devicesOf(hardwareOf(sim)).back().gpu.pci_bus_id, "00000001:2C:00.0");
}

}  // namespace
}  // namespace gs::agent
