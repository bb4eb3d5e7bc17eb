// Against test/rocm/, a library of ours that has rocm_smi's C functions, and a sysfs of ours beside it.
#include "noderim/rocm.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "agent/status.h"
#include "base/deadline_test.h"
#include "base/files.h"
#include "base/temp_folder_test.h"
#include "noderim/poller.h"

namespace gs::noderim {
namespace {

using namespace std::chrono_literals;
using agent::Fault;

class RocmTest : public ::testing::Test {
 protected:
  RocmTest() { setenv("GS_FAKE_ROCM", script_.c_str(), 1); }

  void write(const std::string& text) { std::ofstream{script_} << text; }
  void play(const std::string& name) { write(*readFile("test/rocm/" + name + ".script")); }
  /// As the kernel has it: of a GPU at bus, device 0.
  void kernel(int node, unsigned version, unsigned bus, unsigned domain = 0) {
    const auto at = folder_.path() / "sys/class/kfd/kfd/topology/nodes" / std::to_string(node);
    std::filesystem::create_directories(at);
    std::ofstream{at / "properties"} << "gfx_target_version " << version << "\nlocation_id " << (bus << 8U)
                                     << "\ndomain " << domain << "\n";
  }
  std::vector<agent::Gpu> gpus() {
    const auto look = rocm_.look();
    EXPECT_TRUE(look) << (look ? "" : look.error().text);
    return look ? look->gpus : std::vector<agent::Gpu>{};
  }
  Fault fault() {
    const auto look = rocm_.look();
    EXPECT_FALSE(look);
    return look ? Fault{} : look.error();
  }
  static std::string one(const std::string& words = "") {
    return "driver 6.10.5\ngpu pci=0000:c1:00.0 id=1 name=X mib=1 " + words + "\n";
  }

  TempFolder folder_;
  std::string script_ = folder_.path("script");
  Rocm rocm_{{.library = GS_ROCM_fake, .sysfs = folder_.path("sys")}};
};

TEST_F(RocmTest, TwoMi210AreWhatTheLibraryAndTheKernelSay) {
  play("mi210");
  kernel(2, 90010, 0xC1);
  kernel(1, 90010, 0x41);
  std::filesystem::create_directories(folder_.path() / "sys/bus/pci/devices/0000:c1:00.0/drm/renderD128");
  const auto look = rocm_.look();
  ASSERT_TRUE(look) << look.error().text;
  EXPECT_EQ(look->driver_version, "6.12.10-100.fc40.x86_64");
  ASSERT_EQ(look->gpus.size(), 2U);
  const agent::Gpu& gpu = look->gpus[0];
  EXPECT_EQ(gpu.vendor, agent::Vendor::Amd);
  EXPECT_EQ(gpu.uuid, "GPU-a1b2c3d4e5f60718");
  EXPECT_EQ(gpu.model, "Aldebaran/MI200 [Instinct MI210]");
  EXPECT_EQ(gpu.memory_mib, 65'520);
  EXPECT_EQ(gpu.pci_bus_id, "00000000:C1:00.0");
  EXPECT_EQ(gpu.compute, "gfx90a");
  EXPECT_EQ(gpu.render_node, "/dev/dri/renderD128");
  EXPECT_EQ(look->gpus[1].render_node, "") << "the kernel has none there";
  EXPECT_EQ(agent::devicesOf(*look)[0].gpu.pci_bus_id, "00000000:41:00.0");
}

TEST_F(RocmTest, Mi300xOfSeveralDomainsAreToldApart) {
  play("mi300x");
  kernel(1, 90402, 0x05);
  kernel(2, 90010, 0x26);
  kernel(3, 90402, 0x26, 2);
  const auto all = gpus();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].compute, "gfx942");
  EXPECT_EQ(all[1].pci_bus_id, "00000002:26:00.0");
  EXPECT_EQ(all[1].compute, "gfx942");
}

/// Their number is above the address, or, with older drivers, in place of the function.
TEST_F(RocmTest, PartitionsAreGpusAtAddressesOfTheirOwn) {
  write("driver 1\ngpu pci=0000:c1:00.0\ngpu pci=0000:c1:00.0 partition=1\ngpu pci=0000:c1:00.2\n");
  kernel(1, 90402, 0xC1);
  const auto all = gpus();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].pci_bus_id, "00000000:C1:00.1");
  EXPECT_EQ(all[2].pci_bus_id, "00000000:C1:00.2");
  for (const agent::Gpu& gpu : all) { EXPECT_EQ(gpu.compute, "gfx942"); }
}

TEST_F(RocmTest, OneWhoseNameNobodyKnowsIsCalledByItsArch) {
  write("driver 1\ngpu pci=0000:c1:00.0 name=0x1002\n");
  kernel(1, 90010, 0xC2);
  EXPECT_EQ(gpus().at(0).model, "0x1002");
  kernel(1, 90010, 0xC1);
  EXPECT_EQ(gpus().at(0).model, "AMD gfx90a");
  write(one());
  EXPECT_EQ(gpus().at(0).model, "X");
}

TEST_F(RocmTest, WhatTheKernelDoesNotSayIsLeftUnsaid) {
  write(one());
  kernel(1, 90010, 0xC2);
  EXPECT_EQ(gpus().at(0).compute, "");
}

TEST_F(RocmTest, WhatChangedIsSeenAtTheNextLook) {
  kernel(1, 90010, 0xC1);
  write(one());
  EXPECT_EQ(gpus().size(), 1U);
  write(one() + "gpu pci=0000:c2:00.0\n");
  EXPECT_EQ(gpus().size(), 2U);
  write("driver 1\n");
  EXPECT_EQ(gpus().size(), 0U);
}

TEST_F(RocmTest, ANameThatIsTooLongIsNone) {
  kernel(1, 90010, 0xC1);
  write("driver 1\ngpu pci=0000:c1:00.0 name=" + std::string(300, 'n') + "\n");
  EXPECT_EQ(gpus().at(0).model, "AMD gfx90a") << "the library says that it is none";
}

TEST_F(RocmTest, AnOlderLibraryLeavesUnsaidWhatItDoesNotKnow) {
  write(one());
  kernel(1, 90010, 0xC1);
  Rocm old{{.library = GS_ROCM_old, .sysfs = folder_.path("sys")}};
  const auto look = old.look();
  ASSERT_TRUE(look);
  EXPECT_EQ(look->driver_version, "");
  EXPECT_EQ(look->gpus.at(0).uuid, "");
  EXPECT_EQ(look->gpus.at(0).model, "AMD gfx90a");
  EXPECT_EQ(look->gpus.at(0).memory_mib, 0);
  EXPECT_EQ(look->gpus.at(0).compute, "gfx90a");
}

// ---- each status of each call

struct CallCase {
  const char* call;
  const char* fault;  // how its text begins; nullptr: the look goes on without what was asked
};
constexpr std::array kCodes{1U, 2U, 3U, 4U, 6U, 8U, 9U, 10U, 11U, 16U, 0xFFFF'FFFFU};

class RocmCallFails : public RocmTest, public ::testing::WithParamInterface<CallCase> {};
TEST_P(RocmCallFails, IsAFaultOrLeavesUnsaid) {
  kernel(1, 90010, 0xC1);
  for (const unsigned code : kCodes) {
    write(one() + "fail " + GetParam().call + " " + std::to_string(code) + "\n");
    const auto look = rocm_.look();
    ASSERT_EQ(look.has_value(), GetParam().fault == nullptr) << code;
    if (look) {
      ASSERT_EQ(look->gpus.size(), 1U) << code;
      EXPECT_EQ(look->gpus[0].pci_bus_id, "00000000:C1:00.0") << code;
      EXPECT_EQ(look->gpus[0].compute, "gfx90a") << code;
      continue;
    }
    EXPECT_EQ(look.error().kind, Fault::Kind::Failing) << code;
    EXPECT_TRUE(look.error().text.starts_with(GetParam().fault)) << look.error().text;
    const std::string number = std::to_string(code);
    EXPECT_TRUE(look.error().text.ends_with("(" + number + ")") ||
                look.error().text.ends_with("error " + number))
        << look.error().text;
  }
  write(one());
  EXPECT_EQ(gpus().size(), 1U) << "and it goes on as before";
}
INSTANTIATE_TEST_SUITE_P(Table, RocmCallFails,
                         ::testing::Values(CallCase{"rsmi_init", "AMD's driver cannot be used: "},
                                           CallCase{"rsmi_num_monitor_devices",
                                                    "AMD's driver cannot tell how many GPUs there are: "},
                                           CallCase{"rsmi_dev_unique_id_get", nullptr},
                                           CallCase{"rsmi_dev_memory_total_get", nullptr},
                                           CallCase{"rsmi_dev_name_get", nullptr},
                                           CallCase{"rsmi_version_str_get", nullptr}),
                         [](const auto& info) { return std::string{info.param.call}; });

/// For each status of the call: the other one is as it was.
TEST_F(RocmTest, OneThatCannotSayWhereItIsHidesNoOther) {
  kernel(1, 90010, 0xC1);
  kernel(2, 90010, 0xC2);
  for (const unsigned code : kCodes) {
    write(one() + "gpu pci=0000:c2:00.0 id=2 name=Y mib=1 nopci=" + std::to_string(code) + "\n");
    const auto all = gpus();
    ASSERT_EQ(all.size(), 2U) << code;
    EXPECT_EQ(all[0].health, model::Health::Healthy) << code;
    EXPECT_EQ(all[0].pci_bus_id, "00000000:C1:00.0") << code;
    EXPECT_EQ(all[1].health, model::Health::Unknown) << code;
    EXPECT_TRUE(all[1].reason.starts_with("AMD's driver cannot tell where its GPU 1 is on the bus: "))
        << code;
    EXPECT_EQ(all[1].pci_bus_id, "") << code;
    EXPECT_EQ(all[1].compute, "gfx90a") << "all that the kernel lists are of it";
  }
  kernel(3, 90402, 0xC3);
  EXPECT_EQ(gpus().at(1).compute, "") << "it may be either";
}

// ---- the driver as a whole

TEST_F(RocmTest, WithoutALibraryThereAreNone) {
  kernel(1, 90010, 0xC1);
  Rocm none{{.library = "librocm-that-is-not-there.so.1", .sysfs = folder_.path("sys")}};
  for (int i = 0; i < 2; ++i) {
    const auto look = none.look();
    ASSERT_FALSE(look);
    EXPECT_EQ(look.error().kind, Fault::Kind::Absent);
    EXPECT_NE(look.error().text.find("librocm-that-is-not-there.so.1"), std::string::npos);
    EXPECT_NE(look.error().text.find("--rocm-library"), std::string::npos);
  }
}

/// It would write to stderr at each look, and say that it cannot begin.
TEST_F(RocmTest, WhereTheKernelListsNoneTheLibraryIsNotAsked) {
  write("hang rsmi_init\n");
  for (const bool has_processor : {false, true}) {
    if (has_processor) { kernel(0, 0, 0); }
    EXPECT_EQ(fault(), (Fault{Fault::Kind::Absent, "there is no GPU of AMD's: the kernel lists none below " +
                                                       folder_.path("sys") + "/class/kfd"}));
  }
}

TEST_F(RocmTest, WhereTheKernelListsOneALibraryThatCannotBeginIsAFault) {
  kernel(1, 90010, 0xC1);
  write("");
  const Fault without = fault();
  EXPECT_EQ(without.kind, Fault::Kind::Failing);
  EXPECT_NE(without.text.find("An error occurred during initialization (8)"), std::string::npos);
  write(one());
  EXPECT_EQ(gpus().size(), 1U);
}

TEST_F(RocmTest, AnotherLibraryIsNotRocmSmi) {
  kernel(1, 90010, 0xC1);
  Rocm other{{.library = "libm.so.6", .sysfs = folder_.path("sys")}};
  const auto look = other.look();
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error(),
            (Fault{Fault::Kind::Failing,
                   "libm.so.6: it lacks the functions of rocm_smi; name ROCm's library by --rocm-library"}));
}

TEST_F(RocmTest, GoesOnWhenTheDriversCallComesBack) {
  kernel(1, 90010, 0xC1);
  write(one() + "hang rsmi_num_monitor_devices\n");
  std::atomic<bool> hangs = false;
  std::atomic<std::size_t> seen = 0;
  const auto give = [&](const agent::LookPtr& look) {
    if (*look) { seen = (*look)->gpus.size(); }
    if (!*look && look->error().kind == Fault::Kind::Hanging) { hangs = true; }
  };
  Poller poller{std::make_unique<Rocm>(Rocm::Options{.library = GS_ROCM_fake, .sysfs = folder_.path("sys")}),
                {.every = 1ms, .limit = 20ms},
                give};
  poller.start();
  waitUntil("it hangs, and that is said", [&] { return hangs.load(); });
  const std::string fresh = folder_.path("fresh");
  std::ofstream{fresh} << one();
  ASSERT_EQ(rename(fresh.c_str(), script_.c_str()), 0);
  waitUntil("it is looked at again", [&] { return seen == 1U; });
}

}  // namespace
}  // namespace gs::noderim
