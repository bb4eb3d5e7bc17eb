#include "kcache/content/detect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kcache/content/labels.h"
#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

const std::string kRank = "torch_compile_cache/d4ec7c2a7d/rank_0_0/";
const std::string kAot = "torch_compile_cache/torch_aot_compile/" + std::string(64, 'e') + "/rank_0_0/model";

TEST(DetectCache, OfTheRocmSampleSaysWhatItsImageSays) {
  const auto cache = detect(rocmSample());
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->manifest.type, CacheType::Triton);
  EXPECT_EQ(cache->entry_count, 1);
  EXPECT_EQ(cache->size_bytes, 80415);
  EXPECT_EQ(cache->below, "");
  EXPECT_TRUE(cache->notes.empty());
  EXPECT_EQ(printCacheManifest(cache->manifest), kRocmManifest);
  EXPECT_EQ(kRocmManifest.size(), 317U);
  const Labels wanted{
      {"cache.triton.image/cache-size-bytes", "80415"},
      {"cache.triton.image/entry-count", "1"},
      {"cache.triton.image/summary", R"({"targets":[{"backend":"hip","arch":"gfx90a","warp_size":64}]})"},
      {"org.opencontainers.image.title", "vector-add-cache"}};
  EXPECT_EQ(labelsOf(*cache, "vector-add-cache"), wanted);
}

TEST(DetectCache, OfTheCudaSampleTheArchIsANumber) {
  const std::string hash = "edbea4c0734897ca19ec52852fcc847e552b3b1cfff92cc3deff0b695cdd636f";
  const std::string key = "5W7KJQDTJCL4UGPMKKCS7TEEPZKSWOY4774SZQ6674FWSXG5MNXQ";
  const auto cache = detect(
      {{key + "/__grp__add_kernel.json", R"({"child_paths":{"add_kernel.json":"/x/add_kernel.json"}})"},
       {key + "/add_kernel.json", R"({"hash":")" + hash +
                                      R"(","target":{"backend":"cuda","arch":75,"warp_size":32},)"
                                      R"("num_warps":4,"num_stages":3,"ptx_version":null,"debug":false})"}});
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_TRUE(cache->notes.empty()) << cache->notes.front();
  EXPECT_EQ(cache->targets, (Targets{{"cuda", "75", 32}}));
}

TEST(DetectCache, AKernelInAFolderThatTritonWouldNotLookIntoIsNoted) {
  Tree tree{{"elsewhere/add_kernel.json", rocmSample().at(kRocmKey + "/add_kernel.json")},
            {"elsewhere/add_kernel.ttir", ""},
            {"short/a.json", R"({"hash":"12"})"},
            {"odd/b.json", "{"}};
  const auto cache = detect(tree);
  ASSERT_TRUE(cache);
  ASSERT_EQ(cache->notes.size(), 4U);
  EXPECT_EQ(cache->notes[0], "elsewhere/add_kernel.json: Triton looks for its hash in a folder " + kRocmKey);
  EXPECT_TRUE(cache->notes[1].starts_with("odd/b.json: ")) << cache->notes[1];
  EXPECT_EQ(cache->notes[2], "short/a.json: its hash '12' is none of Triton's");
  EXPECT_EQ(cache->notes[3], "short/a.json: it does not say for which GPU it was compiled");
}

TEST(DetectCache, AKernelThatNamesNoGpuMakesTheCacheForNoOther) {
  const auto cache =
      detect({{"K/a.ttir", ""},
              {"K/a.json", R"({"hash":"1","target":{"backend":"cuda","arch":80,"warp_size":32}})"},
              {"L/b.json", R"({"hash":"2"})"}});
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->targets, (Targets{{"cuda", "80", 32}}));
}

TEST(DetectCache, WhatHasNoKernelIsNoCache) {
  for (const Tree& tree : {Tree{}, Tree{{"a.ttir", ""}}, Tree{{"a/b.json", R"({"hash":"1"})"}},
                           Tree{{"torch_compile_cache/h/rank_0_0/readme", ""}},
                           Tree{{"inductor_cache/x/vllm_compile_cache.py", ""}}}) {
    const auto cache = detect(tree);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, Code::NotFound);
  }
  // What explains it is said with it.
  EXPECT_NE(detect({{"torch_compile_cache/h/rank_0_0/readme", ""}})
                .error()
                .message.find("; torch_compile_cache/h has neither artifacts"),
            std::string::npos);
}

TEST(DetectCache, ATritonCacheBesideWhatLooksLikeVllmsStaysWhereItIs) {
  Tree tree = rocmSample();
  tree["x/rank_0_0/y"] = "";
  const auto cache = detect(tree);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->manifest.type, CacheType::Triton);
  EXPECT_EQ(cache->below, "");
  EXPECT_EQ(cache->size_bytes, 80415);
}

TEST(DetectCache, OfVllmsArtifactsTheyThemselvesSayForWhichGpusTheyAre) {
  const auto cache = detect(llamaSample());
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->manifest.type, CacheType::Vllm);
  EXPECT_EQ(cache->targets, (Targets{{"cuda", "89", 32}}));
  ASSERT_EQ(cache->manifest.vllm.size(), 1U);
  const VllmEntry& entry = cache->manifest.vllm[0];
  EXPECT_EQ(entry.hash, "edf531ca35");
  EXPECT_EQ(entry.format, "binary");
  ASSERT_EQ(entry.binary.size(), 1U);
  EXPECT_EQ(entry.binary[0].rank, "rank_0_0");
  EXPECT_EQ(entry.binary[0].prefix, "backbone");
  EXPECT_EQ(entry.binary[0].artifact_names.size(), 2U);
  EXPECT_EQ(entry.binary[0].compiler_hash, "4fc2f2ae9e");
  EXPECT_EQ(entry.binary[0].save_format, "binary");
  EXPECT_EQ(entry.binary[0].env.size(), 3U);
  const Labels labels = labelsOf(*cache, "llama");
  EXPECT_EQ(labels.at("cache.vllm.image/format"), "binary");
  EXPECT_EQ(labels.at("cache.vllm.image/entry-count"), "1");
  EXPECT_EQ(labels.at("io.kserve.km/cache-hash"), "edf531ca35");
  EXPECT_EQ(labels.at("io.kserve.km/cache-mount-subpath"), "torch_compile_cache");
}

// Never what this machine has, and no invented default.
TEST(DetectCache, OfArtifactsThatDoNotSayItTheArchIsLeftOpen) {
  Tree tree = llamaSample();
  tree["torch_compile_cache/edf531ca35/rank_0_0/backbone/artifact_compile_range_1_2048_subgraph_0"] = "";
  EXPECT_EQ(detect(tree)->targets, (Targets{{"cuda", "", 32}}));
  tree["torch_compile_cache/edf531ca35/rank_0_0/backbone/cache_key_factors.json"] =
      R"({"env":{"VLLM_TARGET_DEVICE":"rocm"}})";
  EXPECT_EQ(detect(tree)->targets, (Targets{{"hip", "", 64}}));
  tree["torch_compile_cache/edf531ca35/rank_0_0/backbone/cache_key_factors.json"] = "{}";
  EXPECT_EQ(detect(tree)->targets, (Targets{{"cuda", "", 32}}));
}

TEST(DetectCache, ArtifactsThatAreFoldersAreUnpacked) {
  Tree tree = llamaSample();
  std::erase_if(tree, [](const auto& one) { return one.first.find("subgraph") != std::string::npos; });
  tree["torch_compile_cache/edf531ca35/rank_0_0/backbone/artifact_compile_range_1_2_subgraph_0/a.py"] =
      "x.target = \"hip:gfx942\"";
  const auto cache = detect(tree);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->manifest.vllm[0].binary[0].save_format, "unpacked");
  EXPECT_EQ(cache->targets, (Targets{{"hip", "gfx942", 64}}));
  EXPECT_EQ(labelsOf(*cache, "").at("cache.vllm.image/format"), "unpacked");
}

Tree vllmTritonSample() {
  Tree tree{{kRank + "vllm_compile_cache.py", "{}"},
            {kRank + "inductor_cache/ab/cab.py", ""},
            {kRank + "transformed_code.py", ""}};
  for (const auto& [path, text] : rocmSample()) { tree[kRank + "triton_cache/" + path] = text; }
  return tree;
}

TEST(DetectCache, OfVllmsOlderFormItsTritonCacheIsListed) {
  const auto cache = detect(vllmTritonSample());
  ASSERT_TRUE(cache) << cache.error().message;
  ASSERT_EQ(cache->manifest.vllm.size(), 1U);
  EXPECT_EQ(cache->manifest.vllm[0].format, "triton");
  EXPECT_EQ(cache->manifest.vllm[0].triton.size(), 1U);
  EXPECT_EQ(cache->targets, (Targets{{"hip", "gfx90a", 64}}));
  EXPECT_EQ(labelsOf(*cache, "").at("cache.vllm.image/format"), "triton");
}

TEST(DetectCache, OfOneModelForAllItIsMegaAot) {
  const auto cache = detect({{kAot, "x"}, {"torch_compile_cache/torch_aot_compile/empty/rank_0_0/x", ""}});
  ASSERT_TRUE(cache) << cache.error().message;
  ASSERT_EQ(cache->manifest.vllm.size(), 1U);
  EXPECT_EQ(cache->manifest.vllm[0].hash, std::string(64, 'e'));
  EXPECT_EQ(cache->manifest.vllm[0].format, "binary");
  EXPECT_EQ(cache->manifest.vllm[0].binary[0].save_format, "mega-aot");
  EXPECT_EQ(cache->manifest.vllm[0].binary[0].artifact_names, std::vector<std::string>{"model"});
  EXPECT_TRUE(cache->targets.empty());
  ASSERT_EQ(cache->notes.size(), 3U);
  EXPECT_NE(cache->notes[0].find("nothing in it says for which GPUs"), std::string::npos) << cache->notes[0];
  EXPECT_NE(cache->notes[1].find("HOME and VLLM_CONFIG_ROOT"), std::string::npos) << cache->notes[1];
  EXPECT_NE(cache->notes[2].find("has no rank with a model"), std::string::npos) << cache->notes[2];
  EXPECT_EQ(labelsOf(*cache, "").at("io.kserve.km/cache-mount-subpath"),
            "torch_compile_cache/torch_aot_compile");
}

TEST(DetectCache, AModelForEachRankIsListed) {
  const std::string hash = "torch_compile_cache/torch_aot_compile/h/";
  const auto cache = detect({{hash + "rank_0_0/model", ".target = \"cuda:90\""},
                             {hash + "rank_1_0/model", ""},
                             {hash + "rank_x/model", ""}});
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->manifest.vllm[0].binary.size(), 2U);
  EXPECT_EQ(cache->targets, (Targets{{"cuda", "90", 32}}));
}

TEST(DetectCache, AFolderThatIsItselfATorchCompileCacheIsOne) {
  Tree tree;
  for (const auto& [path, text] : llamaSample()) {
    if (path.starts_with("torch_")) { tree[path.substr(path.find('/') + 1)] = text; }
  }
  const auto cache = detect(tree);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->below, "torch_compile_cache/");
  EXPECT_EQ(cache->manifest, detect(llamaSample())->manifest);
}

TEST(DetectCache, TheOrderOfTheFilesIsNothing) {
  const Tree tree = vllmTritonSample();
  auto files = filesOf(tree);
  std::reverse(files.begin(), files.end());
  const auto cache =
      detectCache(files, [&](const std::string& path) -> Result<std::string> { return tree.at(path); });
  EXPECT_EQ(printCacheManifest(cache->manifest), printCacheManifest(detect(tree)->manifest));
}

TEST(DetectCache, AFileThatCannotBeReadIsNoted) {
  const auto cache = detectCache(filesOf(llamaSample()), [](const std::string& path) -> Result<std::string> {
    if (path.find("subgraph_1") != std::string::npos) { return fail(Code::Invalid, "too long"); }
    return llamaSample().at(path);
  });
  ASSERT_TRUE(cache);
  ASSERT_EQ(cache->notes.size(), 1U);
  EXPECT_TRUE(cache->notes[0].ends_with("subgraph_1: too long"));
}

TEST(CacheLabels, AreReadFromEveryVersionsImages) {
  const auto hidden = readLabels({{"cache.vllm.image/entry-count", "1"}});  // MCU's had no summary
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->type, CacheType::Vllm);
  EXPECT_FALSE(hidden->summary);
  EXPECT_EQ(hidden->entry_count, 1);
  EXPECT_FALSE(readLabels({{"a", "b"}, {"cache.tritonx.image/summary", ""}}));
  EXPECT_FALSE(readLabels({{"cache.triton.image/cache-size-bytes", "-1"}})->size_bytes);
  EXPECT_EQ(readLabels({{"cache.triton.image/cache-size-bytes", "80415"}})->size_bytes, 80415);
  const Digest none = Digest::of("");
  const Manifest legacy{
      .media_type = "",
      .config = {.media_type = "", .digest = none},
      .layers = {{.media_type = "application/cache.vllm.content.layer.v1+vllm", .digest = none}}};
  EXPECT_EQ(cacheTypeOf({}, legacy), CacheType::Vllm);
  EXPECT_EQ(cacheTypeOf({{"cache.triton.image/summary", ""}}, legacy), CacheType::Triton);
  EXPECT_FALSE(cacheTypeOf({}, {.media_type = "", .config = legacy.config, .layers = {}}));
}

TEST(CacheManifest, IsReadAsItWasPrinted) {
  for (const Tree& tree : {rocmSample(), llamaSample(), vllmTritonSample(), Tree{{kAot, ""}}}) {
    const CacheManifest manifest = detect(tree)->manifest;
    const auto read = parseCacheManifest(printCacheManifest(manifest));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, manifest);
  }
  const auto later = parseCacheManifest(
      R"({"vllm":[{"vllmHash":"h","cacheFormat":"aot_compile","aot_compile":[{"hash":"h","rank":"rank_0_0",)"
      R"("model_file":"model","file_size":7}]}]})");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->vllm.at(0).aot.at(0).file_size, 7);
  EXPECT_FALSE(parseCacheManifest("{}"));
  EXPECT_FALSE(parseCacheManifest(""));
}

TEST(Kernel, ItsFolderIsItsHashInBase32) {
  EXPECT_EQ(kernelFolder(kRocmHash), kRocmKey);
  EXPECT_EQ(kernelFolder("edbea4c0734897ca19ec52852fcc847e552b3b1cfff92cc3deff0b695cdd636f"),
            "5W7KJQDTJCL4UGPMKKCS7TEEPZKSWOY4774SZQ6674FWSXG5MNXQ");
  EXPECT_FALSE(kernelFolder("6088"));
  EXPECT_FALSE(kernelFolder(std::string(64, 'g')));
}

// The first is where Triton 3.2.0 from PyPI put that kernel.
TEST(KernelFolder, OfEachTritonIsKnown) {
  const std::string hash = "565356969a12853359dca7260d0f99528baebd3e6d5a9a8a38b5371105513359";
  EXPECT_TRUE(isKernelFolder("VlNWlpoShTNZ3KcmDQ-ZUouuvT5tWpqKOLU3EQVRM1k", hash));
  EXPECT_TRUE(isKernelFolder("KZJVNFU2CKCTGWO4U4TA2D4ZKKF25PJ6NVNJVCRYWU3RCBKRGNMQ", hash));
  EXPECT_TRUE(isKernelFolder(hash, hash));
  EXPECT_FALSE(isKernelFolder("VlNWlpoShTNZ3KcmDQ-ZUouuvT5tWpqKOLU3EQVRM1k=", hash));
  EXPECT_FALSE(isKernelFolder("", hash));
  EXPECT_FALSE(isKernelFolder("elsewhere", hash));
}

}  // namespace
}  // namespace gs::kcache
