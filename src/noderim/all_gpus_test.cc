#include "noderim/all_gpus.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "agent/status.h"
#include "base/temp_folder_test.h"

namespace gs::noderim {
namespace {

using agent::Fault;
using agent::Look;

const Look kAbsent = tl::unexpected(Fault{Fault::Kind::Absent, "no driver"});
const Look kFailing = tl::unexpected(Fault{Fault::Kind::Failing, "it fails"});

agent::Look with(const std::string& version, const std::vector<std::string>& uuids) {
  agent::Hardware out;
  out.driver_version = version;
  for (const std::string& uuid : uuids) {
    agent::Gpu gpu;
    gpu.uuid = uuid;
    out.gpus.push_back(gpu);
  }
  if (uuids.size() == 2) { out.links = {{0, 1, agent::LinkType::Pcie, 64}}; }
  return out;
}

/// Says what it is told to, which somebody else owns.
class Told final : public GpuSource {
 public:
  explicit Told(const Look& what) : what_{what} {}
  Look look() override { return what_; }

 private:
  const Look& what_;
};

class AllGpusTest : public ::testing::Test {
 protected:
  static std::vector<std::unique_ptr<GpuSource>> both(const Look& first, const Look& second) {
    std::vector<std::unique_ptr<GpuSource>> out;
    out.push_back(std::make_unique<Told>(first));
    out.push_back(std::make_unique<Told>(second));
    return out;
  }
  /// "n1=550 a1=6.10": UUIDs and the version of their driver.
  std::string seen() {
    last_ = all_.look();
    std::string out;
    if (!last_) { return "! " + last_.error().text; }
    for (const agent::Gpu& gpu : last_->gpus) {
      out += (out.empty() ? "" : " ") + gpu.uuid + "=" + gpu.driver_version;
    }
    return out;
  }

  Look first_ = kAbsent;
  Look second_ = kAbsent;
  AllGpus all_{both(first_, second_)};
  Look last_;
};

TEST_F(AllGpusTest, AreThoseOfEachDriverInTheirOrder) {
  first_ = with("550", {"n1"});
  second_ = with("6.10", {"a1", "a2"});
  EXPECT_EQ(seen(), "n1=550 a1=6.10 a2=6.10");
  EXPECT_EQ(last_->links, (std::vector<agent::PairLink>{{1, 2, agent::LinkType::Pcie, 64}}));
}

TEST_F(AllGpusTest, ADriverThatIsNotThereHasNone) {
  EXPECT_EQ(seen(), "! no driver; no driver");
  EXPECT_EQ(last_.error().kind, Fault::Kind::Absent);
  second_ = with("6.10", {"a1"});
  EXPECT_EQ(seen(), "a1=6.10");
  second_ = with("6.10", {});
  EXPECT_EQ(seen(), "") << "it is there, and has none";
  second_ = kAbsent;
  first_ = with("550", {"n1"});
  EXPECT_EQ(seen(), "n1=550");
}

TEST_F(AllGpusTest, OneThatFailsTakesNoGpuAway) {
  first_ = with("550", {"n1"});
  second_ = with("6.10", {"a1"});
  EXPECT_EQ(seen(), "n1=550 a1=6.10");
  first_ = kFailing;
  second_ = with("6.10", {"a1", "a2"});
  EXPECT_EQ(seen(), "n1=550 a1=6.10 a2=6.10") << "its own are as they were";
  first_ = kAbsent;
  EXPECT_EQ(seen(), "a1=6.10 a2=6.10") << "it was taken out of the kernel";
  first_ = kFailing;
  EXPECT_EQ(seen(), "a1=6.10 a2=6.10") << "it never answered since";
}

TEST_F(AllGpusTest, WhereNoneIsKnownAFaultIsTheLook) {
  first_ = kFailing;
  EXPECT_EQ(seen(), "! it fails");
  EXPECT_EQ(last_.error().kind, Fault::Kind::Failing);
  second_ = with("6.10", {});
  EXPECT_EQ(seen(), "! it fails") << "nobody can say that there is none";
  second_ = kFailing;
  EXPECT_EQ(seen(), "! it fails; it fails");
}

/// With both libraries.
TEST(GpusOfBothVendors, AreNvidiasAndThenAmds) {
  const TempFolder folder;
  const std::string nvml = folder.path("nvml");
  const std::string rocm = folder.path("rocm");
  setenv("GS_FAKE_NVML", nvml.c_str(), 1);
  setenv("GS_FAKE_ROCM", rocm.c_str(), 1);
  std::ofstream{nvml} << "driver 550\ngpu uuid=GPU-1 name=X mib=1 pci=00000000:C1:00.0\n";
  const auto node = folder.path() / "sys/class/kfd/kfd/topology/nodes/1";
  std::filesystem::create_directories(node);
  std::ofstream{node / "properties"} << "gfx_target_version 90010\nlocation_id 256\n";
  std::ofstream{rocm} << "driver 6.10\ngpu pci=0000:01:00.0\n";
  const auto look = gpusOfBothVendors(GS_NVML_fake, GS_ROCM_fake, folder.path("sys"))->look();
  ASSERT_TRUE(look) << look.error().text;
  ASSERT_EQ(look->gpus.size(), 2U);
  EXPECT_EQ(look->gpus[0].vendor, agent::Vendor::Nvidia);
  EXPECT_EQ(look->gpus[0].driver_version, "550");
  EXPECT_EQ(look->gpus[1].vendor, agent::Vendor::Amd);
  EXPECT_EQ(look->gpus[1].compute, "gfx90a");
  EXPECT_EQ(look->gpus[1].driver_version, "6.10");
}

}  // namespace
}  // namespace gs::noderim
