#include "kcache/content/wrong_level.h"

#include <gtest/gtest.h>

#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

const std::string kOneRank = "torch_compile_cache/abc1234567/rank_0_0/";

Tree under(const std::string& folder, const Tree& tree) {
  Tree out;
  for (const auto& [path, text] : tree) { out[folder + path] = text; }
  return out;
}

Result<DetectedCache> detectAt(const std::string& folder, const Tree& tree) {
  return detectCache(
      filesOf(tree), [&](const std::string& path) -> Result<std::string> { return tree.at(path); }, folder);
}

TEST(WrongLevel, IsRefusedWithTheFolderThatWasMeant) {
  const Tree kernels = under(kOneRank + "triton_cache/", rocmSample());
  Tree both = under("vllm/", llamaSample());
  both["pip/http/x"] = "";
  struct Row {
    const char* what;
    std::string folder;
    Tree tree;
    std::string named;
  };
  const Row table[] = {
      {"~/.triton", "/home/me/.triton", under("cache/", rocmSample()), "name '/home/me/.triton/cache'"},
      {"its home", "/root/x", under("y/cache/", rocmSample()), "name '/root/x/y/cache'"},
      {"two of them", "/x",
       [] {
         Tree out = under("a/", rocmSample());
         out.merge(under("b/c/", rocmSample()));
         return out;
       }(),
       "name one of '/x/a', '/x/b/c'"},
      {"one key's folder", "/home/me/.triton/cache/" + kRocmKey,
       Tree{{"add_kernel.json", rocmSample().at(kRocmKey + "/add_kernel.json")}, {"add_kernel.ttir", ""}},
       "name '/home/me/.triton/cache'"},
      {"~/.cache", "/home/me/.cache", both, "name '/home/me/.cache/vllm'"},
      {"~/.cache of Triton's form", "/home/me/.cache", under("vllm/", kernels),
       "name '/home/me/.cache/vllm'"},
      {"whole models", "/c", {{"vllm/torch_aot_compile/h/rank_0_0/model", ""}}, "name '/c/vllm'"},
      {"one hash", "/home/me/.cache/vllm/torch_compile_cache/abc1234567",
       under("rank_0_0/triton_cache/", rocmSample()), "name '/home/me/.cache/vllm'"},
      {"a cache_dir of one's own",
       "/data/compiled/run1",
       {{"rank_0_0/backbone/artifact_shape_None_subgraph_0", ""}},
       "name '/data/compiled'"},
      {"one rank",
       "/v/torch_compile_cache/abc1234567/rank_0_0",
       {{"backbone/vllm_compile_cache.py", "{}"}, {"triton_cache/K/a.ttir", ""}},
       "name '/v'"},
      {"all whole models", "/v/torch_aot_compile", {{"h/rank_0_0/model", ""}}, "name '/v'"},
      {"those of later versions",
       "/v/torch_compile_cache/torch_aot_compile",
       {{"h/rank_0_0/model", ""}},
       "name '/v'"},
      {"one prefix", "/v/h/rank_0_0/backbone", {{"vllm_compile_cache.py", "{}"}}, "name '/v'"},
      {"nobody knows where it lies", "", under("cache/", rocmSample()), "name 'cache'"},
      {"nor that", "", {{"rank_0_0/backbone/artifact_shape_None_subgraph_0", ""}}, "name '..'"},
  };
  for (const Row& row : table) {
    const auto cache = detectAt(row.folder, row.tree);
    ASSERT_FALSE(cache) << row.what;
    EXPECT_EQ(cache.error().code, Code::Invalid) << row.what;
    EXPECT_NE(cache.error().message.find(row.named), std::string::npos)
        << row.what << ": " << cache.error().message;
  }
}

TEST(WrongLevel, KernelsBesideThoseAtTheRightOneAreNoted) {
  Tree tree = rocmSample();
  tree.merge(under("old/copy/", rocmSample()));
  const auto cache = detectAt("/home/me/.triton/cache", tree);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->notes,
            std::vector<std::string>{"the kernels in old/copy lie too deep: Triton looks in <root>/<key>"});
}

TEST(WrongLevel, InductorsOwnFolderIsNone) {
  Tree tree = under("triton/0/", rocmSample());
  tree["o7/co7x.py"] = "x";
  const auto cache = detectAt("/tmp/torchinductor_root", tree);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->entry_count, 1);
  ASSERT_EQ(cache->notes.size(), 1U);
  EXPECT_NE(cache->notes[0].find("TORCHINDUCTOR_CACHE_DIR"), std::string::npos) << cache->notes[0];
}

}  // namespace
}  // namespace gs::kcache
