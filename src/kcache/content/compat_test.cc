#include "kcache/content/compat.h"

#include <gtest/gtest.h>

#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

CacheGpu gpu(int id, Target target) { return {id, "", "", std::move(target)}; }

const std::vector<CacheGpu> kMixed{gpu(0, {"cuda", "75", 32}), gpu(1, {"cuda", "90", 32}),
                                   gpu(2, {"hip", "gfx90a", 64})};

std::vector<int> matchedBy(const Targets& targets) { return match(targets, kMixed).matched; }

TEST(Compat, AGpuMatchesByBackendArchAndWarpSize) {
  const std::pair<Target, std::vector<int>> table[] = {
      {{"cuda", "75", 32}, {0}},    {{"cuda", "sm_75", 32}, {0}},      {{"cuda", "90a", 32}, {1}},
      {{"hip", "gfx90a", 64}, {2}}, {{"rocm", "gfx90a", 64}, {2}},     {{"hip", "gfx90a", 32}, {}},
      {{"hip", "gfx942", 64}, {}},  {{"cuda", "80", 32}, {}},          {{"cuda", "gfx90a", 64}, {}},
      {{"cuda", "", 32}, {0, 1}},   {{"cuda", "sm_12.9", 32}, {0, 1}}, {{"rocm", "", 0}, {2}},
      {{"tpu", "", 128}, {}},
  };
  for (const auto& [target, ids] : table) {
    EXPECT_EQ(matchedBy({target}), ids) << target.backend << ' ' << target.arch;
  }
  EXPECT_EQ(matchedBy({{"cuda", "75", 32}, {"hip", "gfx90a", 64}}), (std::vector<int>{0, 2}));
  EXPECT_EQ(matchedBy({}), (std::vector<int>{0, 1, 2}));
}

TEST(Compat, WhatLabelsDoNotSayIsSaid) {
  EXPECT_EQ(matchSummary({}, kMixed).error().message, "image has no labels");
  EXPECT_EQ(matchSummary({{"a", "b"}}, kMixed).error().message, "image missing cache summary label");
  EXPECT_EQ(matchSummary({{"cache.vllm.image/entry-count", "1"}}, kMixed).error().message,
            "image missing cache summary label");
  EXPECT_FALSE(matchSummary({{"cache.vllm.image/summary", "x"}}, kMixed));
  EXPECT_EQ(matchSummary({{"cache.vllm.image/summary", "null"}}, kMixed)->unmatched.size(), 0U);
}

TEST(Compat, TargetsWithoutABackendAreNoneAndSayNothingAgainstOthers) {
  const std::string key = "cache.triton.image/summary";
  const std::string none = R"({"backend":"","arch":"","warp_size":0})";
  const auto match_of = [&](const std::string& list) {
    return matchSummary({{key, R"({"targets":[)" + list + "]}"}}, kMixed);
  };
  EXPECT_EQ(match_of(none + R"(,{"backend":"cuda","arch":"75"})")->matched, std::vector<int>{0});
  EXPECT_EQ(match_of(none).error().message, "the cache's summary has no target with a backend");
}

TEST(Compat, ATargetWithoutAnArchCountsWhereNoneOfItsBackendHasOne) {
  EXPECT_EQ(precise({{"cuda", "", 32}, {"cuda", "89", 32}, {"hip", "", 0}, {"", "", 0}}),
            (Targets{{"cuda", "89", 32}, {"hip", "", 0}}));
}

TEST(Compat, AManifestOfBinariesNamesTheirDevice) {
  auto manifest = *parseCacheManifest(R"({"vllm":[{"binary":[{"target_device":"rocm"}]}]})");
  EXPECT_TRUE(matchManifest(manifest, {kMixed[2]}));
  EXPECT_EQ(matchManifest(manifest, {kMixed[0]}).error().message,
            "incompatibility detected: backend mismatch");
  manifest = *parseCacheManifest(
      R"({"vllm":[{"binary":[{"target_device":"rocm"}],"triton":[{"backend":"hip","arch":"gfx942"}]}]})");
  EXPECT_EQ(matchManifest(manifest, {kMixed[2]}).error().message, "no compatible GPU found");
}

TEST(Compat, AManifestOfVllmIsComparedByItsKernels) {
  const auto manifest = *parseCacheManifest(
      R"({"vllm":[{"triton":[{"hash":"h","backend":"hip","arch":"gfx90a","warp_size":64}]}]})");
  EXPECT_TRUE(matchManifest(manifest, {kMixed[2]}));
  EXPECT_EQ(matchManifest(manifest, {kMixed[0]}).error().message,
            "incompatibility detected: backend mismatch");
}

TEST(Compat, AManifestMatchesWhereOneKernelDoes) {
  CacheManifest manifest = detect(rocmSample())->manifest;
  EXPECT_TRUE(matchManifest(manifest, kMixed));
  EXPECT_EQ(matchManifest(manifest, {kMixed[0]}).error().message,
            "incompatibility detected: backend mismatch");
  EXPECT_EQ(matchManifest(manifest, {gpu(0, {"hip", "gfx942", 64})}).error().message,
            "no compatible GPU found");
  // docs/reference/gkm-faults.md 25: the version of PTX, which caches do not say, is not held against a
  // driver.
  manifest.triton[0].kernel.ptx_version = 84;
  EXPECT_TRUE(matchManifest(manifest, kMixed));
  EXPECT_TRUE(matchManifest({}, kMixed));
}

TEST(Target, IsFoundInCompiledCode) {
  EXPECT_EQ(
      targetsIn("x{\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"}triton_gpu.target = \"hip:gfx942\""),
      (Targets{{"cuda", "90", 32}, {"hip", "gfx942", 64}}));
  for (const char* text : {"", ".target = \"", ".target = \"cuda:", ".target = \"cuda:\"",
                           ".target = \"tpu:1\"", ".target = \"cuda:7:5\"", ".target = \"cuda:X\""}) {
    EXPECT_TRUE(targetsIn(text).empty()) << text;
  }
}

TEST(Target, OfASummaryIsReadAsItWasPrinted) {
  const Targets targets{{"hip", "gfx90a", 64}, {"cuda", "90", 32}};
  EXPECT_EQ(printSummary(targets), R"({"targets":[{"backend":"cuda","arch":"90","warp_size":32},)"
                                   R"({"backend":"hip","arch":"gfx90a","warp_size":64}]})");
  EXPECT_EQ(*parseSummary(printSummary(targets)), targets);
  EXPECT_TRUE(parseSummary("null")->empty());
  EXPECT_EQ(*parseSummary(R"({"targets":[{"backend":"cuda","arch":75,"ptx_version":8}]})"),
            (Targets{{"cuda", "75", 0}}));
  EXPECT_FALSE(parseSummary("[]"));
  EXPECT_FALSE(parseSummary(R"({"targets":[{}]})"));
}

TEST(Target, WarpsAreAsTheVendorHasThem) {
  EXPECT_EQ(warpSizeOf("cuda", "90"), 32);
  EXPECT_EQ(warpSizeOf("rocm", "gfx942"), 64);
  EXPECT_EQ(warpSizeOf("hip", "gfx1100"), 32);
  EXPECT_EQ(warpSizeOf("tpu", ""), 0);
}

}  // namespace
}  // namespace gs::kcache
