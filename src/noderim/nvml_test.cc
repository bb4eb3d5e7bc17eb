// Against test/nvml/, a library of ours that has NVML's C functions.
#include "noderim/nvml.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "agent/health.h"
#include "agent/status.h"
#include "base/files.h"
#include "base/temp_folder_test.h"

namespace gs::noderim {
namespace {

using agent::Device;
using agent::Fault;
using model::Health;

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() { setenv("GS_FAKE_NVML", path_.c_str(), 1); }

  void write(const std::string& text) { std::ofstream{path_} << text; }
  void play(const std::string& name) { write(*readFile("test/nvml/" + name + ".script")); }
  std::vector<Device> devices() {
    last_ = nvml_.look();
    EXPECT_TRUE(last_) << (last_ ? "" : last_.error().text);
    return last_ ? agent::devicesOf(*last_) : std::vector<Device>{};
  }
  Fault fault() {
    last_ = nvml_.look();
    EXPECT_FALSE(last_);
    return last_ ? Fault{} : last_.error();
  }
  static std::string one(const std::string& words) {
    return "driver 1\ngpu uuid=GPU-1 name=X mib=1 pci=00000000:01:00.0 " + words + "\n";
  }
  static std::string two(const std::string& words) {
    return one(words) + "gpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0 " + words + "\n";
  }

  TempFolder folder_;
  std::string path_ = folder_.path("script");
  Nvml nvml_{{.library = GS_NVML_fake, .sysfs = folder_.path("sys")}};
  agent::Look last_;
};

std::string islandsIn(const std::vector<Device>& devices) {
  std::string out;
  for (const Device& d : devices) { out += d.island; }
  return out;
}

TEST_F(NvmlTest, ADgxH100IsOneIslandOfItsNvLinks) {
  play("dgx-h100");
  const auto all = devices();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(last_->driver_version, "550.54.15");
  EXPECT_EQ(islandsIn(all), "00000000");
  const Device& d = all[5];
  EXPECT_EQ(d.gpu.uuid, "GPU-h100-5");
  EXPECT_EQ(d.gpu.model, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(d.gpu.memory_mib, 81'559);
  EXPECT_EQ(d.gpu.pci_bus_id, "00000000:C3:00.0");
  EXPECT_EQ(d.gpu.numa_node, 1);
  EXPECT_EQ(d.gpu.health, Health::Healthy) << d.gpu.reason;
  EXPECT_EQ(d.bandwidth_gbps, 956) << "18 links of 26.562 GB/s, both directions";
  ASSERT_EQ(d.links.size(), 7U);
  EXPECT_EQ(d.links[0], (agent::DeviceLink{0, agent::LinkType::NvLink, 956}));
}

TEST_F(NvmlTest, WhatCudaCodeAGpuRunsIsKnownOnceItWasTold) {
  write(one("cc=9.0"));
  EXPECT_EQ(devices().at(0).gpu.compute, "9.0");
  write(one(""));
  EXPECT_EQ(devices().at(0).gpu.compute, "9.0");
  EXPECT_EQ(last_->gpus.at(0).health, Health::Healthy);
}

TEST_F(NvmlTest, AnHgxA100IsOneIslandOf600GBps) {
  play("hgx-a100");
  const auto all = devices();
  EXPECT_EQ(islandsIn(all), "00000000");
  EXPECT_EQ(all[0].bandwidth_gbps, 600);
  EXPECT_EQ(all[7].gpu.numa_node, 3);
}

TEST_F(NvmlTest, FourL40sWithoutNvLinkAreTwoIslandsOfPcie) {
  play("l40s");
  const auto all = devices();
  EXPECT_EQ(islandsIn(all), "0011");
  EXPECT_EQ(all[0].bandwidth_gbps, 64) << "generation 4, 16 lanes";
  EXPECT_EQ(all[0].links, (std::vector<agent::DeviceLink>{{1, agent::LinkType::Pcie, 64}}));
}

TEST_F(NvmlTest, IdsAreThoseOfTheBusWhateverOrderTheDriverHas) {
  play("l40s-renumbered");
  const auto all = devices();
  EXPECT_EQ(all[0].gpu.uuid, "GPU-l40s-3");
  EXPECT_EQ(all[1].gpu.uuid, "GPU-l40s-1");
  EXPECT_EQ(all[2].gpu.uuid, "GPU-l40s-0");
}

TEST_F(NvmlTest, ALostGpuStaysInItsPlaceWithTheReason) {
  play("dgx-h100");
  (void)devices();
  play("gpu-lost");
  auto all = devices();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[3].gpu.uuid, "GPU-h100-3");
  EXPECT_EQ(all[3].gpu.health, Health::Unhealthy);
  EXPECT_EQ(all[3].gpu.reason, "GPU is lost: it does not answer on the bus; reboot the node");
  EXPECT_EQ(all[4].gpu.health, Health::Healthy);
  EXPECT_EQ(islandsIn(all), "00010000");
  play("dgx-h100");
  all = devices();
  EXPECT_EQ(all[3].gpu.health, Health::Healthy) << "its driver says that nothing is to be done";
}

TEST_F(NvmlTest, OneThatWasLostBeforeTheStartComesLast) {
  write(one("lost=handle") + "gpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0\n");
  const auto all = devices();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].gpu.uuid, "GPU-2");
  EXPECT_EQ(all[1].gpu.uuid, "");
  EXPECT_EQ(all[1].gpu.health, Health::Unhealthy);
}

TEST_F(NvmlTest, OneThatCanNotBeNamedAnyMoreIsWhoHadItsPlace) {
  write(one(""));
  (void)devices();
  write(one("lost=handle"));
  const auto all = devices();
  EXPECT_EQ(all.at(0).gpu.uuid, "GPU-1");
  EXPECT_EQ(all.at(0).gpu.pci_bus_id, "00000000:01:00.0");
  EXPECT_EQ(all.at(0).gpu.health, Health::Unhealthy);
}

/// As after a driver was loaded into anew.
TEST_F(NvmlTest, OneThatCanNotBeNamedIsNotWhoHasAnotherPlaceNow) {
  const std::string second = "gpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0\n";
  write(one("") + second);
  (void)devices();
  write(second + one("lost=handle"));
  const auto all = devices();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].gpu.uuid, "GPU-2");
  EXPECT_EQ(all[0].gpu.health, Health::Healthy);
  EXPECT_EQ(all[1].gpu.uuid, "");
}

struct HealthCase {
  const char* name;
  const char* words;
  const char* more;
  Health health;
  const char* says;
};
class NvmlHealth : public NvmlTest, public ::testing::WithParamInterface<HealthCase> {};
TEST_P(NvmlHealth, IsWhatTheDriverSays) {
  write(one(GetParam().words) + GetParam().more);
  const auto all = devices();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].gpu.health, GetParam().health) << all[0].gpu.reason;
  EXPECT_NE(all[0].gpu.reason.find(GetParam().says), std::string::npos) << all[0].gpu.reason;
}
INSTANTIATE_TEST_SUITE_P(
    Table, NvmlHealth,
    ::testing::Values(
        HealthCase{"Fine", "recovery=0", "", Health::Healthy, ""},
        HealthCase{"RecoveryAction", "recovery=2", "", Health::Unhealthy, "reboot the node"},
        HealthCase{"RecoveryActionOfALaterDriver", "recovery=77", "", Health::Healthy, ""},
        HealthCase{"RowsWait", "pending=1", "", Health::Unknown, "wait to be replaced"},
        HealthCase{"RowsFailed", "failure=1", "", Health::Unhealthy, "could not be replaced"},
        HealthCase{"EccWithRows", "ecc=3", "", Health::Unknown, "3 uncorrectable"},
        HealthCase{"EccWithoutRows", "ecc=3 noremap=1", "", Health::Unhealthy, "3 uncorrectable"},
        HealthCase{"MigWithoutPartitions", "mig=1", "", Health::Unhealthy, "there is no partition"},
        HealthCase{"MigWithOne", "mig=1", "mig at=0 uuid=MIG-0\n", Health::Healthy, ""},
        HealthCase{"FabricInProgress", "fabric=2", "", Health::Unknown, "fabric"},
        HealthCase{"FabricNotStarted", "fabric=1", "", Health::Unknown, "fabric"},
        HealthCase{"FabricByTheOlderStruct", "fabric=2 fabricv2=1", "", Health::Unknown, "fabric"},
        HealthCase{"FabricCompleted", "fabric=3 summary=1", "", Health::Healthy, ""},
        HealthCase{"FabricCompletedWithAnError", "fabric=3 fabricstatus=999", "", Health::Unknown,
                   "not set up"},
        HealthCase{"FabricUnhealthy", "fabric=3 summary=2", "", Health::Unhealthy, "fabric failed"},
        HealthCase{"FabricLimited", "fabric=3 summary=3", "", Health::Unknown, "less than it has"},
        HealthCase{"FabricUnreadable", "fabric=3", "fail nvmlDeviceGetGpuFabricInfoV 999\n", Health::Unknown,
                   "cannot tell its fabric"},
        HealthCase{"MigModeUnsupported", "", "fail nvmlDeviceGetMigMode 3\n", Health::Healthy, ""},
        HealthCase{"MigModeUnreadable", "", "fail nvmlDeviceGetMigMode 999\n", Health::Unknown,
                   "cannot tell its partitions"},
        HealthCase{"MigModeForbidden", "", "fail nvmlDeviceGetMigMode 4\n", Health::Unknown,
                   "cannot tell its partitions"},
        HealthCase{"MigCountUnreadable", "mig=1", "fail nvmlDeviceGetMaxMigDeviceCount 3\n",
                   Health::Unhealthy,
                   "MIG is on, and its partitions cannot be read (the driver cannot tell its partitions"},
        HealthCase{"MigHandleUnreadable", "mig=1",
                   "mig at=0 uuid=MIG-0\nfail nvmlDeviceGetMigDeviceHandleByIndex 2\n", Health::Unhealthy,
                   "MIG is on, and its partitions cannot be read (the driver cannot tell its partitions"},
        HealthCase{"MigOneWithoutAName", "mig=1", "mig at=0\n", Health::Unhealthy,
                   "MIG is on, and its partitions cannot be read (the driver cannot tell its partitions"},
        HealthCase{"MigHandleForbidden", "mig=1",
                   "mig at=0 uuid=MIG-0\nfail nvmlDeviceGetMigDeviceHandleByIndex 4\n", Health::Unhealthy,
                   "MIG is on, and its partitions cannot be read"},
        HealthCase{"LinksUnreadable", "links=2*switch@1", "fail nvmlDeviceGetNvLinkState 999\n",
                   Health::Unknown, "cannot tell its NVLinks"},
        HealthCase{"LostAtItsLinks", "links=2*switch@1", "fail nvmlDeviceGetNvLinkRemotePciInfo_v2 15\n",
                   Health::Unhealthy, "GPU is lost"},
        HealthCase{"Xid", "", "xid 0 95\n", Health::Unhealthy, "XID 95"},
        HealthCase{"XidOfAProgram", "", "xid 0 31\n", Health::Healthy, ""},
        HealthCase{"XidThatWasSeenTo", "recovery=0", "xid 0 95\n", Health::Healthy, ""},
        HealthCase{"ResetRequired", "",
                   "fail nvmlDeviceGetMemoryInfo_v2 16\nfail nvmlDeviceGetMemoryInfo 16\n", Health::Unhealthy,
                   "wants the GPU reset"},
        HealthCase{"AnErrorThatSaysNothing", "", "fail nvmlDeviceGetName 999\n", Health::Unknown,
                   "the driver cannot tell its name: Unknown Error (999)"},
        HealthCase{"NoPermission", "", "fail nvmlDeviceGetTotalEccErrors 4\n", Health::Healthy, ""}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST_F(NvmlTest, OneThatTheDriverDoesNotGiveHidesNoOther) {
  const std::string third = "gpu uuid=GPU-3 name=X mib=1 pci=00000000:03:00.0\n";
  const std::string bad = "gpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0 handle=999\n";
  write(one("") + bad + third);
  auto all = devices();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].gpu.health, Health::Healthy);
  EXPECT_EQ(all[1].gpu.uuid, "GPU-3");
  EXPECT_EQ(all[1].gpu.health, Health::Healthy);
  EXPECT_EQ(all[2].gpu.uuid, "");
  EXPECT_EQ(all[2].gpu.health, Health::Unknown);
  EXPECT_EQ(all[2].gpu.reason, "the driver does not give it: Unknown Error (999)");
  EXPECT_EQ(all[2].gpu.counted, agent::Counted::Maybe);
  EXPECT_EQ(all[2].gpu.above, "00000000:01:00.0") << "the others come in the order of the bus";
  write(two("") + third);
  (void)devices();
  write(one("") + bad + third);
  all = devices();
  EXPECT_EQ(all.at(1).gpu.uuid, "GPU-2");
  EXPECT_EQ(all.at(1).gpu.health, Health::Unknown);
  EXPECT_EQ(all.at(1).gpu.counted, agent::Counted::Maybe);
}

TEST_F(NvmlTest, WhereTheDriverHasAnotherOrderNobodyKnowsAboveWhomItIs) {
  write(
      "driver 1\ngpu uuid=GPU-2 pci=00000000:02:00.0\ngpu lost=handle\ngpu uuid=GPU-1 "
      "pci=00000000:01:00.0\n");
  EXPECT_EQ(devices().at(2).gpu.above, "");
}

/// The kernel has what the driver cannot say.
TEST_F(NvmlTest, OneThatWasNeverNamedIsWhereTheKernelKnowsOfOne) {
  const auto on_bus = [&](const std::string& address, const char* vendor, const char* kind,
                          const char* driver) {
    const std::filesystem::path at = folder_.path("sys/bus/pci/devices/" + address);
    std::filesystem::create_directories(at);
    std::ofstream{at / "vendor"} << vendor << "\n";
    std::ofstream{at / "class"} << kind << "\n";
    if (driver != nullptr) { std::filesystem::create_symlink(driver, at / "driver"); }
  };
  const char* nvidia = "../../../../bus/pci/drivers/nvidia";
  for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:0a:00.0"}) {
    on_bus(address, "0x10de", "0x030200", nvidia);
  }
  on_bus("0000:03:00.0", "0x10de", "0x030200", "../../../../bus/pci/drivers/vfio-pci");
  on_bus("0000:04:00.0", "0x10de", "0x068000", nvidia);  // an NVSwitch
  on_bus("0000:05:00.0", "0x1002", "0x030200", nvidia);
  on_bus("0000:06:00.0", "0x10de", "0x030000", nullptr);
  write("driver 1\ngpu lost=handle\n" + two("").substr(9));
  auto all = devices();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].gpu.pci_bus_id, "00000000:0A:00.0");
  EXPECT_EQ(all[2].gpu.health, Health::Unhealthy);
  EXPECT_EQ(all[1].gpu.uuid, "GPU-2");
  write("driver 1\ngpu lost=handle\ngpu lost=handle\n" + two("").substr(9));
  EXPECT_EQ(devices().at(2).gpu.pci_bus_id, "") << "two are missing, and the kernel knows of one";
}

TEST_F(NvmlTest, OneThatIsOnNoBusIsAGpuAsAnyOther) {
  for (const char* says : {"nopci=3", "nopci=13", "pci="}) {
    write(std::string{"driver 1\ngpu uuid=GPU-orin name=Orin mib=1 "} + says + "\n");
    const auto all = devices();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].gpu.uuid, "GPU-orin");
    EXPECT_EQ(all[0].gpu.health, Health::Healthy) << all[0].gpu.reason;
    EXPECT_EQ(all[0].gpu.counted, agent::Counted::Yes);
  }
}

TEST_F(NvmlTest, OneWhosePlaceCannotBeReadSaysSo) {
  write(one("") + "gpu uuid=GPU-2 name=X mib=1 nopci=999\n");
  const auto all = devices();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].gpu.health, Health::Healthy);
  EXPECT_EQ(all[1].gpu.reason, "the driver cannot tell its place on the bus: Unknown Error (999)");
}

TEST_F(NvmlTest, OneThatIsLostMayBeCountedOrNot) {
  for (const char* how : {"lost=1", "lost=real", "lost=handle"}) {
    write(two(""));
    (void)devices();
    write("driver 1\ngpu uuid=GPU-1 name=X mib=1 pci=00000000:01:00.0 " + std::string{how} +
          "\ngpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0\n");
    const auto all = devices();
    EXPECT_EQ(all.at(0).gpu.uuid, "GPU-1") << how;
    EXPECT_EQ(all.at(0).gpu.counted, agent::Counted::Maybe) << how;
    EXPECT_EQ(all.at(1).gpu.counted, agent::Counted::Yes) << how;
  }
  write(one("") + "xid 0 79\n");
  EXPECT_EQ(devices().at(0).gpu.counted, agent::Counted::Maybe);
  write(one("") + "fail nvmlDeviceGetTotalEccErrors 16\n");
  EXPECT_EQ(devices().at(0).gpu.counted, agent::Counted::Maybe) << "it wants to be reset";
}

/// It was read once, and so it is known: whatever fails later.
TEST_F(NvmlTest, OneThatIsKnownToBeSplitStaysSo) {
  write(one("mig=1") + "mig at=0 uuid=MIG-0\nfail nvmlDeviceGetMigDeviceHandleByIndex 4\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
  write(one("mig=1") + "fail nvmlDeviceGetMigMode 999\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
  write(one("mig=1") + "mig at=0 uuid=MIG-0\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Healthy);
}

/// As drivers do it: a GPU that fell off the bus still has its name, and nothing else.
TEST_F(NvmlTest, WhatALostGpuCannotTellIsAsItWas) {
  const std::string split = "mig=1 links=2*switch@25000 numa=0 ";
  const std::string partition = "mig at=0 uuid=MIG-0 name=A_MIG_1g.10gb mib=1\n";
  write(one(split) + partition);
  const auto before = devices().at(0).gpu;
  write(one(split + "lost=real") + partition);
  const auto after = devices().at(0).gpu;
  EXPECT_EQ(after.health, Health::Unhealthy);
  EXPECT_EQ(after.memory_mib, 1);
  EXPECT_EQ(after.partitions, before.partitions);
  EXPECT_EQ(after.numa_node, before.numa_node);
}

TEST_F(NvmlTest, WhatOneLookCannotTellIsAsItWas) {
  const std::string words = "mig=1 links=2*switch@25000 fabric=3 cluster=7 numa=0 ";
  const std::string rest = " name=A_MIG_1g.10gb mib=1\n";
  const std::string script = one(words) + "mig at=0 uuid=MIG-1" + rest +
                             "gpu uuid=GPU-2 name=X mib=1 pci=00000000:02:00.0 " + words +
                             "\nmig at=0 uuid=MIG-2" + rest;
  write(script);
  const auto before = devices();
  ASSERT_EQ(before.at(1).gpu.partitions.size(), 1U);
  for (const char* call :
       {"nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetUUID", "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetGpuFabricInfoV"}) {
    SCOPED_TRACE(call);
    write(script + "fail " + call + " 999\n");
    auto now = devices();
    ASSERT_EQ(now.size(), 2U);
    for (std::size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i].gpu.reason.find("the driver cannot tell its "), 0U) << now[i].gpu.reason;
      now[i].gpu.health = before[i].gpu.health;
      now[i].gpu.reason = before[i].gpu.reason;
    }
    EXPECT_EQ(now, before);
  }
}

TEST_F(NvmlTest, ALostGpuIsAskedNothingMore) {
  write(one(""));
  (void)devices();
  write(one("lost=1") + "hang nvmlDeviceGetTotalEccErrors\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
}

TEST_F(NvmlTest, ReportsOfErrorsAreAskedForAgainWhenThatFailed) {
  write(one("") + "fail nvmlDeviceRegisterEvents 999\n");
  (void)devices();
  write(one(""));
  (void)devices();
  write(one("") + "xid 0 95\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
}

TEST_F(NvmlTest, OneLookTakesSoManyErrorsAndTheNextTheRest) {
  std::string script = one("");
  for (int i = 0; i < 256; ++i) { script += "xid 0 31\n"; }
  write(script + "xid 0 95\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Healthy);
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
}

TEST_F(NvmlTest, TheFirstErrorsOfAGpuAreKept) {
  std::string script = one("");
  for (int i = 0; i < 70; ++i) { script += "xid 0 " + std::to_string(1000 + i) + "\n"; }
  write(script);
  EXPECT_EQ(agent::xidsIn(devices().at(0).gpu.reason).size(), 64U);
}

TEST_F(NvmlTest, WhereTheDriverSaysThatNothingIsToBeDoneErrorsOfBeforeAreOver) {
  write(one("recovery=0"));
  EXPECT_TRUE(devices().at(0).gpu.is_cleared);
  write(one(""));
  EXPECT_FALSE(devices().at(0).gpu.is_cleared) << "it does not say";
}

TEST_F(NvmlTest, AnXidCountsOnAfterTheLookThatTookIt) {
  write(one(""));
  (void)devices();
  write(one("") + "xid 0 95\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy);
  write(one("") + "xid 0 95\nxid 0 31\n");
  EXPECT_EQ(devices().at(0).gpu.health, Health::Unhealthy) << "one of a program beside it changes nothing";
}

TEST_F(NvmlTest, AnOlderDriverLeavesUnsaidWhatItDoesNotKnow) {
  Nvml old{{.library = GS_NVML_old, .sysfs = folder_.path("sys")}};
  write(two("links=4*00000000:01:00.0@25000,4*00000000:02:00.0@25000 numa=0"));
  const auto look = old.look();
  ASSERT_TRUE(look);
  const auto all = agent::devicesOf(*look);
  EXPECT_EQ(all[0].gpu.memory_mib, 1);
  EXPECT_EQ(all[0].gpu.numa_node, -1);
  EXPECT_EQ(all[0].gpu.health, Health::Healthy) << all[0].gpu.reason;
  EXPECT_EQ(islandsIn(all), "00");
  EXPECT_EQ(all[0].bandwidth_gbps, 200);
}

// ---- links

TEST_F(NvmlTest, LinksThatAreDownDoNotCount) {
  write(two("links=18*switch@25000 down=6"));
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 600);
}

TEST_F(NvmlTest, ASpeedThatIsToldForAllLinksAtOnceCounts) {
  write(two("links=4*switch@1 common=20000"));
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 160);
}

TEST_F(NvmlTest, BehindASwitchTheSlowerOneOfAPairCounts) {
  write(one("links=18*switch@25000") + "gpu uuid=GPU-2 pci=00000000:02:00.0 links=2*switch@25000\n");
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 100);
}

TEST_F(NvmlTest, GpusThatCannotReachEachOtherAreNoIsland) {
  const auto pair = [](const char* first, const char* second) {
    return one(std::string{"numa=0 links=2*switch@25000 "} + first) +
           "gpu uuid=GPU-2 pci=00000000:02:00.0 numa=1 links=2*switch@25000 " + second + "\n";
  };
  write(pair("p2p=a", "p2p=a"));
  EXPECT_EQ(islandsIn(devices()), "00");
  write(pair("p2p=a", "p2p=b"));
  EXPECT_EQ(islandsIn(devices()), "01");
  write(pair("fabric=3 clique=1", "fabric=3 clique=2"));
  EXPECT_EQ(islandsIn(devices()), "01");
  write(pair("fabric=3 cluster=1", "fabric=3 cluster=2"));
  EXPECT_EQ(islandsIn(devices()), "01");
  write(pair("p2p=a", "p2p=a") + "fail nvmlDeviceGetP2PStatus 3\n");
  EXPECT_EQ(islandsIn(devices()), "00") << "it cannot be asked";
  write(pair("p2p=a", "p2p=a") + "fail nvmlDeviceGetP2PStatus 999\n");
  EXPECT_EQ(islandsIn(devices()), "01");
}

TEST_F(NvmlTest, LinksAfterOneThatIsNotThereCount) {
  write(two("links=18*switch@25000 nolink=3"));
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 850);
}

TEST_F(NvmlTest, PcieIsThatOfTheSlowerSlot) {
  write(one("numa=0 pcie=5") + "gpu uuid=GPU-2 pci=00000000:02:00.0 numa=0 pcie=3 lanes=8\n");
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 16);
  write(two("numa=0 pcie=99"));
  EXPECT_EQ(devices().at(0).bandwidth_gbps, 0) << "a generation that nobody knows";
}

TEST_F(NvmlTest, TheKernelsNumaNodeGoesFirst) {
  const std::string device = "sys/bus/pci/devices/0000:01:00.0";
  std::filesystem::create_directories(folder_.path() / device);
  std::ofstream{folder_.path(device + "/numa_node")} << "5\n";
  write(two("numa=1"));
  const auto all = devices();
  EXPECT_EQ(all.at(0).gpu.numa_node, 5);
  EXPECT_EQ(all.at(1).gpu.numa_node, 1);
}

/// The files by which containers have it: the number of one by the driver, the other by the kernel.
TEST_F(NvmlTest, ItsMinorNumberAndItsRenderNodeAreTold) {
  std::filesystem::create_directories(folder_.path() / "sys/bus/pci/devices/0000:01:00.0/drm/renderD129");
  write(two("minor=3"));
  const auto all = devices();
  EXPECT_EQ(all.at(0).gpu.minor, 3);
  EXPECT_EQ(all.at(0).gpu.render_node, "/dev/dri/renderD129");
  EXPECT_EQ(all.at(1).gpu.render_node, "") << "of another address";
  write(one("minor=254") + "gpu uuid=GPU-2 pci=00000000:02:00.0\n");
  EXPECT_EQ(devices().at(0).gpu.minor, 3) << "254 is no GPU's, so it is as it was";
}

TEST_F(NvmlTest, PartitionsAreListed) {
  write(
      "driver 1\ngpu uuid=GPU-1 name=A100 mib=40960 pci=00000000:01:00.0 mig=1\n"
      "mig at=0 uuid=MIG-0 name=A100_MIG_3g.20gb mib=20096\nmig at=2 uuid=MIG-2 name=A100_MIG_1g.5gb "
      "mib=4864\n");
  EXPECT_EQ(devices().at(0).gpu.partitions, (std::vector<agent::Partition>{{"MIG-0", "3g.20gb", 20'096, 490},
                                                                           {"MIG-2", "1g.5gb", 4'864, 118}}));
}

// ---- the driver as a whole

TEST_F(NvmlTest, NoLibraryIsNoDriver) {
  Nvml none{{.library = "libnvidia-that-is-not-there.so.1"}};
  for (int i = 0; i < 2; ++i) {
    const auto look = none.look();
    ASSERT_FALSE(look);
    EXPECT_EQ(look.error().kind, Fault::Kind::Absent);
    EXPECT_NE(look.error().text.find("libnvidia-that-is-not-there.so.1"), std::string::npos);
    EXPECT_NE(look.error().text.find("--nvml-library"), std::string::npos);
  }
}

TEST_F(NvmlTest, AnotherLibraryIsNotNvml) {
  Nvml other{{.library = "libm.so.6"}};
  const auto look = other.look();
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().text,
            "libm.so.6: it lacks the functions of NVML; name the driver's library by --nvml-library");
}

TEST_F(NvmlTest, WhatTheDriverSaysAtTheStartIsTold) {
  write("fail nvmlInit_v2 9\n");
  EXPECT_EQ(fault().kind, Fault::Kind::Absent);
  write("fail nvmlInit_v2 18\n");
  const Fault mismatch = fault();
  EXPECT_EQ(mismatch.kind, Fault::Kind::Failing);
  EXPECT_NE(mismatch.text.find("mismatch (18); the driver was changed: reboot the node"), std::string::npos);
}

TEST_F(NvmlTest, ADriverThatFailsIsLoadedIntoAnew) {
  write(one("") + "fail nvmlDeviceGetCount_v2 999\n");
  EXPECT_EQ(fault().text, "the GPU driver cannot tell how many GPUs there are: Unknown Error (999)");
  write(one("") + "fail nvmlInit_v2 9\n");
  EXPECT_EQ(fault().kind, Fault::Kind::Absent) << "it asks from the beginning";
  write(one(""));
  EXPECT_EQ(devices().size(), 1U);
}

}  // namespace
}  // namespace gs::noderim
