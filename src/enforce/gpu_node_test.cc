#include "enforce/gpu_node.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "enforce/device_table.h"
#include "enforce/fixture_test.h"

namespace gs::enforce {
namespace {

rpc::nri::LinuxDevice charDevice(const std::string& path, std::int64_t major, std::int64_t minor) {
  rpc::nri::LinuxDevice out;
  out.path = path;
  out.type = "c";
  out.major = major;
  out.minor = minor;
  return out;
}

TEST(GpuNodes, NumbersSayWhoseItIsAndPathsWhereTheyDoNot) {
  struct Case {
    const char* path;
    std::int64_t major;
    std::int64_t minor;
    std::optional<GpuNode> expected;
    bool is_of_driver;
  };
  for (const Case& one : {
           Case{"/dev/nvidia0", 195, 3, GpuNode{NodeKind::Gpu, 3}, true},  // renamed: it opens GPU 3
           Case{"/dev/mine", 195, 3, GpuNode{NodeKind::Gpu, 3}, true},
           Case{"/dev/nvidia4", 1, 3, GpuNode{NodeKind::Gpu, 4}, false},  // a stand-in: null stays allowed
           Case{"/dev/nvidia4", 1, 0, std::nullopt, false},               // a dead one of ours
           Case{"/dev/nvidiactl", 195, 255, std::nullopt, false},
           Case{"/dev/nvidia-modeset", 195, 254, std::nullopt, false},
           Case{"/dev/nvidia-uvm", 510, 0, std::nullopt, false},
           Case{"/dev/nvidia-uvm-tools", 510, 1, std::nullopt, false},
           Case{"/dev/kfd", 234, 0, std::nullopt, false},
           Case{"/dev/dri/renderD130", 226, 130, GpuNode{NodeKind::Render, 130}, true},
           Case{"/dev/dri/card1", 226, 1, GpuNode{NodeKind::Card, 1}, true},
           Case{"/dev/nvidia-caps/nvidia-cap7", 240, 7, GpuNode{NodeKind::Cap, 7}, true},
           Case{"/dev/nvidia", 1, 3, std::nullopt, false},
           Case{"/dev/nvidia0x", 1, 3, std::nullopt, false},
           Case{"/dev/nvidia99999999", 1, 3, std::nullopt, false},
       }) {
    const auto device = charDevice(one.path, one.major, one.minor);
    EXPECT_EQ(gpuNodeOf(device), one.expected) << one.path << " " << one.major << ":" << one.minor;
    EXPECT_EQ(isOfDriver(device), one.is_of_driver) << one.path << " " << one.major << ":" << one.minor;
  }
}

TEST(GpuNodes, ADeadNodeIsNobodys) { EXPECT_EQ(gpuNodeOf(deadNode("/dev/nvidia3")), std::nullopt); }

TEST(DeviceTable, FindsByUuidByNumberAndByNode) {
  NodeRecord record;
  record.devices = fixture::devicesOfNode(3, true);  // GPU 2 has two partitions
  const DeviceTable table{record};
  ASSERT_NE(table.byName("GPU-1"), nullptr);
  EXPECT_EQ(table.byName("GPU-1")->id, fixture::gpu(1));
  ASSERT_NE(table.byName("1"), nullptr);
  EXPECT_EQ(table.byName("1")->id, fixture::gpu(1));
  ASSERT_NE(table.byName("MIG-2-1"), nullptr);
  EXPECT_EQ(table.byName("MIG-2-1")->id, (model::DeviceId{2, 1}));
  for (const char* nobody : {"", "GPU-", "3", "-1", "1.0", "0:1", "99999", "gpu-1"}) {
    EXPECT_EQ(table.byName(nobody), nullptr) << nobody;
  }
  ASSERT_EQ(table.byNode({NodeKind::Gpu, 2}).size(), 1U);  // minors are counted backwards there
  EXPECT_EQ(table.byNode({NodeKind::Gpu, 2}).front()->id, fixture::gpu(0));
  EXPECT_EQ(table.byNode({NodeKind::Gpu, 0}).size(), 2U) << "both partitions of GPU 2, and not GPU 2";
  EXPECT_TRUE(table.byNode({NodeKind::Card, 0}).empty());
  EXPECT_TRUE(table.isSplit(2));
  EXPECT_FALSE(table.isSplit(1));
}

TEST(HeldByOther, AGpuAndItsPartitionsOverlap) {
  NodeRecord record;
  record.held = {
      {fixture::gpu(0), model::Uid{"a"}}, {{1, 0}, model::Uid{"b"}}, {fixture::gpu(2), model::Uid{}}};
  EXPECT_TRUE(heldByOther(record, {0, 1}, model::Uid{"b"}));
  EXPECT_FALSE(heldByOther(record, {0, 1}, model::Uid{"a"}));
  EXPECT_TRUE(heldByOther(record, fixture::gpu(1), model::Uid{"a"}));
  EXPECT_FALSE(heldByOther(record, {1, 1}, model::Uid{"a"}));
  EXPECT_TRUE(heldByOther(record, fixture::gpu(2), model::Uid{"a"})) << "of a pod that nobody knows";
  EXPECT_FALSE(heldByOther(record, fixture::gpu(3), model::Uid{}));
}

}  // namespace
}  // namespace gs::enforce
