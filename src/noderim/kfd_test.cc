#include "noderim/kfd.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::noderim {
namespace {

TEST(Kfd, ArchesAreNamedAsCompilersNameThem) {
  EXPECT_EQ(gfxNameOf(90010), "gfx90a") << "MI210, MI250";
  EXPECT_EQ(gfxNameOf(90402), "gfx942") << "MI300A, MI300X, MI325X";
  EXPECT_EQ(gfxNameOf(90500), "gfx950") << "MI355X";
  EXPECT_EQ(gfxNameOf(90008), "gfx908") << "MI100";
  EXPECT_EQ(gfxNameOf(90012), "gfx90c");
  EXPECT_EQ(gfxNameOf(100300), "gfx1030");
  EXPECT_EQ(gfxNameOf(110000), "gfx1100");
  EXPECT_EQ(gfxNameOf(120001), "gfx1201");
  for (const std::uint64_t version : {0UL, 1UL, 9999UL, 90016UL, 91600UL, 1'000'000UL, ~0UL}) {
    EXPECT_FALSE(gfxNameOf(version)) << version;
  }
}

struct Case {
  const char* name;
  const char* properties;
  std::optional<KfdGpu> expect;
};
class KfdProperties : public ::testing::TestWithParam<Case> {};
TEST_P(KfdProperties, SayWhichGpuItIs) { EXPECT_EQ(kfdGpuIn(GetParam().properties), GetParam().expect); }
INSTANTIATE_TEST_SUITE_P(
    Table, KfdProperties,
    ::testing::Values(
        Case{"Mi210",
             "cpu_cores_count 0\nsimd_count 416\ngfx_target_version 90010\nlocation_id 49408\ndomain 0\n",
             KfdGpu{0, 0xC100, "gfx90a"}},
        Case{"OfAnotherDomain", "gfx_target_version 90402\nlocation_id 9728\ndomain 2\n",
             KfdGpu{2, 0x2600, "gfx942"}},
        Case{"KernelsBeforeThereWereDomains", "location_id 256\ngfx_target_version 90008",
             KfdGpu{0, 0x100, "gfx908"}},
        Case{"AProcessor", "cpu_cores_count 64\ngfx_target_version 0\nlocation_id 0\n", std::nullopt},
        Case{"KernelsThatDoNotSayTheVersion", "simd_count 416\nlocation_id 256\n", std::nullopt},
        Case{"NoPlace", "gfx_target_version 90010\n", std::nullopt},
        Case{"NoNumber", "gfx_target_version 9x\nlocation_id 256\n", std::nullopt},
        Case{"AKeyThatBeginsSo", "gfx_target_version_2 90010\nlocation_id 256\n", std::nullopt},
        Case{"AKeyAlone", "gfx_target_version\nlocation_id 256\n", std::nullopt},
        Case{"Nothing", "", std::nullopt}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Kfd, NodesThatMayNotBeReadAreLeftOut) {
  const TempFolder folder;
  const auto nodes = folder.path() / "class/kfd/kfd/topology/nodes";
  EXPECT_TRUE(kfdGpus(folder.path("")).empty()) << "no such driver";
  std::filesystem::create_directories(nodes / "0");
  std::filesystem::create_directories(nodes / "1");
  std::ofstream{nodes / "1/properties"} << "gfx_target_version 90010\nlocation_id 256\n";
  EXPECT_EQ(kfdGpus(folder.path("")), (std::vector<KfdGpu>{{0, 0x100, "gfx90a"}}));
}

}  // namespace
}  // namespace gs::noderim
