#include "agent/simulated.h"

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
    EXPECT_EQ(status.devices[id], meant) << id;
  }
  EXPECT_EQ(status.devices[1].links, (std::vector<model::Link>{{0, 600}, {2, 600}, {3, 600}}));
}

TEST(SimulatedHardware, LinksSayHowFastAPairIs) {
  kapi::SimNode sim = kapi::defaultNodes()[1];
  sim.devices[0].links = {{1, 300}, {4, 64}};
  const auto status = published(sim);
  EXPECT_EQ(status.devices[0].links, (std::vector<model::Link>{{1, 300}, {2, 600}, {3, 600}, {4, 64}}));
  EXPECT_EQ(status.devices[0].bandwidth_gbps, 300) << "the worst pair";
  EXPECT_EQ(status.devices[0].island, "0");
  EXPECT_EQ(status.devices[4].island, "1");
}

TEST(SimulatedHardware, AnIdIsAPlaceOnTheBus) {
  kapi::SimNode sim = kapi::defaultNodes()[0];
  std::swap(sim.devices[0], sim.devices[3]);
  const auto devices = devicesOf(hardwareOf(sim));
  EXPECT_EQ(devices[0].gpu.uuid, kapi::defaultNodes()[0].devices[0].uuid);
  EXPECT_EQ(devices[3].gpu.pci_bus_id, "00000000:03:00.0");
  sim.devices[0].id = 300;
  EXPECT_EQ(devicesOf(hardwareOf(sim)).back().gpu.pci_bus_id, "00000001:2C:00.0");
}

}  // namespace
}  // namespace gs::agent
