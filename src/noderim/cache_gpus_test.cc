#include "noderim/cache_gpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace gs::noderim {
namespace {

TEST(CacheGpus, ThoseOfBothVendorsAreNumberedByVendorAndPlace) {
  agent::Hardware hardware{.driver_version = "550.54.15", .gpus = {}, .links = {}};
  for (const char* compute : {"9.0", "8.0"}) {
    agent::Gpu& gpu = hardware.gpus.emplace_back();
    gpu.pci_bus_id = fmt::format("00000000:0{}:00.0", hardware.gpus.size());
    gpu.compute = compute;
  }
  agent::Gpu amd;
  amd.vendor = agent::Vendor::Amd;
  amd.model = "Aldebaran/MI200 [Instinct MI210]";
  amd.driver_version = "6.10.5";
  amd.pci_bus_id = "00000000:00:01.0";  // before NVIDIA's
  amd.compute = "gfx90a";
  hardware.gpus.insert(hardware.gpus.begin(), amd);
  amd.pci_bus_id = "00000000:F1:00.0";
  amd.model = "AMD gfx1100";
  amd.compute = "gfx1100";
  hardware.gpus.push_back(amd);
  const auto all = cacheGpusOf(hardware);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 4U);
  EXPECT_EQ((*all)[0].target, (kcache::Target{"cuda", "90", 32}));
  EXPECT_EQ((*all)[1].target, (kcache::Target{"cuda", "80", 32}));
  EXPECT_EQ((*all)[1].driver_version, "550.54.15");
  EXPECT_EQ((*all)[2].id, 2);
  EXPECT_EQ((*all)[2].driver_version, "6.10.5");
  EXPECT_EQ((*all)[2].target, (kcache::Target{"hip", "gfx90a", 64}));
  EXPECT_EQ((*all)[3].target, (kcache::Target{"hip", "gfx1100", 32}));
}

TEST(WhyNoGpus, SaysWhatTheDriversSaidWhereThereIsNone) {
  using Kind = agent::Fault::Kind;
  EXPECT_EQ(whyNoGpus(tl::unexpected(agent::Fault{Kind::Absent, "no library"})), "no library");
  EXPECT_EQ(whyNoGpus(tl::unexpected(agent::Fault{Kind::Failing, "it hangs"})), "") << "that is an error";
  EXPECT_EQ(whyNoGpus(agent::Hardware{}), "");
}

}  // namespace
}  // namespace gs::noderim
