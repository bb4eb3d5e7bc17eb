#include "agent/node_devices.h"

#include <gtest/gtest.h>

namespace gs::agent {
namespace {

TEST(NodeDevices, AreGpusAndTheirPartitionsInOrder) {
  Device split;
  split.id = 1;
  split.gpu.uuid = "GPU-1";
  split.gpu.minor = 5;
  split.gpu.partitions = {{"MIG-0", "1g.10gb", 10, 100}, {"", "1g.10gb", 10, 100}, {"MIG-2", "", 0, 0}};
  Device amd;
  amd.id = 0;
  amd.gpu.uuid = "GPU-0";
  amd.gpu.vendor = Vendor::Amd;
  amd.gpu.render_node = "/dev/dri/renderD128";
  amd.gpu.pci_bus_id = "00000000:01:00.0";
  const auto all = nodeDevicesOf({split, amd});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].id, (model::DeviceId{0, model::DeviceId::kWhole}));
  EXPECT_EQ(all[0].vendor, model::Vendor::Amd);
  EXPECT_EQ(all[0].render_node, "/dev/dri/renderD128");
  EXPECT_EQ(all[0].pci_bus_id, "00000000:01:00.0");
  EXPECT_EQ(all[0].minor, -1);
  EXPECT_EQ(all[1].id, (model::DeviceId{1, model::DeviceId::kWhole}));
  EXPECT_EQ(all[2].id, (model::DeviceId{1, 0}));
  EXPECT_EQ(all[2].uuid, "MIG-0");
  EXPECT_EQ(all[2].minor, 5) << "it is reached by its GPU's node";
  EXPECT_EQ(all[3].id, (model::DeviceId{1, 2}))
      << "one without a UUID is left out, and the others keep theirs";
}

}  // namespace
}  // namespace gs::agent
