// Each version of vLLM by each form of its cache, as its source lays it out: what becomes of it in an image,
// and where its artifacts' paths lead for who uses it. Read in the source distributions of PyPI; 0.15.0 and
// 0.15.1 have none there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kcache/content/labels.h"
#include "kcache/content/paths.h"
#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

const std::string kHash = "a3f1c09b77";
const std::string kModelHash = std::string(64, 'c');
const std::string kMadeAt = "/home/me/.cache/vllm";
const std::string kRankFolder = "torch_compile_cache/" + kHash + "/rank_0_0/";
const std::string kPrefix = kRankFolder + "backbone/";
const std::string kCompileList = kPrefix + "vllm_compile_cache.py";

/// What of a version's source decides how its folders look. Lines are of vllm/compilation/: b backends.py,
/// c compiler_interface.py, d decorators.py; e of vllm/envs.py.
struct Version {
  const char* version;
  const char* artifact;  // b: before _subgraph_<i>
  const char* artifact_line;
  bool has_factors;      // b: cache_key_factors.json
  bool hashes_home;      // e: compile_factors() does not leave VLLM_CONFIG_ROOT out
  bool is_dictionary;    // b: graph_handle in a dictionary, or the bare pair
  const char* opens;     // c: what load() opens: the path of the pair, or the name beside the list
  const char* model_at;  // d: before /<hash>/rank_0_0/model; "": there is none
  const char* model_line;
  bool has_inductor;  // d: an inductor_cache beside the ranks
};

constexpr const char* kOldRoot = "torch_aot_compile/";
constexpr const char* kNewRoot = "torch_compile_cache/torch_aot_compile/";
constexpr const char* kShape = "artifact_shape_None";
constexpr const char* kRange = "artifact_compile_range_1_8192";

const Version kVersions[] = {
    {"0.11.0", kShape, "b181", false, false, false, "path c230", "", "", false},
    {"0.11.1", kShape, "b230", false, false, false, "path c259", kOldRoot, "d364", false},
    {"0.11.2", kShape, "b230", false, false, false, "path c259", kOldRoot, "d364", false},
    {"0.12.0", kShape, "b236", true, true, false, "path c259", kOldRoot, "d398", false},
    {"0.13.0", kRange, "b240", true, true, false, "path c259", kOldRoot, "d401", false},
    {"0.14.1", kRange, "b240", true, true, false, "path c259", kOldRoot, "d422", false},
    {"0.16.0", kRange, "b282", true, true, false, "path c311", kOldRoot, "d427", false},
    {"0.17.1", kRange, "b281", true, true, false, "path c367", kNewRoot, "d428", false},
    {"0.18.1", kRange, "b299", true, true, true, "path c442", kNewRoot, "d478", false},
    {"0.19.1", kRange, "b300", true, true, true, "path c442", kNewRoot, "d506", false},
    {"0.20.2", kRange, "b304", true, true, true, "path c423", kNewRoot, "d506", true},
    {"0.21.0", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.22.1", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.23.0", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.24.0", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.25.1", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.26.0", kRange, "b306", true, true, true, "path c427", kNewRoot, "d546", true},
    {"0.27.1", kRange, "b306", true, false, true, "path c427", kNewRoot, "d546", true},
    {"0.28.0", kRange, "b306", true, false, true, "path c427", kNewRoot, "d546", true},
    {"0.29.0", kRange, "b306", true, false, true, "path c427", kNewRoot, "d548", true},
    {"0.30.0", kRange, "b306", true, false, true, "path c427", kNewRoot, "d548", true},
    {"0.31.0", kRange, "b304", true, false, true, "path c421", kNewRoot, "d546", true},
    {"0.32.0", kRange, "b310", true, false, true, "name c421", kNewRoot, "d568", true},
    {"0.33.0", kRange, "b325", true, false, true, "name c452", kNewRoot, "d577", true},
};

std::string nameOf(const Version& v, int i) { return fmt::format("{}_subgraph_{}", v.artifact, i); }

void addKernel(Tree& tree, const std::string& folder) {
  for (const auto& [path, text] : rocmSample()) { tree[folder + path] = text; }
  tree[folder + kRocmKey + "/__grp__add_kernel.json"] =
      groupOf(kMadeAt + "/" + folder.substr(0, folder.size() - 1), kRocmKey);
}

/// What lies beside artifacts, or in their place; `made_in` is the folder of the list where it was made.
void addList(const Version& v, Tree& tree, const std::string& made_in) {
  std::string list = "{";
  for (int i = 0; i < 2; ++i) {
    const std::string pair = fmt::format("('{0}',\n '{1}{0}')", nameOf(v, i), made_in);
    list += fmt::format("({}, {}, 'inductor_standalone'): {}{}", v.artifact == kShape ? "None" : "(1, 8192)",
                        i, v.is_dictionary ? "{'cache_key': 'k', 'graph_handle': " + pair + "}" : pair,
                        i == 0 ? ",\n " : "}");
  }
  tree[kCompileList] = list;
}

void addFactors(const Version& v, Tree& tree) {
  tree[kPrefix + "computation_graph.py"] = "# " + kMadeAt;
  if (!v.has_factors) { return; }
  tree[kPrefix + "cache_key_factors.json"] =
      fmt::format(R"({{"code_hash":"c","env":{{"VLLM_TARGET_DEVICE":"rocm"{}}}}})",
                  v.hashes_home ? R"(,"VLLM_CONFIG_ROOT":"/home/me/.config/vllm")" : "");
}

/// VLLM_COMPILE_CACHE_SAVE_FORMAT=binary: the default, from 0.11.1.
Tree binaryOf(const Version& v, const std::string& made_in = kMadeAt + "/" + kPrefix) {
  Tree tree;
  for (int i = 0; i < 2; ++i) { tree[kPrefix + nameOf(v, i)] = "\x80\x04 ttg.target = \"hip:gfx90a\""; }
  addList(v, tree, made_in);
  addFactors(v, tree);
  return tree;
}

/// "unpacked"; what 0.11.0 always writes.
Tree unpackedOf(const Version& v) {
  Tree tree;
  for (int i = 0; i < 2; ++i) {
    const std::string artifact = kPrefix + nameOf(v, i) + "/";
    tree[artifact + "fxgraph/ab/fabc/1"] = "pickle";
    tree[artifact + "aotautograd/a1/entry"] = "pickle";
    addKernel(tree, artifact + "triton/0/");
  }
  addList(v, tree, kMadeAt + "/" + kPrefix);
  addFactors(v, tree);
  return tree;
}

/// VLLM_USE_STANDALONE_COMPILE=0, and 0.33 without AOT.
Tree inductorOf(const Version& v) {
  Tree tree{{kRankFolder + "inductor_cache/ab/cab.py", ""},
            {kRankFolder + "inductor_cache/fxgraph/x/y", "p"}};
  addKernel(tree, kRankFolder + "triton_cache/");
  addFactors(v, tree);
  return tree;
}

Tree modelOf(const Version& v) {
  const std::string at = v.model_at + kModelHash + "/";
  Tree tree{{at + "rank_0_0/model", "\x80\x05 pickle"},
            {"modelinfos/vllm-model_executor-models-llama.json", "{}"}};
  if (v.has_inductor) { addKernel(tree, at + "inductor_cache/triton/0/"); }
  return tree;
}

/// What an image says of it, in a line: forms, entries, GPUs, where it lies, what is said of HOME.
std::string lineOf(const Tree& tree) {
  const auto cache = detect(tree);
  if (!cache) { return cache.error().message; }
  const Labels labels = labelsOf(*cache, "");
  std::string out{nameOf(cache->manifest.type)};
  if (cache->manifest.type == CacheType::Triton) { return out; }
  for (const VllmEntry& one : cache->manifest.vllm) {
    out += fmt::format(" {}", one.hash.substr(0, 10));
    for (const BinaryEntry& b : one.binary) {
      out += fmt::format(" {} x{}", b.save_format, b.artifact_names.size());
    }
    if (one.binary.empty()) { out += fmt::format(" {} x{}", one.format, one.triton.size()); }
  }
  for (const Target& one : cache->targets) { out += fmt::format(" {} {}", one.backend, one.arch); }
  const auto subpath = labels.find("io.kserve.km/cache-mount-subpath");
  out += fmt::format(" in {}{}", cache->below, subpath == labels.end() ? "/" : subpath->second);
  for (const std::string& note : cache->notes) {
    if (note.find("HOME") != std::string::npos) { out += " HOME"; }
    if (note.find("for which GPUs") != std::string::npos) { out += " GPUs?"; }
  }
  return out;
}

TEST(VllmLayouts, OfEachVersionAreWhatTheirSourceSays) {
  for (const Version& v : kVersions) {
    SCOPED_TRACE(v.version);
    const std::string home = v.hashes_home ? " HOME" : "";
    const std::string pieces = " hip gfx90a in torch_compile_cache" + home;
    EXPECT_EQ(lineOf(binaryOf(v)), "vllm a3f1c09b77 binary x2" + pieces);
    EXPECT_EQ(lineOf(unpackedOf(v)), "vllm a3f1c09b77 unpacked x2" + pieces);
    EXPECT_EQ(lineOf(inductorOf(v)), "vllm a3f1c09b77 triton x1" + pieces);
    if (*v.model_at == '\0') { continue; }
    const std::string_view at = v.model_at;
    EXPECT_EQ(lineOf(modelOf(v)),
              fmt::format("vllm cccccccccc mega-aot x1{} in {}{} HOME", v.has_inductor ? " hip gfx90a" : "",
                          at.substr(0, at.size() - 1), v.has_inductor ? "" : " GPUs?"));
  }
}

// A root of 0.11.1 to 0.16 with both: nothing is moved, and no folder below the root has all of it.
TEST(VllmLayouts, AModelBesideGraphsInPiecesStaysWhereItIs) {
  for (const Version& v : kVersions) {
    if (v.model_at != std::string_view{kOldRoot}) { continue; }
    Tree tree = binaryOf(v);
    tree.merge(modelOf(v));
    const auto cache = detect(tree);
    ASSERT_TRUE(cache) << v.version;
    EXPECT_EQ(cache->below, "") << v.version;
    EXPECT_EQ(cache->entry_count, 2) << v.version;
    EXPECT_FALSE(labelsOf(*cache, "").contains("io.kserve.km/cache-mount-subpath")) << v.version;
  }
}

TEST(VllmLayouts, AFolderOfModelsAloneIsARootUnlessItSaysThatItIsATorchCompileCache) {
  const std::string model = "torch_aot_compile/" + kModelHash + "/rank_0_0/model";
  const auto below = [](const Tree& tree, const std::string& folder) {
    const auto cache = detectCache(
        filesOf(tree), [&](const std::string& path) -> Result<std::string> { return tree.at(path); }, folder);
    return cache ? cache->below : cache.error().message;
  };
  EXPECT_EQ(below({{model, ""}}, "/home/me/.cache/vllm"), "");
  EXPECT_EQ(below({{model, ""}}, "/home/me/.cache/vllm/torch_compile_cache"), "torch_compile_cache/");
  Tree newer{{model, ""}};  // 0.20 and newer
  addKernel(newer, "torch_aot_compile/" + kModelHash + "/inductor_cache/triton/0/");
  EXPECT_EQ(below(newer, "/copied"), "torch_compile_cache/");
}

// vLLM up to 0.31 opens what the list says, so each pair must lead to the artifact; wherever it was made.
TEST(VllmLayouts, ArtifactsAreFoundWhereTheCacheIsMounted) {
  for (const Version& v : kVersions) {
    for (const std::string& made_in :
         {kMadeAt + "/" + kPrefix, std::string{"/data/compiled/run1/rank_0_0/backbone/"}}) {
      const Tree tree = binaryOf(v, made_in);
      const std::string now = forRoot("/cache", kCompileList, tree.at(kCompileList)).value_or("(as it was)");
      for (int i = 0; i < 2; ++i) {
        EXPECT_NE(now.find(fmt::format("('{0}',\n '/cache/{1}{0}')", nameOf(v, i), kPrefix)),
                  std::string::npos)
            << v.version << ": " << now;
      }
      EXPECT_EQ(now.find(made_in), std::string::npos) << v.version;
    }
  }
}

// From 0.31 on Triton's cache may lie elsewhere; what Inductor keeps is packed, and what is missing is noted.
TEST(VllmLayouts, KernelsThatTritonKeepsElsewhereAreMissed) {
  Tree tree = inductorOf(std::end(kVersions)[-1]);
  std::erase_if(tree, [](const auto& one) { return one.first.find("triton_cache") != std::string::npos; });
  const auto cache = detect(tree);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->manifest.vllm[0].format, "triton");
  ASSERT_EQ(cache->notes.size(), 1U);
  EXPECT_NE(cache->notes[0].find("TRITON_CACHE_DIR named another folder"), std::string::npos)
      << cache->notes[0];
}

TEST(VllmLayouts, ArtifactsWithoutTheirListAreNoted) {
  Tree tree = binaryOf(kVersions[0]);
  tree.erase(kCompileList);
  const auto cache = detect(tree);
  ASSERT_TRUE(cache);
  ASSERT_EQ(cache->notes.size(), 1U);
  EXPECT_NE(cache->notes[0].find("beside no vllm_compile_cache.py"), std::string::npos) << cache->notes[0];
}

// Where no file says for which GPUs, none are made up.
TEST(VllmLayouts, OfArtifactsWithoutFactorsTheGpusAreLeftOpen) {
  Tree tree = binaryOf(kVersions[1]);
  for (int i = 0; i < 2; ++i) { tree[kPrefix + nameOf(kVersions[1], i)] = "\x80"; }
  const auto cache = detect(tree);
  ASSERT_TRUE(cache);
  EXPECT_TRUE(cache->targets.empty());
  ASSERT_EQ(cache->notes.size(), 1U);
  EXPECT_NE(cache->notes[0].find("nothing in it says for which GPUs"), std::string::npos) << cache->notes[0];
}

TEST(VllmLayouts, TheRootThatTheFilesNameIsTheLabelsAndElseTheUsualOne) {
  const std::string key = "io.kserve.km/cache-root-env";
  const auto rootOf = [&](const Tree& tree) { return labelsOf(*detect(tree), "").at(key); };
  EXPECT_EQ(rootOf(binaryOf(kVersions[3])), "VLLM_CACHE_ROOT=" + kMadeAt);
  EXPECT_EQ(rootOf(inductorOf(kVersions[3])), "VLLM_CACHE_ROOT=" + kMadeAt) << "its group files say it";
  EXPECT_EQ(rootOf(modelOf(kVersions[3])), "VLLM_CACHE_ROOT=/home/kserve/.cache/vllm");
  EXPECT_EQ(rootOf(binaryOf(kVersions[3], "/data/run1/")), "VLLM_CACHE_ROOT=/home/kserve/.cache/vllm");
}

}  // namespace
}  // namespace gs::kcache
